#include "jit/llvm/math/num.h"

#include <cstring>

#include "jit/llvm/lower_context.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace tektite::loop::math {

namespace {

llvm::IRBuilder<>& B(Num x) { return x.context()->builder; }
Num Make(Num like, llvm::Value* v) { return Num(like.context(), v); }

Num Call(llvm::Intrinsic::ID id, Num x) {
  return Make(x, B(x).CreateUnaryIntrinsic(id, x.value()));
}

llvm::Type* IntType(Num x, int bits) { return WithLanesOf(x.value(), B(x).getIntNTy(bits)); }

// Of an AVX-512 instruction on a whole vector.
constexpr int kCurrentRounding = 4;
llvm::Value* AllLanes(Num x) {
  return x.IsDouble() ? B(x).getInt8(0xff) : static_cast<llvm::Value*>(B(x).getInt16(0xffff));
}

}  // namespace

int Num::lanes() const { return LanesOf(value_); }
int Num::bits() const { return value_->getType()->getScalarSizeInBits(); }
bool Num::IsFloat() const { return value_->getType()->isFPOrFPVectorTy(); }

Num Num::Constant(double c) const {
  llvm::Type* type = value_->getType();
  if (IsFloat()) return Num(context_, llvm::ConstantFP::get(type, c));
  return ConstantBits(static_cast<uint64_t>(static_cast<int64_t>(c)));
}

Num Num::ConstantBits(uint64_t bits) const {
  constexpr bool kUnsigned = false, kTruncate = true;
  const llvm::APInt value(this->bits(), bits, kUnsigned, kTruncate);
  if (!IsFloat()) return Num(context_, llvm::ConstantInt::get(value_->getType(), value));
  const llvm::fltSemantics& semantics = value_->getType()->getScalarType()->getFltSemantics();
  return Num(context_, llvm::ConstantFP::get(value_->getType(), llvm::APFloat(semantics, value)));
}

Num operator+(Num a, Num b) {
  return Make(a, a.IsFloat() ? B(a).CreateFAdd(a.value(), b.value())
                             : B(a).CreateAdd(a.value(), b.value()));
}
Num operator-(Num a, Num b) {
  return Make(a, a.IsFloat() ? B(a).CreateFSub(a.value(), b.value())
                             : B(a).CreateSub(a.value(), b.value()));
}
Num operator*(Num a, Num b) {
  return Make(a, a.IsFloat() ? B(a).CreateFMul(a.value(), b.value())
                             : B(a).CreateMul(a.value(), b.value()));
}
Num operator/(Num a, Num b) { return Make(a, B(a).CreateFDiv(a.value(), b.value())); }
Num operator-(Num a) {
  return Make(a, a.IsFloat() ? B(a).CreateFNeg(a.value()) : B(a).CreateNeg(a.value()));
}
Num operator&(Num a, Num b) { return Make(a, B(a).CreateAnd(a.value(), b.value())); }
Num operator|(Num a, Num b) { return Make(a, B(a).CreateOr(a.value(), b.value())); }
Num operator^(Num a, Num b) { return Make(a, B(a).CreateXor(a.value(), b.value())); }
Num operator!(Num a) { return Make(a, B(a).CreateNot(a.value())); }

