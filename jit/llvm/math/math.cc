#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

UnaryFunction FindUnary(ir::Op op) {
  using ir::Op;
  static constexpr struct {
    Op op;
    UnaryFunction function;
  } kRows[] = {
      {Op::kAcos, Acos}, {Op::kAcosh, Acosh}, {Op::kAsin, Asin},         {Op::kAsinh, Asinh},
      {Op::kAtan, Atan}, {Op::kAtanh, Atanh}, {Op::kCos, Cos},           {Op::kCosh, Cosh},
      {Op::kErf, Erf},   {Op::kErfc, Erfc},   {Op::kExp, Exp},           {Op::kExpm1, Expm1},
      {Op::kLog, Log},   {Op::kLog1p, Log1p}, {Op::kLogistic, Logistic}, {Op::kRsqrt, Rsqrt},
      {Op::kSin, Sin},   {Op::kSinh, Sinh},   {Op::kTan, Tan},           {Op::kTanh, Tanh},
  };
  for (const auto& row : kRows) {
    if (row.op == op) return row.function;
  }
  return nullptr;
}

BinaryFunction FindBinary(ir::Op op) {
  if (op == ir::Op::kAtan2) return Atan2;
  if (op == ir::Op::kPow) return Pow;
  return op == ir::Op::kRem ? Remainder : nullptr;
}

bool IsLong(ir::Op op) {
  if (op == ir::Op::kRsqrt || op == ir::Op::kRem) return false;
  return FindUnary(op) != nullptr || FindBinary(op) != nullptr;
}

}  // namespace tektite::loop::math
