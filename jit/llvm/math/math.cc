#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

UnaryFunction FindUnary(ir::Op op) {
  switch (op) {
    case ir::Op::kAcos:
      return Acos;
    case ir::Op::kAcosh:
      return Acosh;
    case ir::Op::kAsin:
      return Asin;
    case ir::Op::kAsinh:
      return Asinh;
    case ir::Op::kAtan:
      return Atan;
    case ir::Op::kAtanh:
      return Atanh;
    case ir::Op::kCos:
      return Cos;
    case ir::Op::kCosh:
      return Cosh;
    case ir::Op::kErf:
      return Erf;
    case ir::Op::kErfc:
      return Erfc;
    case ir::Op::kExp:
      return Exp;
    case ir::Op::kExpm1:
      return Expm1;
    case ir::Op::kLog:
      return Log;
    case ir::Op::kLog1p:
      return Log1p;
    case ir::Op::kLogistic:
      return Logistic;
    case ir::Op::kRsqrt:
      return Rsqrt;
    case ir::Op::kSin:
      return Sin;
    case ir::Op::kSinh:
      return Sinh;
    case ir::Op::kTan:
      return Tan;
    case ir::Op::kTanh:
      return Tanh;
    default:
      return nullptr;
  }
}

BinaryFunction FindBinary(ir::Op op) {
  switch (op) {
    case ir::Op::kAtan2:
      return Atan2;
    case ir::Op::kPow:
      return Pow;
    case ir::Op::kRem:
      return Remainder;
    default:
      return nullptr;
  }
}

}  // namespace tektite::loop::math
