// XLA's own reductions and sorts, whose functions must be an op of the IR.
#include <algorithm>

#include "clustering/importer/import_table.h"
#include "clustering/importer/xla/xla_functions.h"

namespace tektite::importer {
namespace {

using ir::Attr;

// A scalar operand that each result begins with.
absl::StatusOr<Value> InitialValue(NodeImport& op, int input, DType dtype) {
  const Value init = op.Input(input);
  if (!init) return init;
  if (init.shape().rank() != 0 || init.dtype() != dtype) return op.Refuse("the initial value");
  return init;
}

// Whether an input is known to be the reducer's identity, which padding counts as.
bool IsIdentity(const NodeImport& op, int input, absl::string_view reducer) {
  const std::optional<Literal>& literal = op.InputInfo(input).literal;
  if (!literal || literal->num_elements() != 1 || literal->dtype() == DType::kBool) return false;
  return literal->AsDouble(0) == ops::ReducerIdentity(reducer, literal->dtype()).AsDouble(0);
}

// Windows over all dimensions, from the inputs `first` (sizes) and `first` + 1 (strides), and a
// matrix of padding.
absl::Status ReadWindow(NodeImport& op, int first, int padding_input, ops::WindowDims* window) {
  const size_t rank = static_cast<size_t>(op.InputRank(0));
  TEKTITE_ASSIGN_OR_RETURN(window->window, op.RequireInts(first));
  TEKTITE_ASSIGN_OR_RETURN(window->strides, op.RequireInts(first + 1));
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, op.RequireInts(padding_input));
  window->lhs_dilation = window->window_dilation = std::vector<int64_t>(rank, 1);
  if (window->window.size() != rank || window->strides.size() != rank ||
      padding.size() != 2 * rank) {
    return op.Refuse("a window over all dimensions");
  }
  for (size_t i = 0; i < rank; ++i) {
    window->low.push_back(padding[2 * i]);
    window->high.push_back(padding[2 * i + 1]);
  }
  return absl::OkStatus();
}

absl::Status RequireOneShape(NodeImport& op, absl::Span<const Value> operands) {
  for (const Value operand : operands) {
    if (!operand) return op.Refuse(op.b().status().message());
    if (operand.shape().rank() != operands[0].shape().rank()) return op.Refuse("ranks");
    for (int i = 0; i < operand.shape().rank(); ++i) {
      if (!op.b().AssumeEqual(operand.shape().dim(i), operands[0].shape().dim(i))) {
        return op.Refuse("shapes");
      }
    }
  }
  return absl::OkStatus();
}

std::vector<Value> SortBy(FuncBuilder& b, absl::Span<const Value> operands, int64_t dimension,
                          bool descending) {
  return b.AddMulti(Op::kSort, operands,
                    {{Attr::dimension, dimension}, {Attr::descending, descending}});
}

// Integers in the order of floats to XLA's sort: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
Value TotalOrder(FuncBuilder& b, Value x) {
  if (!ir::IsFloat(x.dtype())) return x;
  const int bits = ir::DTypeBytes(x.dtype()) * 8;
  const DType integer = bits == 64 ? DType::kS64 : bits == 32 ? DType::kS32 : DType::kS16;
  Value places = b.Bitcast(x, integer);
  Value sign = b.Binary(Op::kShiftRightArithmetic, places, b.FullLike(places, bits - 1));
  Value most = b.BroadcastTo(b.Constant(Literal::HighestOf(integer)), x.shape().dims());
  return b.Binary(Op::kXor, places, b.Binary(Op::kAnd, sign, most));
}

}  // namespace

// One operand in XlaReduce, a list of one in the other ops.
absl::Status ImportXlaReduce(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.num_inputs() != 2) return op.Refuse("a reduction of several operands");
  TEKTITE_ASSIGN_OR_RETURN(const std::string reducer, RequireReducer(op, "reducer"));
  std::vector<int64_t> dimensions = op.Ints("dimensions_to_reduce");
  std::sort(dimensions.begin(), dimensions.end());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] < 0 || dimensions[i] >= op.InputRank(0) ||
        (i > 0 && dimensions[i] == dimensions[i - 1])) {
      return op.Refuse("dimensions_to_reduce");
    }
  }
  const Value x = op.Input(0);
  if (!x) return op.Return(x);
  TEKTITE_ASSIGN_OR_RETURN(const Value init, InitialValue(op, 1, x.dtype()));
  if (!init) return op.Return(init);
  if (dimensions.empty()) return op.Return(x);  // as XLA, which leaves the initial value out
  const Value reduced = b.Reduce(x, dimensions, reducer);
  if (!reduced) return op.Return(reduced);
  return op.Return(b.BinaryImplicit(ops::ReducerOp(reducer), reduced, init));
}

