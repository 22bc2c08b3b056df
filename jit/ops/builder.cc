#include "jit/ops/builder.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/ops/infer.h"
#include "jit/ops/node_limit.h"

namespace tektite::ops {

FuncBuilder::FuncBuilder(absl::string_view name)
    : owned_(std::make_unique<Graph>(name)), graph_(owned_.get()) {}

FuncBuilder::FuncBuilder(Graph* graph, Node* before) : graph_(graph), before_(before) {}

Value FuncBuilder::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return Value();
}

absl::StatusOr<std::unique_ptr<Graph>> FuncBuilder::Build() {
  if (!status_.ok()) return status_;
  return std::move(owned_);
}

Value FuncBuilder::Parameter(Shape shape, absl::string_view name) {
  return graph_->AddParameter(std::move(shape), name);
}

void FuncBuilder::Return(std::vector<Value> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) {
      Fail(InvalidArgument("return: output ", i, " is null"));
      return;
    }
  }
  graph_->SetOutputs(std::move(outputs));
}

std::vector<Value> FuncBuilder::AddMulti(Op op, absl::Span<const Value> operands, Attributes attrs,
                                         std::vector<std::unique_ptr<Graph>> regions) {
  // Enough null values for a caller that takes the results apart before it looks at the status.
  const std::vector<Value> failed(std::max<size_t>(8, operands.size()));
  if (!status_.ok()) return failed;
  const std::string what =
      name_.empty() ? std::string(OpName(op)) : absl::StrCat(OpName(op), " '", name_, "'");
  if (!NodeLimit::TakeNode()) {
    Fail(InvalidArgument(what, ": the graph has too many nodes"));
    return failed;
  }
  Shapes shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) {
      Fail(InvalidArgument(what, ": operand ", i, " is null"));
      return failed;
    }
    shapes.push_back(operands[i].shape());
  }
  std::vector<const Graph*> views;
  for (const auto& region : regions) views.push_back(region.get());
  std::vector<ir::Guard> assumed;
  auto results = Infer({op, shapes, attrs, views, &assumed});
  if (!results.ok()) {
    Fail(absl::Status(results.status().code(),
                      absl::StrCat(what, ": ", results.status().message())));
    return failed;
  }
  for (const ir::Guard& guard : assumed) AssumeEqual(guard.lhs, guard.rhs);
  Node* node = graph_->Append(op, operands, std::move(attrs), *std::move(results), before_);
  node->set_name(name_);
  for (auto& region : regions) node->AddRegion(std::move(region));
  return node->results();
}

Value FuncBuilder::AddOne(Op op, absl::Span<const Value> operands, Attributes attrs) {
  return AddMulti(op, operands, std::move(attrs))[0];
}

bool FuncBuilder::AssumeEqual(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (ProvablyDifferent(a, b)) {
    Fail(InvalidArgument(name_.empty() ? "" : absl::StrCat("'", name_, "': "),
                         "sizes differ: ", a.ToString(), " and ", b.ToString()));
    return false;
  }
  for (const ir::Guard& g : graph_->guards()) {
    if ((g.lhs == a && g.rhs == b) || (g.lhs == b && g.rhs == a)) return true;
  }
  graph_->guards().push_back({a, b});
  return true;
}

bool FuncBuilder::AssumeAtMost(const Dim& a, const Dim& b) { return AssumeEqual(ir::Max(a, b), b); }

// ---- elementwise ----

namespace {

// The common shape of two operands by NumPy's rules.  A size that may or may not be 1 is taken to
// be equal to the other, which the caller's guard then checks.
absl::StatusOr<Dims> CommonDims(const Dims& a, const Dims& b, std::vector<ir::Guard>* assumed) {
  const size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  for (size_t i = 0; i < rank; ++i) {  // counted from the last dimension
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& d = result[rank - 1 - i];
    if (x == y || y == Dim(1)) {
      d = x;
    } else if (x == Dim(1)) {
      d = y;
    } else if (ProvablyDifferent(x, y) && x.is_constant() && y.is_constant()) {
      return InvalidArgument("sizes ", x.ToString(), " and ", y.ToString(), " do not broadcast");
    } else {
      assumed->push_back({x, y});
      d = y.is_constant() ? y : x;
    }
  }
  return result;
}

}  // namespace

