#include "runtime_hooks/tensorflow/hook/run/counters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/card_compilers.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {
namespace {

struct Reasons {
  tensorflow::mutex mu;
  std::map<std::string_view, int64_t> not_placed;  // by code
  std::map<std::string_view, int64_t> fallbacks;
};

Reasons& HookReasons() {
  static Reasons* const reasons = new Reasons;  // outlives every thread that may still count
  return *reasons;
}

std::string ToJson(const std::map<std::string_view, int64_t>& counts) {
  std::string out = "{";
  for (const auto& [code, count] : counts) {
    absl::StrAppend(&out, out.size() == 1 ? "" : ", ", "\"", code, "\": ", count);
  }
  return out + "}";
}

}  // namespace

Counters& HookCounters() {
  static Counters* const counters = new Counters;
  return *counters;
}

void CountNotPlaced(Reason why) {
  Reasons& reasons = HookReasons();
  tensorflow::mutex_lock lock(reasons.mu);
  ++reasons.not_placed[CodeOf(why)];
}

void CountFallback(Reason why) {
  Reasons& reasons = HookReasons();
  tensorflow::mutex_lock lock(reasons.mu);
  ++reasons.fallbacks[CodeOf(why)];
}

std::string HookCountersJson() {
  const Counters& counters = HookCounters();
  Reasons& reasons = HookReasons();
  tensorflow::mutex_lock lock(reasons.mu);
  return absl::StrCat(
      "{\"graphs\": ", counters.graphs.load(),
      ", \"repeated_graphs\": ", counters.repeated_graphs.load(),
      ", \"clusters_placed\": ", counters.clusters_placed.load(),
      ", \"ops_placed\": ", counters.ops_placed.load(),
      ", \"kept_loops\": ", counters.kept_loops.load(),
      ", \"xla_calls\": ", counters.xla_calls.load(),
      ", \"lowered_loops\": ", counters.lowered_loops.load(),
      ", \"rebuilt_loops\": ", counters.rebuilt_loops.load(),
      ", \"unrebuilt_graphs\": ", counters.unrebuilt_graphs.load(),
      ", \"runs\": ", counters.runs.load(), ", \"direct_runs\": ", counters.direct_runs.load(),
      ", \"prepared_fallbacks\": ", counters.prepared_fallbacks.load(),
      ", \"remade_clusters\": ", counters.remade_clusters.load(),
      ", \"runs_in_advance\": ", counters.runs_in_advance.load(),
      ", \"holds\": ", counters.holds.load(), ", \"releases\": ", counters.releases.load(),
      ", \"updates\": ", counters.updates.load(),
      ", \"copied_updates\": ", counters.copied_updates.load(),
      ", \"not_placed\": ", ToJson(reasons.not_placed),
      ", \"fallbacks\": ", ToJson(reasons.fallbacks), "}");
}

}  // namespace tektite::tf_hook

// Waits until nothing is being compiled, or about to be; at once where there is no compiler.
extern "C" __attribute__((visibility("default"))) void tektite_hook_wait_until_compiled() {
  using tektite::tf_hook::CompilerLibrary;
  const CompilerLibrary* const library = CompilerLibrary::IfOpen();
  if (library != nullptr) library->wait_until_compiled();
}

// Ends all work in the background, TensorFlow's kernels for fallbacks among it: Python says so when
// it ends (python/tektite/_hook.py), before destructors of TensorFlow's libraries run.
extern "C" __attribute__((visibility("default"))) void tektite_hook_stop_background() {
  using tektite::tf_hook::CompilerLibrary;
  const CompilerLibrary* const library = CompilerLibrary::IfOpen();
  if (library != nullptr) library->stop_background();
}

// The compiler's counters with the hook's under "host", as JSON; before the compiler is opened the
// former are absent.  Release it with free().
extern "C" __attribute__((visibility("default"))) char* tektite_hook_stats_json() {
  using tektite::tf_hook::CompilerLibrary;
  std::string json = "{}";
  if (const CompilerLibrary* library = CompilerLibrary::IfOpen(); library != nullptr) {
    if (char* text = library->stats_json(library->compiler); text != nullptr) {
      json = text;
      library->string_free(text);
    }
  }
  std::string cards;
  for (const auto& [name, compiler] : tektite::tf_hook::CardCompilers()) {
    const CompilerLibrary* const library = CompilerLibrary::IfOpen();
    char* const text = library->stats_json(compiler);
    if (text == nullptr) continue;
    absl::StrAppend(&cards, cards.empty() ? "" : ", ", "\"", name, "\": ", text);
    library->string_free(text);
  }
  const size_t open = json.find('{');
  const size_t close = json.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return nullptr;
  const bool empty = json.find_first_not_of(" \n\t", open + 1) == close;
  const std::string merged =
      absl::StrCat(json.substr(0, close), empty ? "" : ", ",
                   cards.empty() ? "" : absl::StrCat("\"cards\": {", cards, "}, "),
                   "\"host\": ", tektite::tf_hook::HookCountersJson(), "}");
  return strdup(merged.c_str());
}
