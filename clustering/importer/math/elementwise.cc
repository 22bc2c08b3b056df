// Elementwise ops of one, two or three operands, comparisons, and type changes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "clustering/importer/control/tensor_lists.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/activations.h"
#include "clustering/importer/xla/xla_values.h"

namespace tektite::importer {
namespace {

using OpMap = absl::flat_hash_map<absl::string_view, Op>;

const OpMap& SimpleUnaries() {
  static const auto& map = *new OpMap({
      {"Abs", Op::kAbs},          {"Acos", Op::kAcos},         {"Acosh", Op::kAcosh},
      {"Asin", Op::kAsin},        {"Asinh", Op::kAsinh},       {"Atan", Op::kAtan},
      {"Atanh", Op::kAtanh},      {"Ceil", Op::kCeil},         {"Cos", Op::kCos},
      {"Cosh", Op::kCosh},        {"Erf", Op::kErf},           {"Erfc", Op::kErfc},
      {"Exp", Op::kExp},          {"Expm1", Op::kExpm1},       {"Floor", Op::kFloor},
      {"Invert", Op::kNot},       {"IsFinite", Op::kIsFinite}, {"Log", Op::kLog},
      {"Log1p", Op::kLog1p},      {"LogicalNot", Op::kNot},    {"Neg", Op::kNeg},
      {"Rint", Op::kRoundEven},   {"Round", Op::kRoundEven},   {"Rsqrt", Op::kRsqrt},
      {"Sigmoid", Op::kLogistic}, {"Sign", Op::kSign},         {"Sin", Op::kSin},
      {"Sinh", Op::kSinh},        {"Sqrt", Op::kSqrt},         {"Tan", Op::kTan},
      {"Tanh", Op::kTanh},
  });
  return map;
}

const OpMap& SimpleBinaries() {
  static const auto& map = *new OpMap({
      {"Add", Op::kAdd},
      {"AddV2", Op::kAdd},
      {"Atan2", Op::kAtan2},
      {"BitwiseAnd", Op::kAnd},
      {"BitwiseOr", Op::kOr},
      {"BitwiseXor", Op::kXor},
      {"LogicalAnd", Op::kAnd},
      {"LogicalOr", Op::kOr},
      {"Maximum", Op::kMax},
      {"Minimum", Op::kMin},
      {"Mul", Op::kMul},
      {"RealDiv", Op::kDiv},
      {"Sub", Op::kSub},
  });
  return map;
}

// TensorFlow 2.21 registers Round for integers, too, where it gives zeros.
bool RoundsFloats(absl::string_view op) {
  return op == "Ceil" || op == "Floor" || op == "Rint" || op == "Round";
}

// The operand made one type and shape with its partner, for formulas that need both whole.
struct Pair {
  Value x, y;
};
absl::StatusOr<Pair> Broadcast(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value x = op.Input(0), y = op.Input(1);
  if (!x || !y || x.shape() == y.shape()) return Pair{x, y};
  Value both = b.CompareImplicit(x, y, "eq");  // only for its shape: dead when done
  if (!both) return op.Refuse(b.status().message());
  return Pair{b.BroadcastTo(x, both.shape().dims()), b.BroadcastTo(y, both.shape().dims())};
}

// TensorFlow raises an error when an integer divisor is zero.
void CheckDivisor(NodeImport& op) {
  if (op.KnownAll(1, [](int64_t v) { return v != 0; })) return;
  Value y = op.Input(1);
  if (y) op.Check(op.b().Compare(y, op.b().FullLike(y, 0), "ne"));
}

// Remainder and divisor have different signs, so that rounding down differs from truncation.
Value NeedsFloorFix(FuncBuilder& b, Value remainder, Value y) {
  Value zero = b.FullLike(remainder, 0);
  Value opposite = b.Compare(b.Compare(remainder, zero, "lt"), b.Compare(y, zero, "lt"), "ne");
  return b.Binary(Op::kAnd, b.Compare(remainder, zero, "ne"), opposite);
}

Value IntegerFloorDiv(FuncBuilder& b, Value x, Value y) {
  Value quotient = b.Binary(Op::kDiv, x, y);
  if (ir::IsUnsigned(x.dtype())) return quotient;
  Value fix = NeedsFloorFix(b, b.Binary(Op::kRem, x, y), y);
  return b.Sub(quotient, b.Convert(fix, x.dtype()));
}

Value FloorMod(FuncBuilder& b, Value x, Value y) {
  Value remainder = b.Binary(Op::kRem, x, y);
  if (ir::IsUnsigned(x.dtype())) return remainder;
  return b.Select(NeedsFloorFix(b, remainder, y), b.Add(remainder, y), remainder);
}

absl::Status ImportDivision(NodeImport& op) {
  const std::string& name = op.op();
  bool integer = ir::IsInteger(op.InputDType(0));
  FuncBuilder& b = op.b();
  if (integer) CheckDivisor(op);
  TEKTITE_ASSIGN_OR_RETURN(Pair p, Broadcast(op));
  if (!p.x || !p.y) return op.Return(Value());
  if (name == "FloorMod") return op.Return(FloorMod(b, p.x, p.y));
  if (name == "Mod" || name == "TruncateMod") return op.Return(b.Binary(Op::kRem, p.x, p.y));
  if (name == "FloorDiv") {
    if (integer) return op.Return(IntegerFloorDiv(b, p.x, p.y));
    return op.Return(b.Unary(Op::kFloor, b.Binary(Op::kDiv, p.x, p.y)));
  }
  Value quotient = b.Binary(Op::kDiv, p.x, p.y);
  if (name != "TruncateDiv" || integer) return op.Return(quotient);
  Value is_negative = b.Compare(quotient, b.FullLike(quotient, 0), "lt");
  return op.Return(
      b.Select(is_negative, b.Unary(Op::kCeil, quotient), b.Unary(Op::kFloor, quotient)));
}

// A formula that is zero wherever `operand` is, whatever the rest says.
absl::Status ImportZeroWins(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Pair p, Broadcast(op));
  if (!p.x || !p.y) return op.Return(Value());
  FuncBuilder& b = op.b();
  const std::string& name = op.op();
  Value decides = name == "DivNoNan" || name == "MulNoNan" ? p.y : p.x;
  Value result;
  if (name == "DivNoNan" || name == "Xdivy") {
    result = b.Div(p.x, p.y);
  } else if (name == "MulNoNan") {
    result = b.Mul(p.x, p.y);
  } else {
    result = b.Mul(p.x, name == "Xlogy" ? b.Log(p.y) : b.Unary(Op::kLog1p, p.y));
  }
  // 0 of the sign that x has, but for the two that divide and multiply.
  Value zero = b.FullLike(result, 0), none = name[0] == 'X' ? p.x : zero;
  return op.Return(b.Select(b.Compare(decides, zero, "eq"), none, result));
}

// Shifting by the width or more is shifting by the width less one.
absl::Status ImportShift(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Pair p, Broadcast(op));
  if (!p.x || !p.y) return op.Return(Value());
  FuncBuilder& b = op.b();
  if (op.scope().for_xla) return op.Return(XlaShift(b, p.x, p.y, op.op() == "LeftShift"));
  int bits = 8 * ir::DTypeBytes(p.x.dtype());
  Value by = b.Clamp(b.FullLike(p.y, 0), p.y, b.FullLike(p.y, bits - 1));
  if (op.op() == "LeftShift") return op.Return(b.Binary(Op::kShiftLeft, p.x, by));
  bool arithmetic = ir::IsSigned(p.x.dtype());
  return op.Return(
      b.Binary(arithmetic ? Op::kShiftRightArithmetic : Op::kShiftRightLogical, p.x, by));
}

