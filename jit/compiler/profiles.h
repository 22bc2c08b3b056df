// What the kernels and the calls of executables took, with --profile_kernels.
//
//   profiles.Add("model/shape0", executable, WorkOfKernels(graph), compile_seconds);
//   for (const KernelTime& time : profiles.Kernels()) ...        // the longest first
//
// Of executables that live.  Thread-safe.
#ifndef TEKTITE_JIT_COMPILER_PROFILES_H_
#define TEKTITE_JIT_COMPILER_PROFILES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/compiler/kernel_work.h"
#include "jit/runtime/executable.h"

namespace tektite::compiler {

struct KernelTime {
  std::string cluster, kernel;
  int64_t runs;
  double microseconds;        // all runs together
  double least_microseconds;  // of one run
  int64_t latest_ns;          // when the latest run began, by a clock of this process's
  KernelWork work;            // of one run
};

// Where the calls of an executable spend their time.
struct CallProfile {
  std::string cluster;
  std::shared_ptr<const runtime::Executable> executable;  // which has call_times()
  double compile_seconds;
};

class Profiles {
 public:
  // `work`: of each step that has a kernel.
  void Add(std::string name, const std::shared_ptr<runtime::Executable>& executable,
           std::vector<KernelWork> work, double compile_seconds);
  std::vector<KernelTime> Kernels() const;
  std::vector<CallProfile> Calls() const;

 private:
  struct Profiled {
    std::string name;
    std::weak_ptr<runtime::Executable> executable;
    std::vector<KernelWork> work;
    double compile_seconds;
  };
  mutable std::mutex mutex_;  // guards profiled_
  std::vector<Profiled> profiled_;
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_PROFILES_H_