absl::Status ImportXlaReduceWindow(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::string reducer, RequireReducer(op, "computation"));
  ops::WindowDims window;
  TEKTITE_RETURN_IF_ERROR(ReadWindow(op, 2, 6, &window));
  TEKTITE_ASSIGN_OR_RETURN(window.lhs_dilation, op.RequireInts(4));
  TEKTITE_ASSIGN_OR_RETURN(window.window_dilation, op.RequireInts(5));
  if (!IsIdentity(op, 1, reducer)) return op.Refuse("an initial value that counts");
  const Value x = op.Input(0);
  if (!x) return op.Return(x);
  return op.Return(op.b().ReduceWindow(x, reducer, window));
}

// Adds each number of the source to the element that its window selects: the first largest one.
absl::Status ImportXlaSelectAndScatter(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::string select, RequireBinaryOp(op, "select"));
  TEKTITE_ASSIGN_OR_RETURN(const std::string scatter, RequireReducer(op, "scatter"));
  if (select != "GreaterEqual" || scatter != "add" || !IsIdentity(op, 5, "add")) {
    return op.Refuse("only sums at the largest elements");
  }
  ops::WindowDims window;
  TEKTITE_RETURN_IF_ERROR(ReadWindow(op, 1, 3, &window));
  const Value x = op.Input(0), source = op.Input(4);
  if (!x || !source) return op.Return(Value());
  return op.Return(op.b().AddOne(Op::kSelectAndScatter, {x, source},
                                 {{Attr::window, window.window},
                                  {Attr::strides, window.strides},
                                  {Attr::low, window.low},
                                  {Attr::high, window.high}}));
}

// To as many bits as another type of ours has; rounds to even.
absl::Status ImportXlaReducePrecision(NodeImport& op) {
  const int64_t exponent = op.attrs().Int("exponent_bits", 0);
  const int64_t mantissa = op.attrs().Int("mantissa_bits", 0);
  const Value x = op.Input(0);
  if (!x) return op.Return(x);
  if (x.dtype() != DType::kF32 || exponent != 8 || (mantissa != 7 && mantissa != 23)) {
    return op.Refuse(exponent, " bits of exponent and ", mantissa, " of mantissa of ",
                     ir::DTypeName(x.dtype()));
  }
  FuncBuilder& b = op.b();
  return op.Return(mantissa == 23 ? x : b.Convert(b.Convert(x, DType::kBF16), DType::kF32));
}

// Along the last dimension, ascending; XlaKeyValueSort takes values along.
absl::Status ImportXlaSort(NodeImport& op) {
  if (op.InputRank(0) < 1) return op.Refuse("a scalar");
  std::vector<Value> operands = op.Inputs(0, op.num_inputs());
  TEKTITE_RETURN_IF_ERROR(RequireOneShape(op, operands));
  operands.insert(operands.begin(), TotalOrder(op.b(), operands[0]));
  const std::vector<Value> sorted = SortBy(op.b(), operands, op.InputRank(0) - 1, false);
  return op.Return(absl::MakeConstSpan(sorted).subspan(1));
}

// Along the dimension that the last input names, by the comparison of the first operand's elements.
absl::Status ImportXlaVariadicSort(NodeImport& op) {
  FuncBuilder& b = op.b();
  const int count = op.num_inputs() - 1;
  if (count < 1) return op.Refuse("nothing to sort");
  TEKTITE_ASSIGN_OR_RETURN(const int dimension, op.RequireAxis(count, op.InputRank(0)));
  TEKTITE_ASSIGN_OR_RETURN(const std::string less, RequireBinaryOp(op, "comparator"));
  if (less != "Less" && less != "Greater") return op.Refuse("its function is ", less);
  std::vector<Value> operands = op.Inputs(0, count);
  TEKTITE_RETURN_IF_ERROR(RequireOneShape(op, operands));
  // What XLA's order is where comparisons with NaN are all false is not said anywhere.
  op.Check(b.Compare(operands[0], operands[0], "eq"));
  return op.Return(SortBy(b, operands, dimension, less == "Greater"));
}

}  // namespace tektite::importer
