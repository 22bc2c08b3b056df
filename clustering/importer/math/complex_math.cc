// Formulas of complex numbers: parts, magnitudes, quotients, and some functions.
#include <limits>
#include <utility>

#include "clustering/importer/import_table.h"
#include "clustering/importer/math/complex.h"

namespace tektite::importer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Parts PartsOf(NodeImport& op, int i) { return {op.RealPart(i), op.ImaginaryPart(i)}; }

Value IsInf(FuncBuilder& b, Value x) { return b.Compare(b.Abs(x), b.FullLike(x, kInfinity), "eq"); }

// sqrt(re^2 + im^2) in double: a square of an f32 neither overflows there nor is rounded.  An
// infinity wins over NaN.
Value WideMagnitude(FuncBuilder& b, Parts x) {
  const Value infinite = b.Binary(Op::kOr, IsInf(b, x.re), IsInf(b, x.im));
  Value length;
  if (x.re.dtype() == DType::kF64) {
    const Value re = b.Abs(x.re), im = b.Abs(x.im);
    const Value most = b.Max(re, im), ratio = b.Div(b.Min(re, im), most);
    length = b.Mul(most, b.Sqrt(b.Add(b.FullLike(most, 1), b.Mul(ratio, ratio))));
    length = b.Select(b.Compare(most, b.FullLike(most, 0), "eq"), most, length);
  } else {
    const Value re = b.Convert(x.re, DType::kF64), im = b.Convert(x.im, DType::kF64);
    length = b.Sqrt(b.Add(b.Mul(re, re), b.Mul(im, im)));
  }
  return b.Select(infinite, b.FullLike(length, kInfinity), length);
}

// x / y, with y scaled to 1 so that its square neither overflows nor vanishes.
Parts Quotient(FuncBuilder& b, Parts x, Parts y) {
  const Value scale = b.Max(b.Abs(y.re), b.Abs(y.im));
  y = {b.Div(y.re, scale), b.Div(y.im, scale)};
  const Value square = b.Add(b.Mul(y.re, y.re), b.Mul(y.im, y.im));
  const Value re = b.Add(b.Mul(x.re, y.re), b.Mul(x.im, y.im));
  const Value im = b.Sub(b.Mul(x.im, y.re), b.Mul(x.re, y.im));
  return {b.Div(b.Div(re, square), scale), b.Div(b.Div(im, square), scale)};
}

Value IsZero(FuncBuilder& b, Parts x) {
  const Value zero = b.FullLike(x.re, 0);
  return b.Binary(Op::kAnd, b.Compare(x.re, zero, "eq"), b.Compare(x.im, zero, "eq"));
}

// e^re * (cos im + i sin im).  Where the length is 0 or infinite and nothing tells the direction,
// it still decides: 0, or an infinite real part, of the sign that TensorFlow's vector code has.
Parts Exp(FuncBuilder& b, Parts x) {
  const Value length = b.Exp(x.re), zero = b.FullLike(x.re, 0);
  Value re = b.Mul(length, b.Unary(Op::kCos, x.im)), im = b.Mul(length, b.Unary(Op::kSin, x.im));
  const Value no_direction = b.Not(b.Unary(Op::kIsFinite, x.im));
  const Value vanishes = b.Compare(x.re, b.FullLike(x.re, -kInfinity), "eq");
  const Value nothing = b.Binary(Op::kAnd, no_direction, vanishes);
  const Value endless = b.Compare(x.re, b.FullLike(x.re, kInfinity), "eq");
  Value most = b.FullLike(x.re, kInfinity);
  if (x.re.dtype() == DType::kF32) {
    most = b.Select(b.Compare(x.im, zero, "lt"), b.FullLike(x.re, -kInfinity), most);
  }
  re = b.Select(b.Binary(Op::kAnd, no_direction, endless), most, b.Select(nothing, zero, re));
  im = b.Select(nothing, zero, im);
  const Value real = b.Compare(x.im, zero, "eq");  // exp(inf) is real, too
  return {re, b.Select(real, x.im, im)};
}

// The root to the right of the imaginary axis.
Parts Sqrt(FuncBuilder& b, Parts x) {
  const DType dtype = x.re.dtype();
  const Value length = WideMagnitude(b, x);
  const Value re = b.Convert(x.re, length.dtype()), im = b.Convert(x.im, length.dtype());
  const Value more = b.Sqrt(b.Mul(b.FullLike(re, 0.5), b.Add(length, b.Abs(re))));
  const Value zero = b.FullLike(re, 0);
  Value less = b.Div(b.Abs(im), b.Add(more, more));
  less = b.Select(b.Compare(more, zero, "eq"), zero, less);
  const Value right = b.Compare(re, zero, "ge");
  const Value height = b.Select(right, less, more);
  const DType bits = length.dtype() == DType::kF64 ? DType::kS64 : DType::kS32;
  const Value sign = b.Bitcast(im, bits);
  const Value below = b.Compare(sign, b.FullLike(sign, 0), "lt");  // -0, too
  // Far up or down both parts are infinite, whatever the real part is, NaN too.
  const Value far = IsInf(b, im);
  const Value root = b.Select(far, length, b.Select(right, more, less));
  const Value up = b.Select(far, im, b.Select(below, b.Neg(height), height));
  return {b.Convert(root, dtype), b.Convert(up, dtype)};
}

}  // namespace

