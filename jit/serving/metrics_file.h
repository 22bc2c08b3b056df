// The counters as a text file that Prometheus' collectors read, written anew while the process
// runs.
//
//   MetricsFile file("/var/lib/metrics/tektite_%p.prom", [state] { return state->Snapshot(); });
//
// A thread of low priority writes the file at once, every kPeriod and at the end (of the object or
// of the process, whichever comes first), under another name that then replaces the old file
// (ReplaceFile), so that no reader sees half of it and no link is followed.  %p in the path becomes
// the process's number, for processes that share a setting.
//
// Limits: a child process that was forked writes nothing, and a process that ends without its exit
// handlers keeps the values of the last period.  A file that cannot be written is named once on
// stderr and not tried again.
#ifndef TEKTITE_JIT_SERVING_METRICS_FILE_H_
#define TEKTITE_JIT_SERVING_METRICS_FILE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "jit/base/counter_file.h"

namespace tektite::serving {

// The text format 0.0.4; gauges are amounts that are held, all other counters only grow.
std::string PrometheusText(const CounterSnapshot& snapshot);

class MetricsFile {
 public:
  static constexpr std::chrono::milliseconds kPeriod{5000};

  MetricsFile(std::string path, std::function<CounterSnapshot()> counters,
              std::chrono::milliseconds period = kPeriod);
  // Writes the last values.
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

 private:
  // Writes the last values and ends the thread; not again when called again.
  void Stop();
  static void StopAll();
  void Loop();
  bool Write();

  const std::string path_;
  const std::function<CounterSnapshot()> counters_;
  const std::chrono::milliseconds period_;
  const int pid_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_METRICS_FILE_H_
