// Elementwise arithmetic, one LLVM sequence per op and dtype; jit/llvm/math for the functions.
#include <algorithm>
#include <cmath>

#include "jit/llvm/lower_context.h"
#include "jit/llvm/math/math.h"
#include "llvm/IR/Intrinsics.h"

namespace tektite::loop {

using ir::Op;

namespace {

bool IsConstant(llvm::Value* v) { return llvm::isa<llvm::Constant>(v); }

// Runs f on single lanes, as scalars.
llvm::Value* LaneByLane(LowerContext& c, const std::vector<llvm::Value*>& operands,
                        const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& f) {
  llvm::Value* joined = nullptr;
  for (int i = 0; i < LanesOf(operands[0]); ++i) {
    const auto lane = static_cast<uint64_t>(i);
    std::vector<llvm::Value*> lanes;
    for (llvm::Value* v : operands) lanes.push_back(c.builder.CreateExtractElement(v, lane));
    llvm::Value* result = f(lanes);
    if (i == 0) joined = llvm::PoisonValue::get(WithLanesOf(operands[0], result->getType()));
    joined = c.builder.CreateInsertElement(joined, result, lane);
  }
  return joined;
}

// Runs f on pieces no wider than a vector register and joins the results, so that the working set
// of a long function fits the registers.
llvm::Value* InPieces(LowerContext& c, std::vector<llvm::Value*> operands,
                      const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& f) {
  const int lanes = LanesOf(operands[0]);
  const int bits = operands[0]->getType()->getScalarSizeInBits();
  const int piece = std::max(c.options.vector_bytes * 8 / bits, 1);
  if (lanes <= piece) return f(operands);
  if (piece == 1) return LaneByLane(c, operands, f);
  if (lanes % 2 != 0) return f(operands);
  const int half = lanes / 2;
  std::vector<int> low(half), high(half), all(lanes);
  for (int i = 0; i < lanes; ++i) {
    all[i] = i;
    (i < half ? low[i] : high[i - half]) = i;
  }
  std::vector<llvm::Value*> lows, highs;
  for (llvm::Value* v : operands) {
    lows.push_back(c.builder.CreateShuffleVector(v, low));
    highs.push_back(c.builder.CreateShuffleVector(v, high));
  }
  llvm::Value* a = InPieces(c, lows, f);
  llvm::Value* b = InPieces(c, highs, f);
  return c.builder.CreateShuffleVector(a, b, all);
}

// Quotient or remainder of integers, with the loop IR's answers where C has none.
llvm::Value* IntegerDivision(LowerContext& c, bool quotient, DType dtype, llvm::Value* a,
                             llvm::Value* b) {
  llvm::IRBuilder<>& builder = c.builder;
  const bool is_signed = ir::IsSigned(dtype);
  llvm::Type* type = a->getType();
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  llvm::Constant* minus_one = llvm::Constant::getAllOnesValue(type);
  llvm::Constant* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* by_zero = builder.CreateICmpEQ(b, zero);
  llvm::Value* result;
  const int bits = type->getScalarSizeInBits();
  if (bits <= 32 && type->isVectorTy() && !IsConstant(b) && !c.device) {
    // A CPU's vectors have no integer division: a correctly rounded float quotient of integers of w
    // bits, cut towards zero, is exact: it differs from an integer by 1/b at least, more than the
    // rounding.
    llvm::Type* f = WithLanesOf(a, bits == 32 ? builder.getDoubleTy() : builder.getFloatTy());
    llvm::Type* wide = WithLanesOf(a, builder.getIntNTy(bits == 32 && !is_signed ? 64 : 32));
    auto to_float = [&](llvm::Value* v) {
      return is_signed ? builder.CreateSIToFP(v, f) : builder.CreateUIToFP(v, f);
    };
    llvm::Value* divisor = builder.CreateSelect(by_zero, one, b);
    llvm::Value* q = builder.CreateFDiv(to_float(a), to_float(divisor));
    // INT_MIN / -1 is the one quotient out of range: negate instead.
    if (is_signed && bits == 32) {
      q = builder.CreateSelect(builder.CreateICmpEQ(b, minus_one), to_float(zero), q);
    }
    llvm::Value* cut =
        is_signed || bits < 32 ? builder.CreateFPToSI(q, wide) : builder.CreateFPToUI(q, type);
    result = cut->getType() == type ? cut : builder.CreateTrunc(cut, type);
    if (is_signed && bits == 32) {
      result =
          builder.CreateSelect(builder.CreateICmpEQ(b, minus_one), builder.CreateNeg(a), result);
    }
    if (!quotient) result = builder.CreateSub(a, builder.CreateMul(result, divisor));
  } else {
    // Guard what traps: zero, and the least integer by -1.
    llvm::Value* bad = by_zero;
    llvm::Value* by_minus_one = is_signed ? builder.CreateICmpEQ(b, minus_one) : nullptr;
    if (is_signed) bad = builder.CreateOr(bad, by_minus_one);
    llvm::Value* divisor = builder.CreateSelect(bad, one, b);
    result = quotient
                 ? (is_signed ? builder.CreateSDiv(a, divisor) : builder.CreateUDiv(a, divisor))
                 : (is_signed ? builder.CreateSRem(a, divisor) : builder.CreateURem(a, divisor));
    if (is_signed && quotient) {
      result = builder.CreateSelect(by_minus_one, builder.CreateNeg(a), result);
    }
  }
  return builder.CreateSelect(by_zero, quotient ? static_cast<llvm::Value*>(minus_one) : a, result);
}

// An instruction of PTX takes a shift's amount as 32 bits.  LLVM 22 uses these of a 64-bit amount
// where a select, as in Shift below, makes everything from 64 on zero: 2^32 would shift by nothing.
llvm::Value* ShiftTwice(llvm::IRBuilder<>& builder, Op op, llvm::Value* a, llvm::Value* b) {
  llvm::Type* type = a->getType();
  llvm::Value* amount =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, llvm::ConstantInt::get(type, 64));
  llvm::Value* first = builder.CreateLShr(amount, 1);
  llvm::Value* second = builder.CreateSub(amount, first);
  if (op == Op::kShiftLeft) return builder.CreateShl(builder.CreateShl(a, first), second);
  return builder.CreateLShr(builder.CreateLShr(a, first), second);
}

llvm::Value* Shift(LowerContext& c, Op op, llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>& builder = c.builder;
  llvm::Type* type = a->getType();
  const int bits = type->getScalarSizeInBits();
  llvm::Value* wide = builder.CreateICmpUGE(b, llvm::ConstantInt::get(type, bits));
  if (op == Op::kShiftRightArithmetic) {
    return builder.CreateAShr(
        a, builder.CreateSelect(wide, llvm::ConstantInt::get(type, bits - 1), b));
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  if (c.device && bits == 64) return ShiftTwice(builder, op, a, b);
  llvm::Value* amount = builder.CreateSelect(wide, zero, b);
  llvm::Value* shifted =
      op == Op::kShiftLeft ? builder.CreateShl(a, amount) : builder.CreateLShr(a, amount);
  return builder.CreateSelect(wide, zero, shifted);
}

// On x86 a max, a compare with itself and a blend; the max alone when LLVM sees that an operand is
// never NaN.  Spelled as compares and selects it would become two compares and an or of masks.
llvm::Value* FloatMinMax(LowerContext& c, bool max, llvm::Value* a, llvm::Value* b) {
  llvm::Value* result = c.builder.CreateBinaryIntrinsic(
      max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  // The sign of a zero is free.
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(result)) call->setHasNoSignedZeros(true);
  return result;
}

llvm::Value* RoundAway(LowerContext& c, llvm::Value* x) {
  // trunc(x + copysign(pred(0.5), x)): the largest float below one half, so that 0.49999997 stays
  // 0; from 2^23 (2^52) on every float is an integer and the sum would round.
  const math::Num n(&c, x);
  const bool f64 = n.IsDouble();
  const math::Num below_half = n.Constant(f64 ? 0.49999999999999994 : 0.49999997);
  const math::Num rounded = math::Trunc(n + math::CopySign(below_half, n));
  const math::Num big = math::Abs(n) >= (f64 ? 4503599627370496.0 : 8388608.0);
  return math::Select(big, n, math::CopySign(rounded, n)).value();
}

// Upper half against lower half until one lane is left; an odd lane joins at the end of its turn.
llvm::Value* FoldLanes(LowerContext& c, llvm::Value* v,
                       const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& combine) {
  llvm::Value* odd = nullptr;
  int lanes = LanesOf(v);
  while (lanes > 1) {
    if (lanes % 2 != 0) {
      llvm::Value* last = c.builder.CreateExtractElement(v, lanes - 1);
      odd = odd == nullptr ? last : combine(last, odd);
      if (odd == nullptr) return nullptr;
    }
    lanes /= 2;
    std::vector<int> low(lanes), high(lanes);
    for (int i = 0; i < lanes; ++i) {
      low[i] = i;
      high[i] = lanes + i;
    }
    v = combine(c.builder.CreateShuffleVector(v, low), c.builder.CreateShuffleVector(v, high));
    if (v == nullptr) return nullptr;
  }
  llvm::Value* result = c.builder.CreateExtractElement(v, static_cast<uint64_t>(0));
  return odd == nullptr ? result : combine(result, odd);
}

llvm::Value* Sign(LowerContext& c, DType dtype, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  if (ir::IsFloat(dtype)) {
    const math::Num n(&c, x);
    // Zeros and NaN are their own sign.
    const math::Num keep = !(math::Abs(n) > 0);
    return math::Select(keep, n, math::CopySign(n.Constant(1), n)).value();
  }
  llvm::Type* type = x->getType();
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  llvm::Value* positive = b.CreateZExt(b.CreateICmpNE(x, zero), type);
  if (!ir::IsSigned(dtype)) return positive;
  return b.CreateOr(positive, b.CreateAShr(x, type->getScalarSizeInBits() - 1));
}

}  // namespace

llvm::Value* LowerUnary(LowerContext& c, Op op, DType dtype, llvm::Value* x) {
  llvm::IRBuilder<>& b = c.builder;
  const bool is_float = ir::IsFloat(dtype);
  auto intrinsic = [&](llvm::Intrinsic::ID id) -> llvm::Value* {
    return b.CreateUnaryIntrinsic(id, x);
  };
  switch (op) {
    case Op::kAbs:
      if (is_float) return intrinsic(llvm::Intrinsic::fabs);
      if (!ir::IsSigned(dtype)) return x;
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
    case Op::kNeg:
      return is_float ? b.CreateFNeg(x) : b.CreateNeg(x);
    case Op::kNot:
      return is_float ? nullptr : b.CreateNot(x);
    case Op::kSign:
      return Sign(c, dtype, x);
    case Op::kPopcnt:
      return is_float ? nullptr : intrinsic(llvm::Intrinsic::ctpop);
    case Op::kIsFinite:
      if (!is_float) return llvm::ConstantInt::getTrue(WithLanesOf(x, b.getInt1Ty()));
      return b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                             llvm::ConstantFP::getInfinity(x->getType()));
    default:
      break;
  }
  if (!is_float) return nullptr;
  switch (op) {
    case Op::kSqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case Op::kFloor:
      return intrinsic(llvm::Intrinsic::floor);
    case Op::kCeil:
      return intrinsic(llvm::Intrinsic::ceil);
    case Op::kRoundEven:
      return intrinsic(llvm::Intrinsic::roundeven);
    case Op::kRoundAway:
      return RoundAway(c, x);
    default:
      break;
  }
  math::UnaryFunction f = math::FindUnary(op);
  if (f == nullptr) return nullptr;
  return InPieces(
      c, {x}, [&](const std::vector<llvm::Value*>& v) { return f(math::Num(&c, v[0])).value(); });
}

