// What the device interpreter computes with: host code that applies one instruction to arrays.
//
//   LaneFunctions functions(compile);
//   TEKTITE_ASSIGN_OR_RETURN(HostFunction add, functions.For(instr));   // `instr` is an add of f32
//   void* arrays[] = {a, b, sum};
//   add(arrays, nullptr, nullptr, 0, CeilDiv(elements, kLanesAtOnce));
//
// The code is a kernel of the host, lowered as every kernel is.  So a device's arithmetic is the
// CPU's by construction: the same polynomials, conversions, and results for special values.  The
// compiler should be one for AVX2, since with AVX-512 some functions use instructions that no
// device has.  Equal instructions share their code.  Thread-safe.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_LANE_FUNCTIONS_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_LANE_FUNCTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "jit/llvm/instr.h"

namespace tektite::gpu {

// As jit/llvm/lower.h has it for the host.
using HostFunction = void (*)(void* const* buffers, const int64_t* sizes, void* scratch,
                              int64_t begin, int64_t end);
struct HostCode {
  HostFunction run = nullptr;
  std::shared_ptr<const void> owner;  // of the memory it stands in
};
// Compiles a kernel of the host.  Called by one thread at a time.
using HostCompiler = std::function<absl::StatusOr<HostCode>(const loop::Kernel&)>;

// Elements that a chunk of an elementwise instruction's code reads and writes.
inline constexpr int kLanesAtOnce = 16;

// Whether an instruction computes each element of its result from the same elements of its
// operands.
bool IsElementwise(const loop::Instr& instr);

class LaneFunctions {
 public:
  explicit LaneFunctions(HostCompiler compile) : compile_(std::move(compile)) {}

  // Of an elementwise instruction, whose chunks are kLanesAtOnce elements, or of a reduce_lanes,
  // whose chunks are vectors.  The arrays are the operands, then the result; a bool is a byte.
  absl::StatusOr<HostFunction> For(const loop::Instr& instr);

 private:
  const HostCompiler compile_;
  std::mutex mutex_;
  absl::flat_hash_map<std::string, HostCode> known_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_LANE_FUNCTIONS_H_