#define TEKTITE_NUM_COMPARE(op, FCmp, ICmp)                                    \
  Num operator op(Num a, Num b) {                                              \
    return Make(a, a.IsFloat() ? B(a).CreateFCmp##FCmp(a.value(), b.value())   \
                               : B(a).CreateICmp##ICmp(a.value(), b.value())); \
  }
TEKTITE_NUM_COMPARE(<, OLT, SLT)
TEKTITE_NUM_COMPARE(<=, OLE, SLE)
TEKTITE_NUM_COMPARE(>, OGT, SGT)
TEKTITE_NUM_COMPARE(>=, OGE, SGE)
TEKTITE_NUM_COMPARE(==, OEQ, EQ)
TEKTITE_NUM_COMPARE(!=, UNE, NE)
#undef TEKTITE_NUM_COMPARE

Num operator<<(Num a, int n) { return Make(a, B(a).CreateShl(a.value(), n)); }
Num operator>>(Num a, int n) { return Make(a, B(a).CreateAShr(a.value(), n)); }
Num ShiftRightLogical(Num a, int n) { return Make(a, B(a).CreateLShr(a.value(), n)); }

Num Fma(Num a, Num b, Num c) {
  return Make(a, B(a).CreateIntrinsic(llvm::Intrinsic::fma, {a.value()->getType()},
                                      {a.value(), b.value(), c.value()}));
}

Num Select(Num condition, Num a, Num b) {
  return Make(a, B(a).CreateSelect(condition.value(), a.value(), b.value()));
}

// The operand order is the one in which minps and maxps return x for NaN.
Num AtMost(Num x, double bound) { return Select(bound < x, bound, x); }
Num AtLeast(Num x, double bound) { return Select(bound > x, bound, x); }
Num Any(Num condition) {
  if (condition.lanes() == 1) return condition;
  // One bit a lane: a mask register or movmsk, then a test.
  llvm::Value* bits =
      B(condition).CreateBitCast(condition.value(), B(condition).getIntNTy(condition.lanes()));
  return Make(condition, B(condition).CreateIsNotNull(bits));
}
Num IsNan(Num x) { return x != x; }
Num Abs(Num x) { return Call(llvm::Intrinsic::fabs, x); }
Num Sqrt(Num x) { return Call(llvm::Intrinsic::sqrt, x); }
Num Trunc(Num x) { return Call(llvm::Intrinsic::trunc, x); }
Num RoundEven(Num x) { return Call(llvm::Intrinsic::roundeven, x); }
Num CopySign(Num magnitude, Num sign) {
  return Make(sign, B(sign).CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.value(),
                                                  sign.value()));
}

Num AsInt(Num x) { return Make(x, B(x).CreateBitCast(x.value(), IntType(x, x.bits()))); }
Num AsFloat(Num x) {
  llvm::Type* scalar = x.bits() == 64 ? B(x).getDoubleTy() : B(x).getFloatTy();
  return Make(x, B(x).CreateBitCast(x.value(), WithLanesOf(x.value(), scalar)));
}
Num ToFloat(Num x) {
  llvm::Type* scalar = x.bits() == 64 ? B(x).getDoubleTy() : B(x).getFloatTy();
  return Make(x, B(x).CreateSIToFP(x.value(), WithLanesOf(x.value(), scalar)));
}
Num ToDouble(Num x) {
  return Make(x, B(x).CreateFPExt(x.value(), WithLanesOf(x.value(), B(x).getDoubleTy())));
}
Num ToSingle(Num x) {
  return Make(x, B(x).CreateFPTrunc(x.value(), WithLanesOf(x.value(), B(x).getFloatTy())));
}

Num Lookup(absl::Span<const double> table, Num indices) {
  llvm::Module& module = *indices.context()->module;
  const llvm::ArrayRef<double> values(table.data(), table.size());
  llvm::Constant* data = llvm::ConstantDataArray::get(module.getContext(), values);
  auto* global = new llvm::GlobalVariable(
      module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "table", nullptr,
      llvm::GlobalValue::NotThreadLocal, indices.context()->device ? kGlobalSpace : kHostSpace);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  llvm::Value* pointers = B(indices).CreateGEP(B(indices).getDoubleTy(), global, indices.value());
  llvm::Type* type = WithLanesOf(indices.value(), B(indices).getDoubleTy());
  if (indices.lanes() == 1) return Make(indices, B(indices).CreateLoad(type, pointers));
  return Make(indices, B(indices).CreateMaskedGather(type, pointers, llvm::Align(8)));
}

Num LookupInRegister(absl::Span<const double> table, Num indices) {
  const bool wide = indices.bits() == 64;
  std::vector<llvm::Constant*> entries;
  llvm::Type* scalar = wide ? B(indices).getDoubleTy() : B(indices).getFloatTy();
  for (double entry : table) entries.push_back(llvm::ConstantFP::get(scalar, entry));
  const llvm::Intrinsic::ID id = wide ? llvm::Intrinsic::x86_avx512_permvar_df_512
                                      : llvm::Intrinsic::x86_avx512_permvar_sf_512;
  return Make(indices, B(indices).CreateIntrinsic(
                           id, {}, {llvm::ConstantVector::get(entries), indices.value()}));
}

