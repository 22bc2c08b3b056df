// Conversions between dtypes and bit casts.  Floats that integers have no room for become what
// x86's instructions make of them, since TensorFlow's kernels are those: the least number of 32 or
// 64 bits.
#include <cmath>
#include <numeric>
#include <vector>

#include "jit/llvm/lower_context.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tektite::loop {

namespace {

llvm::Value* F32FromHalf(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Value* half = b.CreateBitCast(x, WithLanesOf(x, b.getHalfTy()));
  return b.CreateFPExt(half, WithLanesOf(x, b.getFloatTy()));
}

// Two lanes are a register of a GPU.
bool IsPair(const LowerContext& c, llvm::Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return c.device && vector != nullptr && vector->getNumElements() == 2;
}

// A GPU rounds two numbers with one instruction.
llvm::Value* HalfFromF32(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Value* half = IsPair(c, x) ? b.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2f16x2_rn, {},
                                                       {b.CreateExtractElement(x, uint64_t{1}),
                                                        b.CreateExtractElement(x, uint64_t{0})})
                                   : b.CreateFPTrunc(x, WithLanesOf(x, b.getHalfTy()));
  return b.CreateBitCast(half, WithLanesOf(x, b.getInt16Ty()));
}

llvm::Value* F32FromBFloat(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  if (IsPair(c, x)) {  // a shift and a mask, where lanes that are taken apart first take twice that
    llvm::Value* both = b.CreateBitCast(x, b.getInt32Ty());
    llvm::Value* pair = llvm::PoisonValue::get(WithLanesOf(x, b.getInt32Ty()));
    pair = b.CreateInsertElement(pair, b.CreateShl(both, 16), uint64_t{0});
    pair = b.CreateInsertElement(pair, b.CreateAnd(both, 0xffff0000), uint64_t{1});
    return b.CreateBitCast(pair, WithLanesOf(x, b.getFloatTy()));
  }
  llvm::Value* bits = b.CreateShl(b.CreateZExt(x, WithLanesOf(x, b.getInt32Ty())), 16);
  return b.CreateBitCast(bits, WithLanesOf(x, b.getFloatTy()));
}

// On the host by integers, not vcvtneps2bf16, which flushes denormals, but beside matrix tiles,
// which do so, too.  A GPU's instruction rounds as they do, two numbers at a time: attention of 128
// columns has 1,200 instructions less with it.
llvm::Value* BFloatFromF32(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  if (c.device) {
    llvm::Value* rounded = b.CreateFPTrunc(x, WithLanesOf(x, b.getBFloatTy()));
    return b.CreateBitCast(rounded, WithLanesOf(x, b.getInt16Ty()));
  }
  if (c.in_tiles && LanesOf(x) == 16) {
    llvm::Type* bfloats = WithLanesOf(x, b.getBFloatTy());
    llvm::Value* rounded =
        b.CreateIntrinsic(bfloats, llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {x});
    return b.CreateBitCast(rounded, WithLanesOf(x, b.getInt16Ty()));
  }
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

// The same as SignedFromFloat of 16 lanes of f32, by one instruction, which also rounds down or to
// even where `x` is that of a float.
llvm::Value* IntFromVector(LowerContext& c, llvm::Value* x) {
  constexpr int kToEven = 8, kDown = 9, kAsSet = 4;  // kAsSet: an instruction that truncates
  llvm::IRBuilder<>& b = c.builder;
  int rounding = kAsSet;
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(x)) {
    const llvm::Intrinsic::ID id = call->getIntrinsicID();
    if (id == llvm::Intrinsic::floor) rounding = kDown;
    if (id == llvm::Intrinsic::roundeven) rounding = kToEven;
    if (rounding != kAsSet) x = call->getArgOperand(0);
  }
  return b.CreateIntrinsic(rounding == kAsSet ? llvm::Intrinsic::x86_avx512_mask_cvttps2dq_512
                                              : llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512,
                           {},
                           {x, llvm::Constant::getNullValue(WithLanesOf(x, b.getInt32Ty())),
                            b.getInt16(0xffff), b.getInt32(rounding)});
}