// Integers by repeated squaring; TensorFlow refuses negative exponents of integers.
absl::Status ImportPow(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (ir::IsFloat(op.InputDType(0))) {
    const Value base = op.Input(0);
    const bool is_rewritten = base && (base.node->op() == Op::kExp || base.node->op() == Op::kPow);
    if (op.scope().for_xla && is_rewritten) return op.Refuse("XLA rewrites pow(exp) and pow(pow)");
    Value rewritten = op.scope().for_xla ? XlaPow(b, base, op.Input(1)) : Value();
    if (rewritten) return op.Return(rewritten);
    return op.Return(b.BinaryImplicit(Op::kPow, op.Input(0), op.Input(1)));
  }
  TEKTITE_ASSIGN_OR_RETURN(int64_t exponent, op.RequireInt(1));
  if (exponent < 0) return op.Refuse("exponent ", exponent);
  if (op.InputRank(1) > op.InputRank(0)) return op.Refuse("exponent of a higher rank");
  Value power = op.Input(0);
  if (!power) return op.Return(power);
  Value result = b.FullLike(power, 1);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = b.Mul(result, power);
    power = b.Mul(power, power);
  }
  return op.Return(result);
}

// Null where XLA has the ordinary form.
Value RewrittenForXla(NodeImport& op) {
  FuncBuilder& b = op.b();
  const std::string& name = op.op();
  const bool is_extreme = name == "Maximum" || name == "Minimum";
  const bool is_product = name == "Mul" || name == "RealDiv" || name == "Div";
  const bool is_sum = name == "Add" || name == "AddV2" || name == "Sub";
  if ((!is_extreme && !is_product && !is_sum) || !ir::IsFloat(op.InputDType(0))) return {};
  Value x = op.Input(0), y = op.Input(1);
  if (is_sum) return XlaSum(b, x, y, name == "Sub");
  if (is_extreme) return XlaExtreme(b, x, y, name == "Maximum" ? "lt" : "gt");
  return name == "Mul" ? XlaMul(b, x, y) : XlaDiv(b, x, y);
}

