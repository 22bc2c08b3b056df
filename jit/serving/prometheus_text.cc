#include "jit/serving/prometheus_text.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tektite::serving {
namespace {

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
      {"compile_microseconds", "time spent on compiling"},
      {"load_microseconds", "time spent on finding and loading programs"},
      {"compiles", "programs that were compiled"},
      {"kernels", "kernels that were compiled"},
      {"loaded_kernels", "kernels that were loaded from the disk cache"},
      {"loaded_modules", "programs that were loaded from the disk cache"},
      {"ops", "ops that were examined"},
      {"runs", "calls of clusters"},
      {"weight_bytes", "memory held for results computed from weights alone"},
  };
  for (const auto& [name, help] : kHelp) {
    if (name == counter) return std::string(help);
  }
  return std::string(counter);
}

}  // namespace

std::string PrometheusText(const CounterSnapshot& snapshot) {
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

}  // namespace tektite::serving
