// The kernels of one graph, run one after the other on this thread, for sizes of one's own choice.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto program, FusedProgram::Create(*graph, {{"n", 512}}, compiler));
//   program->Run();
//
// Why beside the runtime: code for every size is measured against code for one size, and nothing
// but code.  Kernels that depend on weights alone run once, in Create.  Inputs are random.
#ifndef TEKTITE_BENCH_KERNELS_FUSED_PROGRAM_H_
#define TEKTITE_BENCH_KERNELS_FUSED_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/compiler/compiler.h"
#include "jit/ir/graph.h"

namespace tektite::bench {

// Normal numbers, of f32 or bf16.
void FillWithNoise(ir::DType dtype, int64_t count, std::mt19937* random, void* data);

class FusedProgram {
 public:
  static absl::StatusOr<std::unique_ptr<FusedProgram>> Create(const ir::Graph& graph,
                                                              const ir::SymbolMap& sizes,
                                                              compiler::Compiler& compiler);
  void Run() const;
  // The time for asking every kernel for its launch configuration.
  double PlanNs() const;

 private:
  struct Launch {
    std::shared_ptr<const backend::Kernel> kernel;
    std::vector<void*> buffers;
    std::vector<int64_t> sizes;
    void Run(void* scratch) const;
  };
  using Block = std::unique_ptr<void, void (*)(void*)>;

  absl::Status Build(const ir::SymbolMap& sizes, backend::Backend& backend);
  void* Allocate(int64_t bytes);

  std::unique_ptr<ir::Graph> graph_;
  std::vector<Block> memory_;
  std::vector<Launch> launches_;
  void* scratch_ = nullptr;
};

}  // namespace tektite::bench

#endif  // TEKTITE_BENCH_KERNELS_FUSED_PROGRAM_H_
