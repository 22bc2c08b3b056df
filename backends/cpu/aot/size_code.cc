#include "backends/cpu/aot/size_code.h"

#include <algorithm>

#include "jit/ir/dim_expr.h"
#include "llvm/IR/Intrinsics.h"

namespace tektite::cpu {
namespace {

using SizeOp = ir::DimProgram::Code;

const llvm::ConstantInt* AsConstant(llvm::Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); }

}  // namespace

llvm::Value* SizeCode::Checked(llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b) {
  if (AsConstant(a) != nullptr && AsConstant(b) != nullptr) {
    const int64_t x = AsConstant(a)->getSExtValue(), y = AsConstant(b)->getSExtValue();
    int64_t result = 0;
    const bool wraps = operation == llvm::Intrinsic::smul_with_overflow
                           ? __builtin_mul_overflow(x, y, &result)
                           : __builtin_add_overflow(x, y, &result);
    if (wraps) wraps_ = b_.getTrue();
    return b_.getInt64(static_cast<uint64_t>(result));
  }
  llvm::Value* both = b_.CreateBinaryIntrinsic(operation, a, b);
  wraps_ = b_.CreateOr(wraps_, b_.CreateExtractValue(both, 1));
  return b_.CreateExtractValue(both, 0);
}

llvm::Value* SizeCode::Divide(llvm::Value* a, llvm::Value* b, bool remainder) {
  if (AsConstant(a) != nullptr && AsConstant(b) != nullptr) {
    const int64_t x = AsConstant(a)->getSExtValue(), y = AsConstant(b)->getSExtValue();
    const int64_t result = remainder ? ir::ModuloFloor(x, y) : ir::DivideFloor(x, y);
    return b_.getInt64(static_cast<uint64_t>(result));
  }
  llvm::Value* const zero = b_.getInt64(0);
  const bool is_plain = AsConstant(b) != nullptr && AsConstant(b)->getSExtValue() > 0;
  // The machine's division traps on these two; a quotient by -1 is a negation.
  llvm::Value *by_zero = b_.getFalse(), *by_minus = b_.getFalse(), *divisor = b;
  if (!is_plain) {
    by_zero = b_.CreateICmpEQ(b, zero);
    by_minus = b_.CreateICmpEQ(b, b_.getInt64(~uint64_t{0}));
    divisor = b_.CreateSelect(b_.CreateOr(by_zero, by_minus), b_.getInt64(1), b);
  }
  llvm::Value* const quotient = b_.CreateSDiv(a, divisor);
  llvm::Value* const rest = b_.CreateSub(a, b_.CreateMul(quotient, divisor));
  // The rest has the sign of a; floors differ where that is not the divisor's.
  llvm::Value* const is_off =
      b_.CreateAnd(b_.CreateICmpNE(rest, zero),
                   b_.CreateICmpNE(b_.CreateICmpSLT(rest, zero), b_.CreateICmpSLT(divisor, zero)));
  if (remainder) {
    llvm::Value* const result = b_.CreateSelect(is_off, b_.CreateAdd(rest, divisor), rest);
    return b_.CreateSelect(b_.CreateOr(by_zero, by_minus), zero, result);
  }
  llvm::Value* const result =
      b_.CreateSelect(is_off, b_.CreateSub(quotient, b_.getInt64(1)), quotient);
  return b_.CreateSelect(by_zero, zero, b_.CreateSelect(by_minus, b_.CreateNeg(a), result));
}

llvm::Value* SizeCode::Max(llvm::Value* a, llvm::Value* b) {
  return b_.CreateSelect(b_.CreateICmpSGT(a, b), a, b);
}

llvm::Value* SizeCode::Min(llvm::Value* a, llvm::Value* b) {
  return b_.CreateSelect(b_.CreateICmpSLT(a, b), a, b);
}

llvm::Value* SizeCode::AlignUp(llvm::Value* bytes) {
  return b_.CreateAnd(b_.CreateAdd(bytes, b_.getInt64(63)), b_.getInt64(~uint64_t{63}));
}

std::vector<llvm::Value*> SizeCode::Run(const ir::DimProgram& program,
                                        absl::Span<llvm::Value* const> symbols) {
  std::vector<llvm::Value*> table(symbols.begin(), symbols.end());
  for (const ir::DimProgram::Step& step : program.steps()) {
    const auto a = [&] { return table[step.a]; };
    const auto b = [&] { return table[step.b]; };
    llvm::Value* const value = b_.getInt64(static_cast<uint64_t>(step.value));
    if (IsSaturated(step.value)) wraps_ = b_.getTrue();
    switch (step.code) {
      case SizeOp::kConstant:
        table.push_back(value);
        break;
      case SizeOp::kAddConstant:
        table.push_back(Checked(llvm::Intrinsic::sadd_with_overflow, a(), value));
        break;
      case SizeOp::kScale:
        table.push_back(Checked(llvm::Intrinsic::smul_with_overflow, a(), value));
        break;
      case SizeOp::kAdd:
        table.push_back(Checked(llvm::Intrinsic::sadd_with_overflow, a(), b()));
        break;
      case SizeOp::kMul:
        table.push_back(Checked(llvm::Intrinsic::smul_with_overflow, a(), b()));
        break;
      case SizeOp::kFloorDiv:
        table.push_back(Divide(a(), b(), /*remainder=*/false));
        break;
      case SizeOp::kMod:
        table.push_back(Divide(a(), b(), /*remainder=*/true));
        break;
      case SizeOp::kMax:
        table.push_back(Max(a(), b()));
        break;
      case SizeOp::kMin:
        table.push_back(Min(a(), b()));
        break;
    }
  }
  return table;
}

}  // namespace tektite::cpu
