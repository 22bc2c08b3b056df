// Assembles kernels that come by, and says what is wrong with its code.
//
//   AssemblyCheck check(Assembler::OfThisMachine());
//   options.own_backend = [&] { return CreateInterpretedGpu(compile, check.function()); };
//   ...
//   check.Summary();       // kernels, time, registers
//
// Equal kernels are assembled once, for sm_90a: all that have an instruction, a type of one, or a
// tile of matrix instructions that no kernel of this process had before, and a sample of the
// others, by kind and launch; with scripts/test --long all of them.  One of kSample of a kind is
// assembled for all generations that have its instructions.  Without an assembler there is PTX
// alone.
// Thread-safe.
#ifndef TEKTITE_TESTS_GPU_ASSEMBLY_CHECK_H_
#define TEKTITE_TESTS_GPU_ASSEMBLY_CHECK_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/gpu/codegen/assembler.h"
#include "tests/gpu/interpreter/interpreted_gpu.h"

namespace tektite::testing {

class AssemblyCheck {
 public:
  static constexpr int kSample = 16;

  explicit AssemblyCheck(const gpu::Assembler* assembler) : assembler_(assembler) {}

  gpu::KernelCheck function() {
    return [this](const ir::Node& fusion, const loop::Kernel& kernel) {
      return Check(fusion, kernel);
    };
  }
  // A line on all kernels, then one for each kind.  Empty: no kernel came by.  Times are of this
  // thread's processor: other processes do not count.
  std::string Summary() const;

 private:
  absl::Status Check(const ir::Node& fusion, const loop::Kernel& kernel);
  absl::Status CheckFor(const std::string& architecture, const std::string& kind,
                        const loop::Kernel& kernel);

  // Whether the kernel has something that none before it had; the mutex is held.
  bool AddNews(const loop::Kernel& kernel);

  const gpu::Assembler* const assembler_;
  mutable std::mutex mutex_;
  std::set<std::string> known_;  // texts without names
  std::set<std::vector<int64_t>> traits_;
  std::map<std::string, int> kernels_;  // by kind
  std::map<std::string, int> seen_;     // by kind and launch
  struct Milliseconds {
    std::vector<double> llvm, assembler, both;
  };
  static std::string Describe(const Milliseconds& times);
  Milliseconds all_;
  std::map<std::string, Milliseconds> times_;  // by kind
  std::map<std::string, int> registers_;       // the most, by kind
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_ASSEMBLY_CHECK_H_