// The next number from x towards y: the bits of a float count its distance from 0.
absl::Status ImportNextAfter(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Pair p, Broadcast(op));
  if (!p.x || !p.y) return op.Return(Value());
  FuncBuilder& b = op.b();
  const DType dtype = p.x.dtype();
  if (dtype != DType::kF32 && dtype != DType::kF64) return op.Refuse(ir::DTypeName(dtype));
  // All of it as integers: a thread that takes denormals for 0 keeps those.
  const DType whole = dtype == DType::kF32 ? DType::kS32 : DType::kS64;
  Value zero = b.FullLike(p.x, 0), bits = b.Bitcast(p.x, whole);
  Value one = b.FullLike(bits, 1);
  Value grows = b.Compare(b.Compare(p.x, p.y, "lt"), b.Compare(p.x, zero, "gt"), "eq");
  Value next = b.Select(grows, b.Add(bits, one), b.Sub(bits, one));
  // Beside 0 lies the least number of either sign.
  Value lowest = b.BroadcastTo(b.Constant(Literal::LowestOf(whole)), p.x.shape().dims());
  Value least = b.Select(b.Compare(p.y, zero, "lt"), b.Add(lowest, one), one);
  next = b.Select(b.Compare(p.x, zero, "eq"), least, next);
  next = b.Select(b.Compare(p.x, p.y, "eq"), b.Bitcast(p.y, whole), next);
  Value ordered = b.Binary(Op::kAnd, b.Compare(p.x, p.x, "eq"), b.Compare(p.y, p.y, "eq"));
  Value none = b.Bitcast(b.Add(p.x, p.y), whole);
  return op.Return(b.Bitcast(b.Select(ordered, next, none), dtype));
}

}  // namespace

absl::Status ImportUnary(NodeImport& op) {
  const std::string& name = op.op();
  FuncBuilder& b = op.b();
  if (RoundsFloats(name) && !ir::IsFloat(op.InputDType(0))) return op.Refuse("integers");
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  if (name == "Sign" && ir::IsFloat(x.dtype())) {
    return op.Return(b.Add(b.Unary(Op::kSign, x), b.FullLike(x, 0)));  // 0 for -0
  }
  if (op.scope().for_xla) {
    Value rewritten = name == "Sqrt" ? XlaSqrt(b, x) : name == "Log" ? XlaLog(b, x) : Value();
    if (name == "Log" && x.node->op() == Op::kPow) return op.Refuse("XLA rewrites log(pow)");
    if (rewritten) return op.Return(rewritten);
  }
  auto simple = SimpleUnaries().find(name);
  if (simple != SimpleUnaries().end()) return op.Return(b.Unary(simple->second, x));
  if (name == "Square") return op.Return(b.Mul(x, x));
  if (name == "IsNan") return op.Return(b.Compare(x, x, "ne"));
  if (name == "IsInf") {
    double infinity = std::numeric_limits<double>::infinity();
    return op.Return(b.Compare(b.Abs(x), b.FullLike(x, infinity), "eq"));
  }
  if (name == "Inv" || name == "Reciprocal") {
    const Value one = b.FullLike(x, 1);
    Value rewritten = op.scope().for_xla && ir::IsFloat(x.dtype()) ? XlaDiv(b, one, x) : Value();
    return op.Return(rewritten ? rewritten : b.Div(one, x));
  }
  return op.Refuse("no such function");
}

