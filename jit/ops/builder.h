// FuncBuilder: builds a graph op by op, with shapes inferred on the way.
// Example() -> absl::StatusOr<std::unique_ptr<Graph>>:
//   FuncBuilder b("softmax");
//   Value x = b.Parameter(Shape(DType::kF32, {Dim::Symbol("n"), 10}), "x");
//   Value max = b.Reduce(x, {1}, "max");
//   Value e = b.Exp(b.Sub(x, b.BroadcastInDim(max, x.shape().dims(), {0})));
//   Value sum = b.Reduce(e, {1}, "add");
//   b.Return({b.Div(e, b.BroadcastInDim(sum, x.shape().dims(), {0}))});
//   return b.Build();
//
// Errors: the first one is kept and every later call returns a null Value, so that a chain of calls
// needs one check at its end (status() or Build()).  Elementwise calls want equal shapes, except
// the *Implicit ones, which broadcast as NumPy does and record guards where sizes are only assumed
// equal.
#ifndef TEKTITE_JIT_OPS_BUILDER_H_
#define TEKTITE_JIT_OPS_BUILDER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ir/graph.h"
#include "jit/ops/names.h"
#include "jit/ops/ops.h"

namespace tektite::ops {

class FuncBuilder {
 public:
  // A graph of its own.
  explicit FuncBuilder(absl::string_view name = "main");
  // Inserts into a graph that it does not own, before `before` (null: at the end).
  FuncBuilder(Graph* graph, Node* before);

  const absl::Status& status() const { return status_; }
  // Records an error if there is none yet; returns a null Value.
  Value Fail(absl::Status status);
  // The graph, after Return; the status if anything failed.  Only for the owning constructor.
  absl::StatusOr<std::unique_ptr<Graph>> Build();
  Graph* graph() const { return graph_; }
  // Nodes made from now on carry this name (a TensorFlow node's).
  void set_name(absl::string_view name) { name_ = std::string(name); }

  Value Parameter(Shape shape, absl::string_view name = "");
  void Return(std::vector<Value> outputs);

  // Any op: operands, attributes, regions -> all results.
  std::vector<Value> AddMulti(Op op, absl::Span<const Value> operands, Attributes attrs = {},
                              std::vector<std::unique_ptr<Graph>> regions = {});
  Value AddOne(Op op, absl::Span<const Value> operands, Attributes attrs = {});  // one result

  // ---- elementwise ----
  Value Unary(Op op, Value x) { return AddOne(op, {x}); }
  Value Binary(Op op, Value a, Value b) { return AddOne(op, {a, b}); }
  // NumPy broadcasting of both operands to their common shape.
  Value BinaryImplicit(Op op, Value a, Value b);
  // direction: "eq", "ne", "lt", "le", "gt", "ge".
  Value Compare(Value a, Value b, absl::string_view direction);
  Value CompareImplicit(Value a, Value b, absl::string_view direction);
  Value Select(Value condition, Value on_true, Value on_false);
  Value SelectImplicit(Value condition, Value on_true, Value on_false);
  Value Clamp(Value low, Value x, Value high) { return AddOne(Op::kClamp, {low, x, high}); }

  Value Abs(Value x) { return Unary(Op::kAbs, x); }
  Value Exp(Value x) { return Unary(Op::kExp, x); }
  Value Log(Value x) { return Unary(Op::kLog, x); }
  Value Neg(Value x) { return Unary(Op::kNeg, x); }
  Value Not(Value x) { return Unary(Op::kNot, x); }
  Value Rsqrt(Value x) { return Unary(Op::kRsqrt, x); }
  Value Sqrt(Value x) { return Unary(Op::kSqrt, x); }
  Value Tanh(Value x) { return Unary(Op::kTanh, x); }
  Value Logistic(Value x) { return Unary(Op::kLogistic, x); }
  Value Erf(Value x) { return Unary(Op::kErf, x); }
  Value Add(Value a, Value b) { return BinaryImplicit(Op::kAdd, a, b); }
  Value Sub(Value a, Value b) { return BinaryImplicit(Op::kSub, a, b); }
  Value Mul(Value a, Value b) { return BinaryImplicit(Op::kMul, a, b); }
  Value Div(Value a, Value b) { return BinaryImplicit(Op::kDiv, a, b); }
  Value Max(Value a, Value b) { return BinaryImplicit(Op::kMax, a, b); }
  Value Min(Value a, Value b) { return BinaryImplicit(Op::kMin, a, b); }

