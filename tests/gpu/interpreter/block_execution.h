// One block of threads, run by the device interpreter.
//
// All threads stand at the same instruction.  A mask says in which of them it runs: a branch
// narrows the mask, a loop runs until the mask of those with trips left is empty.  So a barrier or
// an exchange sees at once which threads are missing.
//
// Roles (jit/llvm/warpgroup.h) take turns: one runs until it waits for a signal that has not come.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_BLOCK_EXECUTION_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_BLOCK_EXECUTION_H_

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "jit/llvm/instr.h"
#include "jit/llvm/warp_matrix.h"
#include "tests/gpu/interpreter/asynchronous.h"
#include "tests/gpu/interpreter/checked_memory.h"
#include "tests/gpu/interpreter/lane_functions.h"
#include "tests/gpu/interpreter/thread_values.h"
#include "tests/gpu/interpreter/turns.h"

namespace tektite::gpu {

// A tensor map of known sizes, in elements.
struct TensorShape {
  int buffer = 0;
  std::array<int64_t, 3> sizes = {};
  std::array<int64_t, 2> strides = {};
  std::array<int, 3> box = {};
};

class BlockExecution {
 public:
  // Borrows everything but the tensors.  The buffers are `memory`'s regions from 0 on, `scratch` is
  // another; shared memory is added here.
  BlockExecution(const loop::Kernel& kernel, const std::vector<HostFunction>& functions,
                 absl::Span<const int64_t> sizes, std::vector<TensorShape> tensors, int64_t blocks,
                 int scratch, CheckedMemory* memory);

  absl::Status Run(int64_t block);

 private:
  // Whether each thread runs, and how many do.
  struct Mask {
    std::vector<uint8_t> on;
    int count = 0;
  };
  Mask Among(const Mask& mask, ThreadValues& condition, bool wanted) const;

  ThreadValues& Of(loop::Value v) { return values_[v.instr()->number][v.result()]; }
  ThreadValues& Operand(const loop::Instr& instr, int i) { return Of(instr.operands[i]); }
  ThreadValues& Result(const loop::Instr& instr) { return values_[instr.number][0]; }
  void MakeValues(const loop::Block& block);
  void MakeResults(const loop::Instr& instr);
  void SetLeaf(const loop::Instr& leaf);
  int64_t NumberOf(const loop::Instr& leaf, int thread) const;

  absl::Status RunBlock(const loop::Block& block, const Mask& mask);
  absl::Status RunInstr(const loop::Instr& instr, const Mask& mask);
  absl::Status RunFor(const loop::Instr& loop, const Mask& mask);
  absl::Status RunIf(const loop::Instr& instr, const Mask& mask);
  void RunLanes(const loop::Instr& instr);
  void CopyWhere(const Mask& mask, ThreadValues& to, ThreadValues& from) const;
  absl::Status CheckNarrow(const loop::Instr& instr, const Mask& mask);
  absl::Status RunBarrier(const loop::Instr& instr, const Mask& mask);
  absl::Status RunExchange(const loop::Instr& instr, const Mask& mask);
  // ---- block_matrix.cc ----
  absl::Status RunMatrix(const loop::Instr& instr, const Mask& mask);
  absl::Status RunWarpMultiply(const loop::Instr& instr, int warp);
  template <typename Number>
  void MultiplyMatrices(const loop::Instr& instr, int warp);
  absl::Status RunLoadMatrices(const loop::Instr& instr, int warp);
  absl::Status RunCopyAsync(const loop::Instr& instr, int thread);
  absl::Status EndCopies(const loop::Instr& instr, int thread);
  // ---- block_warpgroup.cc ----
  absl::Status RunRoles(const loop::Instr& instr, const Mask& mask);
  absl::Status RunBackground(const loop::Instr& instr, const Mask& mask);
  absl::Status RunWarpBarrier(const loop::Instr& instr, const Mask& mask);
  absl::Status RunWaitForSignal(const loop::Instr& instr, const Mask& mask);
  absl::Status RunCopyTensor(const loop::Instr& instr, int thread);
  absl::Status RunBeginProduct(const loop::Instr& instr, const Mask& mask);
  absl::Status RunWaitForProducts(const loop::Instr& instr, const Mask& mask);
  absl::Status ReadOperand(const loop::Instr& instr, int group, int operand, int64_t across,
                           bool transposed, std::vector<float>* elements);
  void TakeParts(const loop::Instr& instr, int group, std::vector<float>* elements);
  absl::Status ReadFactors(const loop::Instr& instr, int group, int64_t columns,
                           std::vector<float>* a, std::vector<float>* b);
  absl::Status EndTensorCopies(int64_t signal);
  absl::Status CheckRole(const loop::Instr& instr, const Mask& mask) const;
  absl::Status CheckSums(const loop::Instr& instr, const Mask& mask);
  int64_t SignalOf(const loop::Instr& instr, int pointer, int thread);
  // An error where part of a warp reaches an instruction that all of it must.
  absl::Status CheckWarp(const loop::Instr& instr, const Mask& mask, int warp, int there) const;

  absl::Status RunAccess(const loop::Instr& instr, const Mask& mask);
  bool IsOnePlace(const loop::Instr& instr);
  absl::Status AccessOfThread(const loop::Instr& instr, int thread, int64_t alignment);
  absl::Status Fault(const loop::Instr& instr, int thread, const absl::Status& what) const;

  const loop::Kernel& kernel_;
  const std::vector<HostFunction>& functions_;
  const absl::Span<const int64_t> sizes_;
  const int64_t blocks_;
  CheckedMemory& memory_;
  const int threads_;
  int scratch_ = 0, shared_ = 0;  // their regions
  int64_t block_ = 0;
  // Of a thread: its copies that are under way, in order, and how many groups of them have ended.
  struct Copy {
    Place to;
    std::array<std::byte, loop::kMatrixRowBytes> bytes;
    int64_t group;
  };
  struct Copies {
    std::vector<Copy> under_way;
    int64_t groups = 0;
  };
  std::vector<Copies> copies_;
  const std::vector<TensorShape> tensors_;
  Asynchronous background_;
  std::set<std::pair<int, int64_t>> acquired_;  // threads, and tensors
  Turns* turns_ = nullptr;                      // inside of roles
  int first_threads_ = 0;                       // of the first role
  // By the instruction's number.
  std::vector<absl::InlinedVector<ThreadValues, 1>> values_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_BLOCK_EXECUTION_H_