absl::Status ImportBinary(NodeImport& op) {
  const std::string& name = op.op();
  if (op.scope().for_xla) {
    Value rewritten = RewrittenForXla(op);
    if (rewritten) return op.Return(rewritten);
  }
  auto simple = SimpleBinaries().find(name);
  if (simple != SimpleBinaries().end()) {
    return op.Return(op.b().BinaryImplicit(simple->second, op.Input(0), op.Input(1)));
  }
  if (name == "SquaredDifference") {
    Value difference = op.b().Sub(op.Input(0), op.Input(1));
    return op.Return(op.b().Mul(difference, difference));
  }
  if (name == "Pow") return ImportPow(op);
  if (name == "NextAfter") return ImportNextAfter(op);
  if (name == "LeftShift" || name == "RightShift") return ImportShift(op);
  if (name == "DivNoNan" || name == "MulNoNan" || name[0] == 'X') return ImportZeroWins(op);
  return ImportDivision(op);
}

absl::Status ImportCompare(NodeImport& op) {
  static const auto& directions =
      *new absl::flat_hash_map<absl::string_view, absl::string_view>({{"Equal", "eq"},
                                                                      {"Greater", "gt"},
                                                                      {"GreaterEqual", "ge"},
                                                                      {"Less", "lt"},
                                                                      {"LessEqual", "le"},
                                                                      {"NotEqual", "ne"}});
  FuncBuilder& b = op.b();
  auto it = directions.find(op.op());
  if (it != directions.end()) {
    return op.Return(b.CompareImplicit(op.Input(0), op.Input(1), it->second));
  }
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 1));        // others broadcast
  Value distance = b.Abs(b.Sub(op.Input(0), op.Input(1)));  // ApproximateEqual
  if (!distance) return op.Return(distance);
  Value tolerance = b.FullLike(distance, op.attrs().Float("tolerance", 1e-5f));
  // TensorFlow documents "less", and takes equal distances in.
  return op.Return(b.Compare(distance, tolerance, op.scope().for_xla ? "lt" : "le"));
}

absl::Status ImportAddN(NodeImport& op) {
  if (op.InputInfo(0).list) return ImportListAddN(op);
  Value sum = op.Input(0);
  for (int i = 1; i < op.num_inputs(); ++i) {
    TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, i));
    sum = op.b().Add(sum, op.Input(i));
  }
  return op.Return(sum);
}

// NaN stays what it is, and as a bound it is none.  A bound is a scalar or has x's shape.
absl::Status ImportClipByValue(NodeImport& op) {
  FuncBuilder& b = op.b();
  for (const int bound : {1, 2}) {
    if (op.InputRank(bound) > 0) TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, bound));
  }
  Value x = op.Input(0), low = op.Input(1), high = op.Input(2);
  if (!ir::IsFloat(op.InputDType(0))) return op.Return(b.Max(b.Min(x, high), low));
  if (!x || !low || !high) return op.Return(Value());
  x = b.SelectImplicit(b.CompareImplicit(x, high, "gt"), high, x);
  return op.Return(b.SelectImplicit(b.CompareImplicit(x, low, "lt"), low, x));
}

