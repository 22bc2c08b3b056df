// Conversions between dtypes, saturating where the target is an integer, and bit casts.
#include "jit/llvm/lower_context.h"
#include "llvm/IR/Intrinsics.h"

namespace tektite::loop {

namespace {

llvm::Value* F32FromHalf(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Value* half = b.CreateBitCast(x, WithLanesOf(x, b.getHalfTy()));
  return b.CreateFPExt(half, WithLanesOf(x, b.getFloatTy()));
}

llvm::Value* HalfFromF32(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Value* half = b.CreateFPTrunc(x, WithLanesOf(x, b.getHalfTy()));
  return b.CreateBitCast(half, WithLanesOf(x, b.getInt16Ty()));
}

llvm::Value* F32FromBFloat(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Value* bits = b.CreateShl(b.CreateZExt(x, WithLanesOf(x, b.getInt32Ty())), 16);
  return b.CreateBitCast(bits, WithLanesOf(x, b.getFloatTy()));
}

// By integers, not vcvtneps2bf16, which flushes denormals.
llvm::Value* BFloatFromF32(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Type* i32 = WithLanesOf(x, b.getInt32Ty());
  llvm::Value* bits = b.CreateBitCast(x, i32);
  llvm::Value* upper = b.CreateLShr(bits, 16);
  llvm::Value* odd = b.CreateAnd(upper, llvm::ConstantInt::get(i32, 1));
  llvm::Value* bias = b.CreateAdd(odd, llvm::ConstantInt::get(i32, 0x7fff));
  llvm::Value* rounded = b.CreateLShr(b.CreateAdd(bits, bias), 16);
  llvm::Value* quiet = b.CreateOr(upper, llvm::ConstantInt::get(i32, 0x40));
  llvm::Value* result = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  return b.CreateTrunc(result, WithLanesOf(x, b.getInt16Ty()));
}

// Towards zero, limited to [least, most] of the target; NaN gives 0.
llvm::Value* IntFromFloat(LowerContext& c, llvm::Value* x, DType to) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Type* target = WithLanesOf(x, ElementType(b.getContext(), to));
  const int bits = ir::DTypeBytes(to) * 8;
  const bool is_signed = ir::IsSigned(to);
  if (bits < 32) {
    // Limit as floats (exact), convert to s32, cut.
    const double least = is_signed ? -static_cast<double>(1ll << (bits - 1)) : 0;
    const double most = static_cast<double>((1ll << (is_signed ? bits - 1 : bits)) - 1);
    llvm::Constant* low = llvm::ConstantFP::get(x->getType(), least);
    llvm::Constant* high = llvm::ConstantFP::get(x->getType(), most);
    llvm::Value* number =
        b.CreateSelect(b.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(x->getType()), x);
    number = b.CreateSelect(b.CreateFCmpOLT(number, low), low, number);
    number = b.CreateSelect(b.CreateFCmpOGT(number, high), high, number);
    return b.CreateTrunc(b.CreateFPToSI(number, WithLanesOf(x, b.getInt32Ty())), target);
  }
  return b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                           {target, x->getType()}, {x});
}

}  // namespace

llvm::Value* LowerConvert(LowerContext& c, llvm::Value* x, DType from, DType to) {
  llvm::IRBuilder<>& b = c.builder;
  if (from == to) return x;
  if (from == DType::kF16) return LowerConvert(c, F32FromHalf(c, x), DType::kF32, to);
  if (from == DType::kBF16) return LowerConvert(c, F32FromBFloat(c, x), DType::kF32, to);
  if (to == DType::kF16) return HalfFromF32(c, LowerConvert(c, x, from, DType::kF32));
  if (to == DType::kBF16) return BFloatFromF32(c, LowerConvert(c, x, from, DType::kF32));

  llvm::Type* target = WithLanesOf(x, ElementType(b.getContext(), to));
  if (to == DType::kBool) {
    llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
    return ir::IsFloat(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  }
  if (ir::IsFloat(from)) {
    if (!ir::IsFloat(to)) return IntFromFloat(c, x, to);
    return to == DType::kF64 ? b.CreateFPExt(x, target) : b.CreateFPTrunc(x, target);
  }
  if (ir::IsFloat(to)) {
    return ir::IsSigned(from) ? b.CreateSIToFP(x, target) : b.CreateUIToFP(x, target);
  }
  return ir::IsSigned(from) ? b.CreateSExtOrTrunc(x, target) : b.CreateZExtOrTrunc(x, target);
}

llvm::Value* LowerBitcast(LowerContext& c, llvm::Value* x, DType from, DType to) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Type* target = WithLanesOf(x, ElementType(b.getContext(), to));
  if (to == DType::kBool) return b.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  if (from == DType::kBool) return b.CreateZExt(x, target);
  return b.CreateBitCast(x, target);
}

}  // namespace tektite::loop
