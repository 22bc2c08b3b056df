#include "jit/serving/metrics_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "jit/base/at_exit.h"
#include "jit/base/log.h"
#include "jit/base/replace_file.h"

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
      {"loaded_plans", "programs that were loaded from the disk cache"},
      {"ops", "ops that were examined"},
      {"runs", "calls of clusters"},
      {"weight_bytes", "memory held for results computed from weights alone"},
  };
  for (const auto& [name, help] : kHelp) {
    if (name == counter) return std::string(help);
  }
  return std::string(counter);
}

// The files whose threads run.  Hosts do not destroy their compilers before a process ends, so the
// last values are written by an exit handler, while everything that the threads read is alive.
struct LivingFiles {
  std::mutex mutex;
  std::set<MetricsFile*> files;

  static LivingFiles& Get() {
    static auto* const living = new LivingFiles;
    return *living;
  }
};

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

MetricsFile::MetricsFile(std::string path, std::function<CounterSnapshot()> counters,
                         std::chrono::milliseconds period)
    : path_(absl::StrReplaceAll(path, {{"%p", absl::StrCat(getpid())}})),
      counters_(std::move(counters)),
      period_(period),
      pid_(getpid()),
      thread_([this] { Loop(); }) {
  static std::once_flag at_exit;
  std::call_once(at_exit, [] { RunAtExit(&MetricsFile::StopAll); });
  LivingFiles& living = LivingFiles::Get();
  std::lock_guard<std::mutex> lock(living.mutex);
  living.files.insert(this);
}

MetricsFile::~MetricsFile() {
  {
    LivingFiles& living = LivingFiles::Get();
    std::lock_guard<std::mutex> lock(living.mutex);
    living.files.erase(this);
  }
  Stop();
}

void MetricsFile::StopAll() {
  LivingFiles& living = LivingFiles::Get();
  std::lock_guard<std::mutex> lock(living.mutex);
  for (MetricsFile* file : living.files) file->Stop();
}

void MetricsFile::Stop() {
  if (!thread_.joinable()) return;
  if (getpid() != pid_) {  // a forked child has no such thread
    thread_.detach();
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void MetricsFile::Loop() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
  for (bool more = true; more;) {
    if (!Write()) return;
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait_for(lock, period_, [this] { return stop_; });
    more = !stop_;
  }
  Write();
}

bool MetricsFile::Write() {
  const absl::Status written = ReplaceFile(path_, PrometheusText(counters_()));
  if (!written.ok()) Warn("flag '--metrics_file': ", written.message());
  return written.ok();
}

}  // namespace tektite::serving