// Brings every operand to their common shape; false after an error.
static bool BroadcastAll(FuncBuilder* b, absl::string_view what, std::vector<Value>* values) {
  if (!b->status().ok()) return false;
  Dims common;
  std::vector<ir::Guard> assumed;
  for (Value v : *values) {
    if (!v) {
      b->Fail(InvalidArgument(what, ": an operand is null"));
      return false;
    }
    auto dims = CommonDims(common, v.shape().dims(), &assumed);
    if (!dims.ok()) {
      b->Fail(InvalidArgument(what, ": ",
                              absl::StrJoin(*values, " and ",
                                            [](std::string* out, Value x) {
                                              if (x) absl::StrAppend(out, x.shape().ToString());
                                            }),
                              " do not broadcast"));
      return false;
    }
    common = *dims;
  }
  for (const ir::Guard& g : assumed) {
    if (!b->AssumeEqual(g.lhs, g.rhs)) return false;
  }
  for (Value& v : *values) v = b->BroadcastTo(v, common);
  return b->status().ok();
}

Value FuncBuilder::BinaryImplicit(Op op, Value a, Value b) {
  std::vector<Value> values = {a, b};
  if (!BroadcastAll(this, OpName(op), &values)) return Value();
  return AddOne(op, values);
}

Value FuncBuilder::Compare(Value a, Value b, absl::string_view direction) {
  return AddOne(Op::kCompare, {a, b}, {{Attr::direction, std::string(direction)}});
}

Value FuncBuilder::CompareImplicit(Value a, Value b, absl::string_view direction) {
  std::vector<Value> values = {a, b};
  if (!BroadcastAll(this, "compare", &values)) return Value();
  return Compare(values[0], values[1], direction);
}

Value FuncBuilder::Select(Value condition, Value on_true, Value on_false) {
  return AddOne(Op::kSelect, {condition, on_true, on_false});
}

Value FuncBuilder::SelectImplicit(Value condition, Value on_true, Value on_false) {
  std::vector<Value> values = {condition, on_true, on_false};
  if (!BroadcastAll(this, "select", &values)) return Value();
  return Select(values[0], values[1], values[2]);
}

// ---- constants and type changes ----

Value FuncBuilder::Constant(Literal literal) {
  return AddOne(Op::kConstant, {}, {{Attr::value, std::move(literal)}});
}

Value FuncBuilder::Full(DType dtype, double value, const Dims& dims) {
  Value scalar = Scalar(dtype, value);
  return dims.empty() ? scalar : BroadcastInDim(scalar, dims, {});
}

Value FuncBuilder::FullLike(Value x, double value) {
  if (!x) return Fail(InvalidArgument("full_like: the operand is null"));
  return Full(x.dtype(), value, x.shape().dims());
}

Value FuncBuilder::Convert(Value x, DType dtype) {
  if (x && x.dtype() == dtype) return x;
  return AddOne(Op::kConvert, {x}, {{Attr::dtype, dtype}});
}

Value FuncBuilder::Bitcast(Value x, DType dtype) {
  if (x && x.dtype() == dtype) return x;
  return AddOne(Op::kBitcast, {x}, {{Attr::dtype, dtype}});
}

// ---- data movement ----

Value FuncBuilder::BroadcastInDim(Value x, const Dims& dims, std::vector<int64_t> dimensions) {
  return AddOne(Op::kBroadcastInDim, {x},
                {{Attr::dimensions, std::move(dimensions)}, {Attr::shape, dims}});
}