Num Polynomial(Num x, absl::Span<const double> coefficients) {
  Num sum = x.Constant(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = Fma(sum, x, coefficients[i]);
  return sum;
}

Num PolynomialByPairs(Num x, Num square, absl::Span<const double> coefficients) {
  const auto pair = [&](size_t i) {
    return i + 1 < coefficients.size() ? Fma(x, coefficients[i + 1], coefficients[i])
                                       : x.Constant(coefficients[i]);
  };
  size_t i = (coefficients.size() - 1) / 2 * 2;
  Num sum = pair(i);
  while (i >= 2) sum = Fma(sum, square, pair(i -= 2));
  return sum;
}

std::vector<Num> Rarely(Num condition, std::vector<Num> usual,
                        const std::function<std::vector<Num>()>& slow) {
  llvm::IRBuilder<>& b = B(condition);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* rare = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "usual", function);
  llvm::MDNode* weights = llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights();
  b.CreateCondBr(Any(condition).value(), rare, next, weights);
  b.SetInsertPoint(rare);
  std::vector<Num> fixed = slow();
  for (size_t i = 0; i < usual.size(); ++i) fixed[i] = Select(condition, fixed[i], usual[i]);
  llvm::BasicBlock* rare_end = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  for (size_t i = 0; i < usual.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(usual[i].value()->getType(), 2);
    phi->addIncoming(usual[i].value(), from);
    phi->addIncoming(fixed[i].value(), rare_end);
    usual[i] = Make(condition, phi);
  }
  return usual;
}

std::vector<Num> While(std::vector<Num> state,
                       const std::function<Num(const std::vector<Num>&)>& more,
                       const std::function<std::vector<Num>(const std::vector<Num>&)>& body) {
  llvm::IRBuilder<>& b = B(state[0]);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "while", function);
  auto* inner = llvm::BasicBlock::Create(b.getContext(), "while.body", function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "while.end", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  std::vector<llvm::PHINode*> phis;
  for (Num& s : state) {
    phis.push_back(b.CreatePHI(s.value()->getType(), 2));
    phis.back()->addIncoming(s.value(), from);
    s = Make(s, phis.back());
  }
  b.CreateCondBr(Any(more(state)).value(), inner, next);
  b.SetInsertPoint(inner);
  const std::vector<Num> after = body(state);
  for (size_t i = 0; i < phis.size(); ++i) {
    phis[i]->addIncoming(after[i].value(), b.GetInsertBlock());
  }
  b.CreateBr(head);
  b.SetInsertPoint(next);
  return state;
}

bool ScalesInOneInstruction(Num x) { return x.context()->avx512 && x.lanes() * x.bits() == 512; }

Num WithMagnitudeAtMost(Num x, double bound) {
  if (!ScalesInOneInstruction(x)) return AtLeast(AtMost(x, bound), -bound);
  llvm::IRBuilder<>& b = B(x);
  const bool f64 = x.IsDouble();
  const llvm::Intrinsic::ID id = f64 ? llvm::Intrinsic::x86_avx512_mask_range_pd_512
                                     : llvm::Intrinsic::x86_avx512_mask_range_ps_512;
  constexpr int kLeastMagnitudeSignOfFirst = 2;
  return Make(x, b.CreateIntrinsic(
                     id, {},
                     {x.value(), x.Constant(bound).value(), b.getInt32(kLeastMagnitudeSignOfFirst),
                      x.value(), AllLanes(x), b.getInt32(kCurrentRounding)}));
}

Num ScaleByPowerOfTwo(Num x, Num n) {
  if (ScalesInOneInstruction(x)) {
    const llvm::Intrinsic::ID id = x.IsDouble() ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                                                : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
    return Make(x, B(x).CreateIntrinsic(id, {},
                                        {x.value(), n.value(), x.value(), AllLanes(x),
                                         B(x).getInt32(kCurrentRounding)}));
  }
  // Two factors, each a power of two within range: the first product is exact unless it overflows,
  // the second rounds.
  const bool f64 = x.IsDouble();
  const int mantissa = f64 ? 52 : 23;
  const double magic = f64 ? 6755399441055744.0 : 12582912.0;  // 1.5 * 2^mantissa
  const Num bits = AsInt(n + magic);
  // n and twice the bias, which is divided among the two.
  const Num both = bits - (AsInt(n.Constant(magic)) - (f64 ? 2046.0 : 254.0));
  const Num half = ShiftRightLogical(both, 1);
  return x * AsFloat(half << mantissa) * AsFloat((both - half) << mantissa);
}

}  // namespace tektite::loop::math
