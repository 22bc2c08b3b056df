// The counters of other processes: tektite_stats_read.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "jit/base/counter_file.h"
#include "jit/base/flags.h"
#include "jit/base/status.h"
#include "jit/cache/counter_files.h"
#include "runtime_hooks/c_api/cache_text.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/json.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

using tektite::CounterSnapshot;

std::string Table(const CounterSnapshot& snapshot) {
  size_t width = 0;
  for (const auto& counter : snapshot.counters) width = std::max(width, counter.first.size());
  std::string text = absl::StrCat("process ", snapshot.pid, ", begun ",
                                  tektite::c_api::TimeText(snapshot.start_us), "\n");
  for (const auto& [name, value] : snapshot.counters) {
    absl::StrAppend(&text, name, std::string(width - name.size() + 2, ' '), value, "\n");
  }
  return text;
}

std::string Json(const CounterSnapshot& snapshot) {
  tektite::c_api::JsonObject json;
  json.Add("pid", snapshot.pid).Add("start_us", snapshot.start_us);
  for (const auto& [name, value] : snapshot.counters) json.Add(name, static_cast<int64_t>(value));
  return json.Text();
}

std::string HelpOf(absl::string_view counter) {
#define TEKTITE_DISK_COUNTER(name, sentence) \
  if (counter == "disk_" #name) return "disk cache: " sentence;
#include "jit/cache/disk_counter_list.inc"
#undef TEKTITE_DISK_COUNTER
  absl::string_view fallback = counter;
  if (absl::ConsumePrefix(&fallback, "fallbacks_")) {
    return absl::StrCat("calls that the host's kernels answered: ", fallback);
  }
  static constexpr std::pair<absl::string_view, absl::string_view> kHelp[] = {
      {"arena_bytes", "memory held for intermediate results"},
      {"clustered_ops", "ops that were put into clusters"},
      {"clusters", "clusters that were called"},
      {"compile_microseconds", "time spent on compiling and on loading programs"},
      {"compiles", "programs that were compiled"},
      {"kernels", "kernels that were compiled"},
      {"loaded_kernels", "kernels that were loaded from the disk cache"},
      {"loaded_plans", "programs that were loaded from the disk cache"},
      {"ops", "ops that were looked at"},
      {"runs", "calls of clusters"},
      {"weight_bytes", "memory held for what is computed from weights alone"},
  };
  for (const auto& [name, help] : kHelp) {
    if (name == counter) return std::string(help);
  }
  return std::string(counter);
}

// The text format of Prometheus 0.0.4; bytes may shrink, everything else only grows.
std::string Prometheus(const CounterSnapshot& snapshot) {
  std::string text;
  for (const auto& [name, value] : snapshot.counters) {
    const bool gauge = name == "weight_bytes" || name == "arena_bytes";
    const std::string metric =
        absl::AsciiStrToLower(absl::StrCat("tektite_", name, gauge ? "" : "_total"));
    absl::StrAppend(&text, "# HELP ", metric, " ", HelpOf(name), "\n# TYPE ", metric,
                    gauge ? " gauge\n" : " counter\n", metric, "{pid=\"", snapshot.pid, "\"} ",
                    value, "\n");
  }
  return text;
}

absl::StatusOr<std::string> Read(const char* flags_text, const char* which, int32_t format) {
  std::vector<std::string> errors;
  const tektite::Flags flags =
      tektite::Flags::Parse(flags_text == nullptr ? "" : flags_text, &errors);
  TEKTITE_ASSIGN_OR_RETURN(const std::string path,
                           tektite::cache::FindCounterFile(flags, which == nullptr ? "" : which));
  TEKTITE_ASSIGN_OR_RETURN(const CounterSnapshot snapshot, tektite::ReadCounterFile(path));
  switch (format) {
    case TEKTITE_JSON:
      return Json(snapshot);
    case TEKTITE_PROMETHEUS:
      return Prometheus(snapshot);
    default:
      return Table(snapshot);
  }
}

}  // namespace

extern "C" char* tektite_stats_read(const char* flags, const char* which, int32_t format,
                                    tektite_status* status) {
  return tektite::c_api::GuardedText(status, [&] { return Read(flags, which, format); });
}
