#include "clustering/importer/movement/row_updates.h"

#include <memory>
#include <utility>

#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"

namespace tektite::importer {
namespace {

// dims[0] followed by the product of all others, if there are others.
Dims AsMatrix(const Dim& rows, const Dims& row) {
  if (row.empty()) return {rows};
  return {rows, Product(row)};
}

Dims RowOf(const Shape& shape) { return Dims(shape.dims().begin() + 1, shape.dims().end()); }

// Refuses updates that are neither a scalar nor a row for each index.
absl::Status RequireRows(NodeImport& op, Value updates, const Dims& indices, const Dims& row) {
  if (!updates) return op.Refuse(op.b().status().message());
  const Shape& shape = updates.shape();
  if (shape.rank() == 0) return absl::OkStatus();
  Dims expected = indices;
  expected.insert(expected.end(), row.begin(), row.end());
  bool fits = shape.dims().size() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) {
    fits = op.b().AssumeEqual(shape.dims()[i], expected[i]);
  }
  return fits ? absl::OkStatus() : op.Refuse("updates of shape ", shape.ToString());
}

// The indices of an input, after the check that each is a row.  Behind those that count is -1,
// which is none.  There are as many of them as the input `updates` has rows.
absl::StatusOr<Value> RowIndices(NodeImport& op, int input, const Dim& limit, int updates) {
  FuncBuilder& b = op.b();
  const Value indices = op.Input(input), rows = op.Rows(input);
  if (!indices) return op.Refuse(b.status().message());
  const Value of_updates = op.Rows(updates);
  if (of_updates && !rows) return op.Refuse("rows of input ", updates, " that have no indices");
  if (of_updates && of_updates != rows) op.Check(b.Compare(of_updates, rows, "eq"));
  const Value counting = rows ? WithNumberBehind(b, indices, rows, 0) : indices;
  TEKTITE_RETURN_IF_ERROR(CheckRange(op, input, counting, limit));
  return rows ? WithNumberBehind(b, indices, rows, -1) : indices;
}

}  // namespace

absl::StatusOr<std::vector<Value>> UpdateRows(NodeImport& op, const std::vector<Value>& arrays,
                                              int indices_input, int update_input,
                                              const std::vector<Value>& others,
                                              const RowRule& rule) {
  FuncBuilder& b = op.b();
  const Shape shape = arrays[0].shape();
  if (shape.rank() < 1) return op.Refuse("rows of a scalar");
  TEKTITE_ASSIGN_OR_RETURN(const Value indices,
                           RowIndices(op, indices_input, shape.dim(0), update_input));
  const Dims row = RowOf(shape), places = indices.shape().dims();
  const Dim updates = Product(places);

  std::vector<Value> operands, elements;
  FuncBuilder region("rule");
  const Dims scalar;
  const auto add = [&](Value v, const Dims& dims) {
    operands.push_back(b.Reshape(v, dims));
    elements.push_back(region.Parameter(Shape(v.dtype(), scalar)));
  };
  for (const Value array : arrays) {
    if (array.shape().dims() != shape.dims()) return op.Refuse("variables of other shapes");
    add(array, AsMatrix(shape.dim(0), row));
  }
  operands.push_back(b.Reshape(indices, {updates}));
  for (const Value other : others) {
    TEKTITE_RETURN_IF_ERROR(RequireRows(op, other, places, row));
    add(other, other.shape().rank() == 0 ? scalar : AsMatrix(updates, row));
  }
  region.Return(rule(region, elements));
  absl::StatusOr<std::unique_ptr<ir::Graph>> graph = region.Build();
  if (!graph.ok()) return op.Refuse(graph.status().message());
  std::vector<std::unique_ptr<ir::Graph>> regions;
  regions.push_back(*std::move(graph));
  std::vector<Value> changed = b.AddMulti(Op::kUpdateRows, operands, {}, std::move(regions));
  changed.resize(arrays.size());
  for (Value& v : changed) {
    if (!v) return op.Refuse(b.status().message());
    v = b.Reshape(v, shape.dims());
  }
  return changed;
}

// Rows at the indices, or all of them by one scalar.
absl::Status ImportResourceScatter(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Value content, op.Variable(0));
  FuncBuilder& b = op.b();
  Value updates = op.Input(2);
  if (!updates) return op.Refuse(b.status().message());
  const Shape shape = content.shape();
  if (updates.dtype() != shape.dtype()) return op.Refuse("updates of another type");
  if (op.op() == "ResourceScatterDiv") {
    // TensorFlow refuses to divide by 0.
    const Value rows = op.Rows(2);
    const Value divisors = rows ? WithNumberBehind(b, updates, rows, 1) : updates;
    op.Check(b.Compare(divisors, b.FullLike(divisors, 0), "ne"));
    const RowRule divide = [](FuncBuilder& r, const std::vector<Value>& in) {
      return std::vector<Value>{r.Div(in[0], in[1])};
    };
    TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> changed,
                             UpdateRows(op, {content}, 1, 2, {updates}, divide));
    return op.SetVariable(0, changed[0]);
  }
  if (shape.rank() < 1) return op.Refuse("rows of a scalar");
  TEKTITE_ASSIGN_OR_RETURN(const Value indices, RowIndices(op, 1, shape.dim(0), 2));
  const Dims row = RowOf(shape), places = indices.shape().dims();
  TEKTITE_RETURN_IF_ERROR(RequireRows(op, updates, places, row));
  const RowReducer how = RowReducerOf(op.op());
  if (how.negates) updates = b.Neg(updates);
  Dims dims = places;
  dims.insert(dims.end(), row.begin(), row.end());
  updates = b.BroadcastTo(updates, dims);
  const Value changed =
      ScatterRows(b, content, indices, updates, 1, indices.shape().rank(), how.reducer);
  if (!changed) return op.Refuse(b.status().message());
  return op.SetVariable(0, changed);
}

absl::Status ImportResourceScatterNd(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Value content, op.Variable(0));
  const RowReducer how = RowReducerOf(op.op());
  const Value updates = how.negates ? op.b().Neg(op.Input(2)) : op.Input(2);
  TEKTITE_ASSIGN_OR_RETURN(const Value changed,
                           ScatterPoints(op, content, op.Input(1), updates, how.reducer));
  if (!changed) return op.Refuse(op.b().status().message());
  return op.SetVariable(0, changed);
}

}  // namespace tektite::importer