Value FuncBuilder::BroadcastTo(Value x, const Dims& dims) {
  if (!x) return Fail(InvalidArgument("broadcast: the operand is null"));
  if (x.shape().dims() == dims) return x;
  const int rank = x.shape().rank(), missing = static_cast<int>(dims.size()) - rank;
  if (missing < 0) {
    return Fail(InvalidArgument("broadcast: ", x.shape().ToString(), " has more than ", dims.size(),
                                " dimensions"));
  }
  std::vector<int64_t> dimensions(rank);
  std::iota(dimensions.begin(), dimensions.end(), missing);
  return BroadcastInDim(x, dims, std::move(dimensions));
}

Value FuncBuilder::Reshape(Value x, const Dims& dims) {
  if (x && x.shape().dims() == dims) return x;
  return AddOne(Op::kReshape, {x}, {{Attr::shape, dims}});
}

Value FuncBuilder::Transpose(Value x, std::vector<int64_t> permutation) {
  return AddOne(Op::kTranspose, {x}, {{Attr::permutation, std::move(permutation)}});
}

Value FuncBuilder::Slice(Value x, Dims starts, Dims limits, std::vector<int64_t> strides) {
  if (strides.empty()) strides.assign(starts.size(), 1);
  return AddOne(Op::kSlice, {x},
                {{Attr::limits, std::move(limits)},
                 {Attr::starts, std::move(starts)},
                 {Attr::strides, std::move(strides)}});
}

Value FuncBuilder::SliceDim(Value x, int dimension, const Dim& start, const Dim& limit,
                            int64_t stride) {
  const Shape& shape = x.shape();
  if (!status_.ok() || dimension < 0 || dimension >= shape.rank()) {
    return Fail(InvalidArgument("slice: no dimension ", dimension, " in ", shape.ToString()));
  }
  Dims starts(shape.rank(), Dim(0)), limits = shape.dims();
  std::vector<int64_t> strides(shape.rank(), 1);
  starts[dimension] = start;
  limits[dimension] = limit;
  strides[dimension] = stride;
  return Slice(x, std::move(starts), std::move(limits), std::move(strides));
}

Value FuncBuilder::Concatenate(absl::Span<const Value> xs, int dimension) {
  return AddOne(Op::kConcatenate, xs, {{Attr::dimension, static_cast<int64_t>(dimension)}});
}

Value FuncBuilder::Pad(Value x, Value value, std::vector<int64_t> low, std::vector<int64_t> high,
                       std::vector<int64_t> interior) {
  if (interior.empty()) interior.assign(low.size(), 0);
  return AddOne(Op::kPad, {x, value},
                {{Attr::low, std::move(low)},
                 {Attr::high, std::move(high)},
                 {Attr::interior, std::move(interior)}});
}

Value FuncBuilder::Reverse(Value x, std::vector<int64_t> dimensions) {
  return AddOne(Op::kReverse, {x}, {{Attr::dimensions, std::move(dimensions)}});
}

Value FuncBuilder::Iota(DType dtype, const Dims& dims, int dimension) {
  return AddOne(Op::kIota, {},
                {{Attr::dtype, dtype},
                 {Attr::shape, dims},
                 {Attr::dimension, static_cast<int64_t>(dimension)}});
}

Value FuncBuilder::SizeValue(Dims sizes) {
  return AddOne(Op::kSizeValue, {}, {{Attr::sizes, std::move(sizes)}});
}

Value FuncBuilder::DynamicSlice(Value x, absl::Span<const Value> starts, Dims sizes) {
  std::vector<Value> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return AddOne(Op::kDynamicSlice, operands, {{Attr::sizes, std::move(sizes)}});
}

Value FuncBuilder::DynamicUpdateSlice(Value x, Value update, absl::Span<const Value> starts) {
  std::vector<Value> operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return AddOne(Op::kDynamicUpdateSlice, operands);
}

// ---- reductions ----

Value FuncBuilder::Reduce(Value x, std::vector<int64_t> dimensions, absl::string_view reducer) {
  if (x && dimensions.empty()) return x;
  std::sort(dimensions.begin(), dimensions.end());
  return AddOne(Op::kReduce, {x},
                {{Attr::dimensions, std::move(dimensions)}, {Attr::reducer, std::string(reducer)}});
}