// Select's condition is a scalar, has the other operands' one shape, or is a vector that chooses
// whole rows; SelectV2 broadcasts.
absl::Status ImportSelect(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.op() == "Select") TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(1, 2));
  Value condition = op.Input(0), on_true = op.Input(1), on_false = op.Input(2);
  if (!condition || !on_true || !on_false) return op.Return(Value());
  bool by_row = op.op() == "Select" && op.InputRank(0) == 1 && op.InputRank(1) > 1;
  if (by_row) {
    const Dims& dims = on_true.shape().dims();
    if (!b.AssumeEqual(condition.shape().dim(0), dims[0])) return op.Return(Value());
    condition = b.BroadcastInDim(condition, dims, {0});
  } else if (op.op() == "Select" && op.InputRank(0) > 0) {
    TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 1));
  }
  return op.Return(b.SelectImplicit(condition, on_true, on_false));
}

absl::Status ImportCast(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(DType to, op.Type("DstT", DType::kF32));
  DType from = op.InputDType(0);
  if (from == to) return op.Forward(0);
  bool narrows = ir::IsFloat(from) && ir::IsFloat(to) && ir::DTypeBytes(to) < ir::DTypeBytes(from);
  if (narrows && op.attrs().Bool("Truncate", false)) return op.Refuse("truncation of floats");
  Value x = op.Input(0);
  if (x && to == DType::kBool) return op.Return(op.b().Compare(x, op.b().FullLike(x, 0), "ne"));
  if (op.scope().for_xla && ir::IsFloat(from) && ir::IsInteger(to)) {
    return op.Return(XlaFloatToInteger(op.b(), x, to));
  }
  return op.Return(op.b().Convert(x, to));
}

// Of a scalar, whether it is not 0; of another tensor, whether it has elements.
absl::Status ImportToBool(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value x =
      op.InputRank(0) == 0 ? op.Input(0) : op.DimValue(op.InputShape(0).NumElements(), DType::kS64);
  if (!x || x.dtype() == DType::kBool) return op.Return(x);
  return op.Return(b.Compare(x, b.FullLike(x, 0), "ne"));
}

absl::Status ImportPopulationCount(NodeImport& op) {
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  return op.Return(op.b().Convert(op.b().Unary(Op::kPopcnt, x), DType::kU8));
}

absl::Status ImportBitcast(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(DType to, op.Type("type", DType::kF32));
  DType from = op.InputDType(0);
  if (ir::DTypeBytes(from) != ir::DTypeBytes(to)) {
    return op.Refuse(ir::DTypeName(from), " and ", ir::DTypeName(to), " differ in width");
  }
  return op.Return(op.b().Bitcast(op.Input(0), to));
}

// Of vectors of three along the last dimension.
absl::Status ImportCross(NodeImport& op) {
  const int last = op.InputRank(0) - 1;
  if (last < 0 || op.InputRank(1) != last + 1) return op.Refuse("ranks");
  FuncBuilder& b = op.b();
  for (int i = 0; i <= last; ++i) {
    const Dim &x = op.InputDims(0)[i], &y = op.InputDims(1)[i];
    const Dim& wanted = i == last ? Dim(3) : x;
    for (const Dim& given : {x, y}) {
      if (given == wanted) continue;
      if (given.is_constant() && wanted.is_constant()) return op.Refuse("sizes");
      b.AssumeEqual(given, wanted);
    }
  }
  Value x = op.Input(0), y = op.Input(1);
  if (!x || !y) return op.Return(Value());
  const auto part = [&](Value v, int i) { return b.SliceDim(v, last, Dim(i % 3), Dim(i % 3 + 1)); };
  std::vector<Value> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(
        b.Sub(b.Mul(part(x, i + 1), part(y, i + 2)), b.Mul(part(x, i + 2), part(y, i + 1))));
  }
  return op.Return(b.Concatenate(parts, last));
}

// A chain of unary ops that TensorFlow's own optimizer has put into one node.
absl::Status ImportUnaryOpsComposition(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  for (const std::string& name : op.Strings("op_names")) {
    auto it = SimpleUnaries().find(name);
    if (it != SimpleUnaries().end()) {
      x = b.Unary(it->second, x);
    } else if (name == "Square") {
      x = b.Mul(x, x);
    } else if (name == "Inv" || name == "Reciprocal") {
      x = x ? b.Div(b.FullLike(x, 1), x) : x;
    } else {
      std::optional<Value> y = Activate(b, name, x);
      if (!y) return op.Refuse("no function '", name, "'");
      x = *y;
    }
  }
  return op.Return(x);
}

}  // namespace tektite::importer
