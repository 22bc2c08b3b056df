// Gradients of elementwise functions.
//
// Where a gradient is masked, it is multiplied by 0 or 1, as TensorFlow does: an infinite gradient
// under a zero mask is NaN.  XLA chooses between the gradient and 0.
#include "absl/container/flat_hash_map.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/activations.h"

namespace tektite::importer {
namespace {

// Gradients of functions of x take (dy, x) or (dy, y); those of functions with names of their own
// in calculus (sigmoid, tanh, sqrt) take (y, dy).  Here always: dy and the other.
using Gradient = Value (*)(FuncBuilder& b, Value dy, Value v);

Value Full(FuncBuilder& b, Value x, double value) { return b.FullLike(x, value); }
Value Masked(FuncBuilder& b, Value dy, Value mask) {
  return b.Mul(dy, b.Convert(mask, dy.dtype()));
}

Value ReluGrad(FuncBuilder& b, Value dy, Value x) {
  return Masked(b, dy, b.Compare(x, Full(b, x, 0), "gt"));
}

Value Relu6Grad(FuncBuilder& b, Value dy, Value x) {
  Value above = b.Compare(x, Full(b, x, 0), "gt"), below = b.Compare(x, Full(b, x, 6), "lt");
  return Masked(b, dy, b.Binary(Op::kAnd, above, below));
}

Value EluGrad(FuncBuilder& b, Value dy, Value y) {
  Value negative = b.Compare(y, Full(b, y, 0), "lt");
  return b.Select(negative, b.Mul(b.Add(y, Full(b, y, 1)), dy), dy);
}

Value SeluGrad(FuncBuilder& b, Value dy, Value y) {
  Value below = b.Mul(dy, b.Add(y, Full(b, y, kSeluScaleAlpha)));
  Value above = b.Mul(dy, Full(b, y, kSeluScale));
  return b.Select(b.Compare(y, Full(b, y, 0), "lt"), below, above);
}

Value XlaReluGrad(FuncBuilder& b, Value dy, Value x) {
  return b.Select(b.Compare(x, Full(b, x, 0), "gt"), dy, Full(b, dy, 0));
}

Value XlaRelu6Grad(FuncBuilder& b, Value dy, Value x) {
  Value above = b.Compare(x, Full(b, x, 0), "gt"), below = b.Compare(x, Full(b, x, 6), "lt");
  return b.Select(b.Binary(Op::kAnd, above, below), dy, Full(b, dy, 0));
}

Value XlaEluGrad(FuncBuilder& b, Value dy, Value y) {
  Value positive = b.Compare(y, Full(b, y, 0), "gt");
  return b.Select(positive, dy, b.Mul(b.Add(y, Full(b, y, 1)), dy));
}

Value XlaSeluGrad(FuncBuilder& b, Value dy, Value y) {
  Value below = b.Mul(dy, b.Add(y, Full(b, y, kSeluScaleAlpha)));
  Value above = b.Mul(dy, Full(b, y, kSeluScale));
  return b.Select(b.Compare(y, Full(b, y, 0), "gt"), above, below);
}

// No 0 of theirs is kept from an infinite slope.
Value XlaSqrtGrad(FuncBuilder& b, Value dy, Value y) {
  return b.Div(b.Mul(dy, Full(b, dy, 0.5)), y);
}

Value XlaRsqrtGrad(FuncBuilder& b, Value dy, Value y) {
  return b.Mul(b.Mul(b.Mul(y, y), y), b.Mul(dy, Full(b, dy, -0.5)));
}

Value XlaReciprocalGrad(FuncBuilder& b, Value dy, Value y) { return b.Mul(b.Neg(b.Mul(y, y)), dy); }

Value SoftplusGrad(FuncBuilder& b, Value dy, Value x) {
  return b.Div(dy, b.Add(b.Exp(b.Neg(x)), Full(b, x, 1)));
}

Value SoftsignGrad(FuncBuilder& b, Value dy, Value x) {
  Value root = b.Add(Full(b, x, 1), b.Abs(x));
  return b.Div(dy, b.Mul(root, root));
}

Value SigmoidGrad(FuncBuilder& b, Value dy, Value y) {
  return b.Mul(dy, b.Mul(y, b.Sub(Full(b, y, 1), y)));
}

Value TanhGrad(FuncBuilder& b, Value dy, Value y) {
  return b.Mul(dy, b.Sub(Full(b, y, 1), b.Mul(y, y)));
}

// Where nothing comes in nothing goes out, whatever the slope: the square root's is infinite at 0.
Value ZeroWhereZero(FuncBuilder& b, Value dy, Value dx) {
  const Value zero = Full(b, dy, 0);
  return b.Select(b.Compare(dy, zero, "eq"), zero, dx);
}

Value SqrtGrad(FuncBuilder& b, Value dy, Value y) {
  return ZeroWhereZero(b, dy, b.Mul(dy, b.Div(Full(b, y, 0.5), y)));
}

Value RsqrtGrad(FuncBuilder& b, Value dy, Value y) {
  return ZeroWhereZero(b, dy, b.Mul(b.Mul(b.Mul(dy, y), Full(b, y, -0.5)), b.Mul(y, y)));
}

Value ReciprocalGrad(FuncBuilder& b, Value dy, Value y) {
  return ZeroWhereZero(b, dy, b.Mul(b.Neg(dy), b.Mul(y, y)));
}

const absl::flat_hash_map<absl::string_view, Gradient>& Gradients() {
  static const auto& map = *new absl::flat_hash_map<absl::string_view, Gradient>({
      {"EluGrad", EluGrad},
      {"InvGrad", ReciprocalGrad},
      {"ReciprocalGrad", ReciprocalGrad},
      {"Relu6Grad", Relu6Grad},
      {"ReluGrad", ReluGrad},
      {"RsqrtGrad", RsqrtGrad},
      {"SeluGrad", SeluGrad},
      {"SigmoidGrad", SigmoidGrad},
      {"SoftplusGrad", SoftplusGrad},
      {"SoftsignGrad", SoftsignGrad},
      {"SqrtGrad", SqrtGrad},
      {"TanhGrad", TanhGrad},
  });
  return map;
}

const absl::flat_hash_map<absl::string_view, Gradient>& XlaGradients() {
  static const auto& map = *new absl::flat_hash_map<absl::string_view, Gradient>({
      {"EluGrad", XlaEluGrad},
      {"InvGrad", XlaReciprocalGrad},
      {"ReciprocalGrad", XlaReciprocalGrad},
      {"Relu6Grad", XlaRelu6Grad},
      {"ReluGrad", XlaReluGrad},
      {"RsqrtGrad", XlaRsqrtGrad},
      {"SeluGrad", XlaSeluGrad},
      {"SqrtGrad", XlaSqrtGrad},
  });
  return map;
}

bool GradientComesSecond(absl::string_view op) {
  return op == "InvGrad" || op == "ReciprocalGrad" || op == "RsqrtGrad" || op == "SigmoidGrad" ||
         op == "SqrtGrad" || op == "TanhGrad";
}

}  // namespace

absl::Status ImportActivationGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  bool second = GradientComesSecond(op.op());
  Value dy = op.Input(second ? 1 : 0), v = op.Input(second ? 0 : 1);
  if (!dy || !v) return op.Return(Value());
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 1));
  if (op.op() == "LeakyReluGrad") {
    Value below = b.Mul(dy, b.FullLike(dy, op.attrs().Float("alpha", 0.2f)));
    return op.Return(b.Select(b.Compare(v, b.FullLike(v, 0), "gt"), dy, below));
  }
  if (op.scope().for_xla) {
    auto xlas = XlaGradients().find(op.op());
    if (xlas != XlaGradients().end()) return op.Return(xlas->second(b, dy, v));
  }
  auto it = Gradients().find(op.op());
  if (it == Gradients().end()) return op.Refuse("no such gradient");
  return op.Return(it->second(b, dy, v));
}

}  // namespace tektite::importer
