// What the parts of the lowering share: the builder, the target, and types.  Includes LLVM.
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
};

// f16 and bf16 are their bits (i16) between load and convert: they have no arithmetic.  bool is i1.
llvm::Type* LlvmType(llvm::LLVMContext& context, Type type);
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