llvm::Value* LowerBinary(LowerContext& c, Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>& builder = c.builder;
  const bool is_float = ir::IsFloat(dtype);
  if (is_float) {
    switch (op) {
      case Op::kAdd:
        return builder.CreateFAdd(a, b);
      case Op::kSub:
        return builder.CreateFSub(a, b);
      case Op::kMul:
        return builder.CreateFMul(a, b);
      case Op::kDiv:
        return builder.CreateFDiv(a, b);
      case Op::kMax:
      case Op::kMin:
        return FloatMinMax(c, op == Op::kMax, a, b);
      default:
        break;
    }
    math::BinaryFunction f = math::FindBinary(op);
    if (f == nullptr) return nullptr;
    return InPieces(c, {a, b}, [&](const std::vector<llvm::Value*>& v) {
      return f(math::Num(&c, v[0]), math::Num(&c, v[1])).value();
    });
  }
  const bool boolean = dtype == DType::kBool;
  const bool is_signed = ir::IsSigned(dtype);
  switch (op) {
    case Op::kAdd:
      return boolean ? builder.CreateOr(a, b) : builder.CreateAdd(a, b);
    case Op::kSub:
      return boolean ? builder.CreateXor(a, b) : builder.CreateSub(a, b);
    case Op::kMul:
      return boolean ? builder.CreateAnd(a, b) : builder.CreateMul(a, b);
    case Op::kMax:
      if (boolean) return builder.CreateOr(a, b);
      return builder.CreateBinaryIntrinsic(
          is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case Op::kMin:
      if (boolean) return builder.CreateAnd(a, b);
      return builder.CreateBinaryIntrinsic(
          is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case Op::kAnd:
      return builder.CreateAnd(a, b);
    case Op::kOr:
      return builder.CreateOr(a, b);
    case Op::kXor:
      return builder.CreateXor(a, b);
    case Op::kDiv:
    case Op::kRem:
      return boolean ? nullptr : IntegerDivision(c, op == Op::kDiv, dtype, a, b);
    case Op::kShiftLeft:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical:
      return boolean ? nullptr : Shift(c, op, a, b);
    default:
      return nullptr;
  }
}

llvm::Value* LowerCompare(LowerContext& c, Direction direction, DType dtype, llvm::Value* a,
                          llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  const int d = static_cast<int>(direction);
  if (ir::IsFloat(dtype)) {
    static constexpr P kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                                   P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
    return c.builder.CreateFCmp(kFloat[d], a, b);
  }
  static constexpr P kSigned[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT,
                                  P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  static constexpr P kUnsigned[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_ULT,
                                    P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return c.builder.CreateICmp(ir::IsSigned(dtype) ? kSigned[d] : kUnsigned[d], a, b);
}

llvm::Value* LowerReduceLanes(LowerContext& c, Op op, DType dtype, llvm::Value* v) {
  if (ir::IsFloat(dtype) && (op == Op::kMax || op == Op::kMin)) {
    // One look for NaN at all lanes, beside the chain and not in each of its links.
    llvm::IRBuilder<>& b = c.builder;
    const auto larger = [&](llvm::Value* x, llvm::Value* y) {
      return b.CreateSelect(op == Op::kMax ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y), x, y);
    };
    llvm::Value* nan = math::Any(math::IsNan(math::Num(&c, v))).value();
    return b.CreateSelect(nan, llvm::ConstantFP::getNaN(v->getType()->getScalarType()),
                          FoldLanes(c, v, larger));
  }
  return FoldLanes(c, v,
                   [&](llvm::Value* x, llvm::Value* y) { return LowerBinary(c, op, dtype, x, y); });
}

}  // namespace tektite::loop