// The same of AVX2: eight lanes an instruction, which rounds to even where `x` is that of a float.
llvm::Value* IntFromEights(LowerContext& c, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Intrinsic::ID id = llvm::Intrinsic::x86_avx_cvtt_ps2dq_256;
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(x);
      call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::roundeven) {
    id = llvm::Intrinsic::x86_avx_cvt_ps2dq_256;
    x = call->getArgOperand(0);
  }
  constexpr int kEight = 8;
  const int lanes = LanesOf(x);
  if (lanes == kEight) return b.CreateIntrinsic(id, {}, {x});
  std::vector<int> indices(kEight);
  std::vector<llvm::Value*> parts;
  for (int first = 0; first < lanes; first += kEight) {
    std::iota(indices.begin(), indices.end(), first);
    parts.push_back(b.CreateIntrinsic(id, {}, {b.CreateShuffleVector(x, indices)}));
  }
  return llvm::concatenateVectors(b, parts);
}

// Towards zero; the least integer where there is no room for the number, and for NaN.
llvm::Value* SignedFromFloat(LowerContext& c, llvm::Value* x, llvm::Type* to) {
  llvm::IRBuilder<>& b = c.builder;
  const int bits = static_cast<int>(to->getScalarSizeInBits());
  const bool is_vector = x->getType()->getScalarType()->isFloatTy() && LanesOf(x) == 16;
  if (c.avx512 && is_vector && bits == 32) return IntFromVector(c, x);
  const bool avx2 = !c.avx512 && c.module->getTargetTriple().isX86_64();
  const bool is_eights = x->getType()->getScalarType()->isFloatTy() && LanesOf(x) % 8 == 0;
  if (avx2 && is_eights && bits == 32) return IntFromEights(c, x);
  const double limit = std::ldexp(1.0, bits - 1);
  llvm::Value* fits = b.CreateAnd(b.CreateFCmpOGE(x, llvm::ConstantFP::get(x->getType(), -limit)),
                                  b.CreateFCmpOLT(x, llvm::ConstantFP::get(x->getType(), limit)));
  llvm::Constant* least =
      llvm::ConstantInt::get(to, llvm::APInt::getSignedMinValue(static_cast<unsigned>(bits)));
  return b.CreateSelect(fits, b.CreateFPToSI(x, to), least);
}

// 8 and 16 bits: limited to what the type holds, by way of s32.  u32: the lower half of an s64.
// u64: the bits of an s64, but for the upper half of its range.
llvm::Value* IntFromFloat(LowerContext& c, llvm::Value* x, DType to) {
  llvm::IRBuilder<>& b = c.builder;
  llvm::Type* target = WithLanesOf(x, ElementType(b.getContext(), to));
  const int bits = ir::DTypeBytes(to) * 8;
  const bool is_signed = ir::IsSigned(to);
  if (bits < 32) {
    llvm::Type* s32 = WithLanesOf(x, b.getInt32Ty());
    const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t most = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    llvm::Value* number = SignedFromFloat(c, x, s32);
    number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number,
                                     llvm::ConstantInt::getSigned(s32, least));
    number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number,
                                     llvm::ConstantInt::getSigned(s32, most));
    return b.CreateTrunc(number, target);
  }
  if (is_signed) return SignedFromFloat(c, x, target);
  llvm::Value* low = SignedFromFloat(c, x, WithLanesOf(x, b.getInt64Ty()));
  if (bits == 32) return b.CreateTrunc(low, target);
  llvm::Value* is_high =
      b.CreateAnd(b.CreateFCmpOGE(x, llvm::ConstantFP::get(x->getType(), std::ldexp(1.0, 63))),
                  b.CreateFCmpOLT(x, llvm::ConstantFP::get(x->getType(), std::ldexp(1.0, 64))));
  return b.CreateSelect(is_high, b.CreateFPToUI(x, target), low);
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
