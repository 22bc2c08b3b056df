#include "backends/cpu/aot/denormal_code.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {
namespace {

// MXCSR: denormals that are read are 0, and so are those that come out (Intel SDM, volume
// 1, 10.2.3).
constexpr uint32_t kDenormalsAreZeros = 1 << 6, kFlushToZero = 1 << 15;
// FPCR.FZ: both (Arm ARM, C5.2.8).
constexpr uint64_t kFlush = 1 << 24;

bool IsX86(const llvm::IRBuilder<>& b) {
  return b.GetInsertBlock()->getModule()->getTargetTriple().isX86_64();
}

void SetMode(llvm::Value* mode, llvm::IRBuilder<>* b) {
  if (!IsX86(*b)) {
    b->CreateIntrinsic(b->getVoidTy(), llvm::Intrinsic::aarch64_set_fpcr, {mode});
    return;
  }
  llvm::Value* const memory = b->CreateAlloca(b->getInt32Ty());
  b->CreateStore(mode, memory);
  b->CreateIntrinsic(b->getVoidTy(), llvm::Intrinsic::x86_sse_ldmxcsr, {memory});
}

}  // namespace

llvm::Value* EmitFlushDenormals(llvm::IRBuilder<>* b) {
  llvm::Value *before, *flush;
  if (IsX86(*b)) {
    llvm::Value* const memory = b->CreateAlloca(b->getInt32Ty());
    b->CreateIntrinsic(b->getVoidTy(), llvm::Intrinsic::x86_sse_stmxcsr, {memory});
    before = b->CreateLoad(b->getInt32Ty(), memory);
    flush = b->CreateOr(before, b->getInt32(kDenormalsAreZeros | kFlushToZero));
  } else {
    before = b->CreateIntrinsic(b->getInt64Ty(), llvm::Intrinsic::aarch64_get_fpcr, {});
    flush = b->CreateOr(before, b->getInt64(kFlush));
  }
  SetMode(flush, b);
  return before;
}

void EmitRestoreDenormals(llvm::Value* before, llvm::IRBuilder<>* b) { SetMode(before, b); }

}  // namespace tektite::cpu