Value FuncBuilder::ReduceKeep(Value x, std::vector<int64_t> dimensions, absl::string_view reducer) {
  Value reduced = Reduce(x, dimensions, reducer);
  if (!reduced) return Value();
  Dims dims = x.shape().dims();
  for (int64_t d : dimensions) dims[d] = Dim(1);
  return Reshape(reduced, dims);
}

Value FuncBuilder::ReduceWindow(Value x, absl::string_view reducer, const WindowDims& window) {
  Attributes attrs{{Attr::reducer, std::string(reducer)}, {Attr::window, window.window}};
  auto set = [&](Attr attr, const std::vector<int64_t>& values) {
    if (!values.empty()) attrs.Set(attr, values);
  };
  set(Attr::strides, window.strides);
  set(Attr::low, window.low);
  set(Attr::high, window.high);
  set(Attr::lhs_dilation, window.lhs_dilation);
  set(Attr::window_dilation, window.window_dilation);
  return AddOne(Op::kReduceWindow, {x}, std::move(attrs));
}

Value FuncBuilder::Cumulative(Value x, int dimension, absl::string_view reducer, bool exclusive,
                              bool reverse) {
  return AddOne(Op::kCumulative, {x},
                {{Attr::dimension, static_cast<int64_t>(dimension)},
                 {Attr::reducer, std::string(reducer)},
                 {Attr::exclusive, exclusive},
                 {Attr::reverse, reverse}});
}

// ---- contractions ----

Value FuncBuilder::DotGeneral(Value lhs, Value rhs, const DotDims& dims) {
  return AddOne(Op::kDotGeneral, {lhs, rhs},
                {{Attr::lhs_batch, dims.lhs_batch},
                 {Attr::rhs_batch, dims.rhs_batch},
                 {Attr::lhs_contracting, dims.lhs_contracting},
                 {Attr::rhs_contracting, dims.rhs_contracting}});
}

Value FuncBuilder::MatMul(Value lhs, Value rhs, bool transpose_lhs, bool transpose_rhs) {
  const int rank = lhs.shape().rank();
  if (status_.ok() && (rank < 2 || rhs.shape().rank() != rank)) {
    return Fail(InvalidArgument("matmul: needs equal ranks of at least 2, got ",
                                lhs.shape().ToString(), " and ", rhs.shape().ToString()));
  }
  if (!status_.ok()) return Value();
  DotDims dims;
  dims.lhs_batch.resize(rank - 2);
  std::iota(dims.lhs_batch.begin(), dims.lhs_batch.end(), 0);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contracting = {transpose_lhs ? rank - 2 : rank - 1};
  dims.rhs_contracting = {transpose_rhs ? rank - 1 : rank - 2};
  return DotGeneral(lhs, rhs, dims);
}

Value FuncBuilder::Convolution(Value input, Value kernel, const ConvOptions& options) {
  const int spatial = std::max(0, input.shape().rank() - 2);
  auto filled = [spatial](const std::vector<int64_t>& values, int64_t otherwise) {
    return values.empty() ? std::vector<int64_t>(spatial, otherwise) : values;
  };
  return AddOne(Op::kConvolution, {input, kernel},
                {{Attr::input_layout, options.input_layout},
                 {Attr::kernel_layout, options.kernel_layout},
                 {Attr::output_layout, options.output_layout},
                 {Attr::strides, filled(options.strides, 1)},
                 {Attr::low, filled(options.low, 0)},
                 {Attr::high, filled(options.high, 0)},
                 {Attr::lhs_dilation, filled(options.lhs_dilation, 1)},
                 {Attr::rhs_dilation, filled(options.rhs_dilation, 1)},
                 {Attr::feature_group_count, options.feature_groups},
                 {Attr::batch_group_count, options.batch_groups}});
}

}  // namespace tektite::ops
