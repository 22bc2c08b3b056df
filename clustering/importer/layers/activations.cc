#include "clustering/importer/layers/activations.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

using Activation = Value (*)(FuncBuilder& b, Value x);

Value Full(FuncBuilder& b, Value x, double value) { return b.FullLike(x, value); }

Value Relu(FuncBuilder& b, Value x) { return b.Max(x, Full(b, x, 0)); }
Value Relu6(FuncBuilder& b, Value x) { return b.Min(Relu(b, x), Full(b, x, 6)); }
Value Negative(FuncBuilder& b, Value x) { return b.Compare(x, Full(b, x, 0), "lt"); }

// e^x - 1 as TensorFlow computes it, not expm1.
Value ExpMinusOne(FuncBuilder& b, Value x) { return b.Sub(b.Exp(x), Full(b, x, 1)); }

Value Elu(FuncBuilder& b, Value x) { return b.Select(Negative(b, x), ExpMinusOne(b, x), x); }

Value Selu(FuncBuilder& b, Value x) {
  Value below = b.Mul(Full(b, x, kSeluScaleAlpha), ExpMinusOne(b, x));
  return b.Select(Negative(b, x), below, b.Mul(Full(b, x, kSeluScale), x));
}

// log(1 + e^x) without overflow: max(x, 0) + log1p(e^-|x|).
Value Softplus(FuncBuilder& b, Value x) {
  return b.Add(Relu(b, x), b.Unary(Op::kLog1p, b.Exp(b.Neg(b.Abs(x)))));
}

Value Softsign(FuncBuilder& b, Value x) { return b.Div(x, b.Add(b.Abs(x), Full(b, x, 1))); }
Value Swish(FuncBuilder& b, Value x) { return b.Mul(x, b.Logistic(x)); }
Value Mish(FuncBuilder& b, Value x) { return b.Mul(x, b.Tanh(Softplus(b, x))); }

Value HardSwish(FuncBuilder& b, Value x) {
  Value gate = Relu6(b, b.Add(x, Full(b, x, 3)));
  return b.Mul(x, b.Mul(gate, Full(b, x, 1.0 / 6)));
}

// x / 2 * (1 + erf(x / sqrt 2))
Value GeluExact(FuncBuilder& b, Value x) {
  Value e = b.Erf(b.Mul(x, Full(b, x, std::sqrt(0.5))));
  return b.Mul(b.Mul(x, Full(b, x, 0.5)), b.Add(e, Full(b, x, 1)));
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
Value GeluApproximate(FuncBuilder& b, Value x) {
  Value cube = b.Mul(x, b.Mul(x, x));
  Value inner = b.Add(x, b.Mul(cube, Full(b, x, 0.044715)));
  Value t = b.Tanh(b.Mul(inner, Full(b, x, std::sqrt(2 / M_PI))));
  return b.Mul(b.Mul(x, Full(b, x, 0.5)), b.Add(t, Full(b, x, 1)));
}

Value Sigmoid(FuncBuilder& b, Value x) { return b.Logistic(x); }
Value Tanh(FuncBuilder& b, Value x) { return b.Tanh(x); }
Value Identity(FuncBuilder&, Value x) { return x; }

const absl::flat_hash_map<absl::string_view, Activation>& Activations() {
  static const auto& map = *new absl::flat_hash_map<absl::string_view, Activation>({
      {"Elu", Elu},
      {"GeluApproximate", GeluApproximate},
      {"GeluExact", GeluExact},
      {"Identity", Identity},
      {"Relu", Relu},
      {"Relu6", Relu6},
      {"Selu", Selu},
      {"Sigmoid", Sigmoid},
      {"Softplus", Softplus},
      {"Softsign", Softsign},
      {"Tanh", Tanh},
      {"_FusedHardSwish", HardSwish},
      {"_MklFusedMish", Mish},
      {"_MklSwish", Swish},
  });
  return map;
}

}  // namespace

std::optional<Value> Activate(FuncBuilder& b, absl::string_view name, Value x, double alpha) {
  if (!x) return x;
  if (name == "LeakyRelu") {
    Value positive = b.Compare(x, b.FullLike(x, 0), "gt");
    return b.Select(positive, x, b.Mul(x, b.FullLike(x, alpha)));
  }
  auto it = Activations().find(name);
  if (it == Activations().end()) return std::nullopt;
  return it->second(b, x);
}

absl::Status ImportActivation(NodeImport& op) {
  Value x = op.Input(0);
  std::optional<Value> y = Activate(op.b(), op.op(), x, op.attrs().Float("alpha", 0.2f));
  if (!y) return op.Refuse("no such activation");
  return op.Return(*y);
}

}  // namespace tektite::importer
