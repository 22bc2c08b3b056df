#include "jit/compiler/profiles.h"

#include <algorithm>
#include <utility>

namespace tektite::compiler {

void Profiles::Add(std::string name, const std::shared_ptr<runtime::Executable>& executable,
                   std::vector<KernelWork> work, double compile_seconds) {
  std::lock_guard<std::mutex> lock(mutex_);
  profiled_.push_back({std::move(name), executable, std::move(work), compile_seconds});
}

std::vector<CallProfile> Profiles::Calls() const {
  std::vector<CallProfile> profiles;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Profiled& profiled : profiled_) {
    std::shared_ptr<const runtime::Executable> executable = profiled.executable.lock();
    if (executable == nullptr) continue;
    profiles.push_back({profiled.name, std::move(executable), profiled.compile_seconds});
  }
  return profiles;
}

std::vector<KernelTime> Profiles::Kernels() const {
  std::vector<KernelTime> times;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Profiled& profiled : profiled_) {
    const std::shared_ptr<runtime::Executable> executable = profiled.executable.lock();
    if (executable == nullptr) continue;
    const std::vector<std::string>& names = executable->graph().names;
    size_t kernel = 0;
    for (size_t s = 0; s < names.size(); ++s) {
      if (executable->graph().steps[s].kernel == nullptr) continue;
      const auto& time = executable->step_times()[s];
      times.push_back({profiled.name, names[s], time.runs.load(std::memory_order_relaxed),
                       static_cast<double>(time.nanoseconds.load(std::memory_order_relaxed)) / 1e3,
                       static_cast<double>(time.least.load(std::memory_order_relaxed)) / 1e3,
                       time.latest.load(std::memory_order_relaxed), profiled.work[kernel++]});
    }
  }
  std::stable_sort(times.begin(), times.end(), [](const KernelTime& a, const KernelTime& b) {
    return a.microseconds > b.microseconds;
  });
  return times;
}

}  // namespace tektite::compiler
