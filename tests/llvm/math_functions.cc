#include "tests/llvm/math_functions.h"

#include <cmath>

namespace tektite::testing {

namespace {

template <typename T>
T Logistic(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
template <typename T>
T Rsqrt(T x) {
  return 1 / std::sqrt(x);
}

}  // namespace

const std::vector<Function>& Functions() {
  using ir::Op;
#define TEKTITE_FUNCTION(name, op, f32, f64, low, high)                                            \
  {                                                                                                \
#name, Op::op,                                                                                 \
        [](double x)                                                                               \
             -> double { return std::name(x); },                                                   \
                                              [](long double x)                                    \
                                                   -> long double { return std::name(x); }, f32,   \
                                                                                         f64, low, \
                                                                                         high      \
  }
  static const auto* functions = new std::vector<Function>{
      TEKTITE_FUNCTION(acos, kAcos, 4, 4, -1, 1),
      TEKTITE_FUNCTION(acosh, kAcosh, 4, 4, 1, 10),
      TEKTITE_FUNCTION(asin, kAsin, 4, 4, -1, 1),
      TEKTITE_FUNCTION(asinh, kAsinh, 4, 4, -10, 10),
      TEKTITE_FUNCTION(atan, kAtan, 4, 4, -10, 10),
      TEKTITE_FUNCTION(atanh, kAtanh, 4, 4, -1, 1),
      TEKTITE_FUNCTION(cos, kCos, 4, 4, -10, 10),
      TEKTITE_FUNCTION(cosh, kCosh, 4, 4, -10, 10),
      TEKTITE_FUNCTION(erf, kErf, 2, 4, -4, 4),
      TEKTITE_FUNCTION(erfc, kErfc, 3.5, 4, -4, 10),
      TEKTITE_FUNCTION(exp, kExp, 1.5, 1.5, -10, 10),
      TEKTITE_FUNCTION(expm1, kExpm1, 4, 4, -10, 10),
      TEKTITE_FUNCTION(log, kLog, 1.5, 1.5, 0, 10),
      TEKTITE_FUNCTION(log1p, kLog1p, 4, 4, -0.9, 10),
      {"logistic", Op::kLogistic, Logistic<double>, Logistic<long double>, 2.5, 2.5, -10, 10},
      {"rsqrt", Op::kRsqrt, Rsqrt<double>, Rsqrt<long double>, 1.5, 1.5, 0, 10},
      TEKTITE_FUNCTION(sin, kSin, 4, 4, -10, 10),
      TEKTITE_FUNCTION(sinh, kSinh, 4, 4, -10, 10),
      TEKTITE_FUNCTION(tan, kTan, 4, 4, -10, 10),
      TEKTITE_FUNCTION(tanh, kTanh, 2, 4, -5, 5),
  };
#undef TEKTITE_FUNCTION
  return *functions;
}

}  // namespace tektite::testing
