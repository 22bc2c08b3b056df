// The counters of other processes: tektite_stats_read.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/base/counter_file.h"
#include "jit/base/flags.h"
#include "jit/base/json.h"
#include "jit/base/status.h"
#include "jit/cache/counter_files.h"
#include "jit/cache/inspect_text.h"
#include "jit/serving/prometheus_text.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

using tektite::CounterSnapshot;

std::string Table(const CounterSnapshot& snapshot) {
  size_t width = 0;
  for (const auto& counter : snapshot.counters) width = std::max(width, counter.first.size());
  std::string text = absl::StrCat("process ", snapshot.pid, ", begun ",
                                  tektite::cache::TimeText(snapshot.start_us), "\n");
  for (const auto& [name, value] : snapshot.counters) {
    absl::StrAppend(&text, name, std::string(width - name.size() + 2, ' '), value, "\n");
  }
  return text;
}

std::string Json(const CounterSnapshot& snapshot) {
  tektite::JsonObject json;
  json.Add("pid", snapshot.pid).Add("start_us", snapshot.start_us);
  for (const auto& [name, value] : snapshot.counters) json.Add(name, static_cast<int64_t>(value));
  return json.Text();
}

absl::StatusOr<std::string> Read(const char* flags_text, const char* which, int32_t format) {
  const tektite::Flags flags = tektite::c_api::ParseFlags(flags_text);
  TEKTITE_ASSIGN_OR_RETURN(const std::string path,
                           tektite::cache::FindCounterFile(flags, tektite::c_api::TextOf(which)));
  TEKTITE_ASSIGN_OR_RETURN(const CounterSnapshot snapshot, tektite::ReadCounterFile(path));
  switch (format) {
    case TEKTITE_JSON:
      return Json(snapshot);
    case TEKTITE_PROMETHEUS:
      return tektite::serving::PrometheusText(snapshot);
    default:
      return Table(snapshot);
  }
}

}  // namespace

extern "C" char* tektite_stats_read(const char* flags, const char* which, int32_t format,
                                    tektite_status* status) {
  return tektite::c_api::GuardedText(status, [&] { return Read(flags, which, format); });
}