absl::Status ImportComplexPart(NodeImport& op) {
  return op.Return(op.op() == "Real" ? op.RealPart(0) : op.ImaginaryPart(0));
}

absl::Status ImportComplex(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value re = op.Input(0), im = op.Input(1);
  if (!re || !im) return op.Return(Value());
  if (re.shape() != im.shape()) {
    const Value both = b.CompareImplicit(re, im, "eq");  // only for its shape: dead when done
    if (!both) return op.Return(both);
    re = b.BroadcastTo(re, both.shape().dims());
    im = b.BroadcastTo(im, both.shape().dims());
  }
  return op.ReturnComplex(re, im);
}

absl::Status ImportConj(NodeImport& op) {
  if (!op.InputInfo(0).is_complex) return op.Forward(0);
  const Parts x = PartsOf(op, 0);
  if (!x.re || !x.im) return op.Return(Value());
  return op.ReturnComplex(x.re, op.b().Neg(x.im));
}

absl::Status ImportComplexAbs(NodeImport& op) {
  const Parts x = PartsOf(op, 0);
  if (!x.re || !x.im) return op.Return(Value());
  return op.Return(op.b().Convert(WideMagnitude(op.b(), x), x.re.dtype()));
}

absl::Status ImportAngle(NodeImport& op) {
  const Parts x = PartsOf(op, 0);
  if (!x.re || !x.im) return op.Return(Value());
  return op.Return(op.b().Binary(Op::kAtan2, x.im, x.re));
}

absl::Status ImportComplexCast(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const DType to, op.Type("DstT", DType::kF32));
  if (to == DType::kBool) return op.Refuse("complex numbers as bool");
  FuncBuilder& b = op.b();
  if (!graph_def::PartType(op.attrs().Type("DstT"))) {
    return op.Return(b.Convert(op.RealPart(0), to));
  }
  if (op.InputDType(0) == DType::kBool) return op.Refuse("bool as complex numbers");
  const Parts x = PartsOf(op, 0);
  if (!x.re || !x.im) return op.Return(Value());
  return op.ReturnComplex(b.Convert(x.re, to), b.Convert(x.im, to));
}

absl::Status ImportComplexUnary(NodeImport& op) {
  FuncBuilder& b = op.b();
  const Parts x = PartsOf(op, 0);
  if (!x.re || !x.im) return op.Return(Value());
  const std::string& name = op.op();
  Parts result;
  if (name == "Exp") {
    result = Exp(b, x);
  } else if (name == "Sqrt") {
    result = Sqrt(b, x);
  } else if (name == "Square") {
    const Value product = b.Mul(x.re, x.im);
    result = {b.Sub(b.Mul(x.re, x.re), b.Mul(x.im, x.im)), b.Add(product, product)};
  } else if (name == "Log") {
    // Near 1 the magnitude of an f64 has not enough digits.
    if (x.re.dtype() == DType::kF64) return op.Refuse("complex numbers of 128 bits");
    result = {b.Convert(b.Log(WideMagnitude(b, x)), DType::kF32), b.Binary(Op::kAtan2, x.im, x.re)};
  } else {  // Inv, Reciprocal
    result = Quotient(b, {b.FullLike(x.re, 1), b.FullLike(x.re, 0)}, x);
  }
  return op.ReturnComplex(result.re, result.im);
}

absl::Status ImportComplexQuotient(NodeImport& op) {
  FuncBuilder& b = op.b();
  Parts x = PartsOf(op, 0), y = PartsOf(op, 1);
  if (!x.re || !x.im || !y.re || !y.im) return op.Return(Value());
  const Value shape = b.CompareImplicit(x.re, y.re, "eq");  // only for that
  if (!shape) return op.Return(shape);
  for (Value* part : {&x.re, &x.im, &y.re, &y.im}) {
    *part = b.BroadcastTo(*part, shape.shape().dims());
  }
  Parts result = Quotient(b, x, y);
  if (op.op() == "DivNoNan") {
    const Value none = IsZero(b, y), zero = b.FullLike(x.re, 0);
    result = {b.Select(none, zero, result.re), b.Select(none, zero, result.im)};
  }
  return op.ReturnComplex(result.re, result.im);
}

}  // namespace tektite::importer