  // ---- constants and type changes ----
  Value Constant(Literal literal);
  // A scalar of `dtype`.
  Value Scalar(DType dtype, double value) { return Constant(Literal::ScalarOf(dtype, value)); }
  // `value` in x's dtype and shape.
  Value FullLike(Value x, double value);
  Value Full(DType dtype, double value, const Dims& dims);
  Value Convert(Value x, DType dtype);  // x itself when it has that type
  Value Bitcast(Value x, DType dtype);

  // ---- data movement ----
  // Operand dimension i becomes result dimension dimensions[i]; size 1 is stretched.
  Value BroadcastInDim(Value x, const Dims& dims, std::vector<int64_t> dimensions);
  // NumPy rules; x itself when nothing changes.
  Value BroadcastTo(Value x, const Dims& dims);
  Value Reshape(Value x, const Dims& dims);  // x itself when nothing changes
  Value Transpose(Value x, std::vector<int64_t> permutation);
  Value Slice(Value x, Dims starts, Dims limits, std::vector<int64_t> strides = {});
  // Rows [start, limit) of one dimension.
  Value SliceDim(Value x, int dimension, const Dim& start, const Dim& limit, int64_t stride = 1);
  Value Concatenate(absl::Span<const Value> xs, int dimension);
  // Padding may be negative; interior puts that many values between neighbours.
  Value Pad(Value x, Value value, std::vector<int64_t> low, std::vector<int64_t> high,
            std::vector<int64_t> interior = {});
  Value Reverse(Value x, std::vector<int64_t> dimensions);
  // The values of the sizes: s64[sizes.size()].
  Value SizeValue(Dims sizes);
  Value Iota(DType dtype, const Dims& dims, int dimension);
  Value DynamicSlice(Value x, absl::Span<const Value> starts, Dims sizes);
  Value DynamicUpdateSlice(Value x, Value update, absl::Span<const Value> starts);

  // ---- reductions ----
  // reducer: "add", "mul", "max", "min", "and", "or".  Reduced dimensions disappear.
  Value Reduce(Value x, std::vector<int64_t> dimensions, absl::string_view reducer);
  // The same with the dimensions kept as size 1.
  Value ReduceKeep(Value x, std::vector<int64_t> dimensions, absl::string_view reducer);
  // Padding counts as the reducer's identity.
  Value ReduceWindow(Value x, absl::string_view reducer, const WindowDims& window);
  Value Cumulative(Value x, int dimension, absl::string_view reducer, bool exclusive, bool reverse);

  // ---- contractions ----
  Value DotGeneral(Value lhs, Value rhs, const DotDims& dims);
  // [.., m, k] x [.., k, n]; batch dimensions must agree.
  Value MatMul(Value lhs, Value rhs, bool transpose_lhs = false, bool transpose_rhs = false);
  struct ConvOptions {
    std::string input_layout = "b01f", kernel_layout = "01io", output_layout = "b01f";
    std::vector<int64_t> strides, low, high, lhs_dilation, rhs_dilation;  // empty: 1, 0, 0, 1, 1
    int64_t feature_groups = 1, batch_groups = 1;
  };
  Value Convolution(Value input, Value kernel, const ConvOptions& options);

  // Records that two sizes are assumed equal; an error when they are provably different.
  bool AssumeEqual(const Dim& a, const Dim& b);
  // The same of a size that is not above another one.
  bool AssumeAtMost(const Dim& a, const Dim& b);

 private:
  std::unique_ptr<Graph> owned_;
  Graph* graph_;
  Node* before_ = nullptr;
  std::string name_;
  absl::Status status_;
};

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_BUILDER_H_
