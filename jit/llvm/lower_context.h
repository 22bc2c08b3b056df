// The state that the parts of the lowering share: the builder, the target, and types.
//
//   llvm::Value* sum = LowerBinary(c, ir::Op::kAdd, DType::kF32, a, b);
//
// Limits: includes LLVM, so only lower*.cc include it; lower.h is the lowering's interface.
#ifndef TEKTITE_JIT_LLVM_LOWER_CONTEXT_H_
#define TEKTITE_JIT_LLVM_LOWER_CONTEXT_H_

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include "jit/llvm/instr.h"
#include "jit/llvm/lower.h"

namespace tektite::loop {

struct LowerContext {
  llvm::Module* module;
  llvm::IRBuilder<> builder;
  LowerOptions options;
  bool avx512;  // x86-64 with AVX-512 F, BW, DQ, VL
  bool device;  // an NVIDIA GPU
  const Kernel* kernel;
  // From the configuration of matrix tiles to their release: f32 becomes bf16 by the CPU's
  // instruction, which makes denormals 0, as products in tiles do.
  bool in_tiles = false;
};

// Address spaces of LLVM's.
constexpr unsigned kHostSpace = 0, kGlobalSpace = 1, kSharedSpace = 3;

// A function's beginning and the values from its caller: the part of the lowering that is a
// target's own.
class Frame {
 public:
  virtual ~Frame() = default;
  // Adds the kernel's function to the module; the builder stands where the kernel's body begins.
  virtual llvm::Function* Begin() = 0;
  // A leaf that is neither a constant nor iota.
  virtual llvm::Value* Leaf(const Instr& leaf) = 0;
};
std::unique_ptr<Frame> MakeHostFrame(LowerContext& c);
std::unique_ptr<Frame> MakeDeviceFrame(LowerContext& c);

// f16 and bf16 are their bits (i16) between load and convert: they have no arithmetic.  bool is i1.
llvm::Type* LlvmType(LowerContext& c, Type type);
llvm::Type* ElementType(llvm::LLVMContext& context, DType dtype);
// How elements lie in memory: as ElementType but bool, which is a byte.
llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype);

// ---- lower_arithmetic.cc; null: no lowering ----
llvm::Value* LowerUnary(LowerContext& c, ir::Op op, DType dtype, llvm::Value* x);
llvm::Value* LowerBinary(LowerContext& c, ir::Op op, DType dtype, llvm::Value* a, llvm::Value* b);
llvm::Value* LowerCompare(LowerContext& c, Direction direction, DType dtype, llvm::Value* a,
                          llvm::Value* b);
llvm::Value* LowerReduceLanes(LowerContext& c, ir::Op op, DType dtype, llvm::Value* v);

// ---- lower_convert.cc ----
llvm::Value* LowerConvert(LowerContext& c, llvm::Value* x, DType from, DType to);
llvm::Value* LowerBitcast(LowerContext& c, llvm::Value* x, DType from, DType to);

// ---- lower_memory.cc ----
llvm::Value* LowerMemory(LowerContext& c, const Instr& instr,
                         const std::function<llvm::Value*(int)>& operand);

// ---- lower_device.cc ----
// Of s64 from 0 to below 2^31; a size that is not constant comes with its reciprocal.
llvm::Value* LowerNarrowDivision(LowerContext& c, ir::Op op, llvm::Value* a, llvm::Value* b,
                                 llvm::Value* reciprocal);
// Between threads.
llvm::Value* LowerBarrier(LowerContext& c);
// `thread`: of kWarpRead.
llvm::Value* LowerExchange(LowerContext& c, const Instr& instr, llvm::Value* x,
                           llvm::Value* thread);

// ---- lower_matrix.cc: of a warp; a value for each result ----
using OperandOf = std::function<llvm::Value*(int)>;
std::vector<llvm::Value*> LowerMatrix(LowerContext& c, const Instr& instr,
                                      const OperandOf& operand);
llvm::Value* LowerDotBytesOfDevice(LowerContext& c, const Instr& instr, const OperandOf& operand);

// ---- lower_warpgroup.cc: of sm_90a; a value for each result ----
std::vector<llvm::Value*> LowerWarpgroup(LowerContext& c, const Instr& instr,
                                         const OperandOf& operand);
// What a thread of a role has from here on.
void LowerRegisters(LowerContext& c, int registers, bool more);

// ---- lower_tile.cc: of a CPU ----
llvm::Value* LowerDotPairs(LowerContext& c, llvm::Value* a, llvm::Value* b, llvm::Value* sums);
llvm::Value* LowerDotBytes(LowerContext& c, llvm::Value* a, llvm::Value* b, llvm::Value* sums);
llvm::Value* LowerDotShorts(LowerContext& c, llvm::Value* a, llvm::Value* b, llvm::Value* sums);
void LowerTile(LowerContext& c, const Instr& instr, const OperandOf& operand);

inline int LanesOf(llvm::Value* v) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return type == nullptr ? 1 : static_cast<int>(type->getNumElements());
}
// `scalar` with as many lanes as `like`.
inline llvm::Type* WithLanesOf(llvm::Value* like, llvm::Type* scalar) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return type == nullptr ? scalar : llvm::FixedVectorType::get(scalar, type->getNumElements());
}

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_LOWER_CONTEXT_H_
