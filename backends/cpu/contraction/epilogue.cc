#include "backends/cpu/contraction/epilogue.h"

#include <algorithm>
#include <functional>

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {

std::vector<std::pair<int, int>> EpilogueInPlace(const ir::Graph& region, const Node& root) {
  // The values that the contraction reads, through the nodes that unpack panels.
  std::vector<const Node*> read = {&root};
  for (size_t i = 0; i < read.size(); ++i) {
    for (ir::Value v : read[i]->operands()) read.push_back(v.node);
  }
  const ir::Dims& space = region.outputs()[0].shape().dims();
  // Every value behind it must be read at the position where it is written.
  for (const auto& node : region.nodes()) {
    if (std::find(read.begin(), read.end(), node.get()) != read.end()) continue;
    const bool leaf = node->op() == ir::Op::kParameter || node->op() == ir::Op::kConstant ||
                      node->op() == ir::Op::kBroadcastInDim || node->op() == ir::Op::kIota;
    const bool view = node->op() == ir::Op::kReshape && node->operand(0).node == &root;
    // A part of something larger is nothing of the results' own shape.
    const bool part = (node->op() == ir::Op::kSlice || node->op() == ir::Op::kDynamicSlice) &&
                      node->operand_shape(0).dims() != space;
    if (!leaf && !view && !part && !ir::IsElementwise(node->op())) return {};
  }
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < region.num_parameters(); ++i) {
    const Node* p = region.parameter(i);
    if (p->shape().dims() != space || std::find(read.begin(), read.end(), p) != read.end()) {
      continue;
    }
    if (!std::all_of(p->uses().begin(), p->uses().end(),
                     [](const ir::Use& use) { return ir::IsElementwise(use.user->op()); })) {
      continue;
    }
    for (size_t o = 0; o < region.outputs().size(); ++o) {
      if (ir::DTypeBytes(region.outputs()[o].dtype()) == ir::DTypeBytes(p->shape().dtype())) {
        pairs.emplace_back(i, static_cast<int>(o));
      }
    }
  }
  return pairs;
}

namespace {

// 0 if that is not known.
int64_t BytesOf(const ir::Shape& shape) {
  return Product(shape.dims()).value_or(0) * ir::DTypeBytes(shape.dtype());
}

// The array that a value is a smaller part of, by slices and reshapes alone; none for other values.
const Node* ArrayOfPart(const Node& value) {
  const Node* node = &value;
  bool is_part = false;
  while (node->op() == ir::Op::kReshape || node->op() == ir::Op::kSlice ||
         node->op() == ir::Op::kDynamicSlice) {
    is_part |= node->op() != ir::Op::kReshape;
    node = node->operand(0).node;
  }
  return is_part && node->op() == ir::Op::kParameter ? node : nullptr;
}

}  // namespace

absl::StatusOr<Epilogue> Epilogue::Create(const ir::Graph& region, const ContractionTiling& plan,
                                          ir::ColumnGroups groups) {
  Epilogue e;
  e.region_ = &region;
  e.plan_ = &plan;
  const Dim columns = groups.count > 1 ? Dim(groups.columns) : plan.n;
  e.groups_ = std::move(groups);
  e.space_ = region.outputs()[0].shape().dims();
  for (ir::Value v : region.outputs()) {
    if (v.shape().dims() != e.space_) {
      return Unimplemented(plan.root->Describe(), ": results of different shapes");
    }
  }
  // The fewest of the next dimensions whose product is `product`, and any 1 behind them.
  size_t next = 0;
  auto take = [&](const Dim& product, size_t* count) {
    Dim taken(1);
    size_t end = next;
    while (taken != product && end < e.space_.size()) taken = taken * e.space_[end++];
    if (taken != product) return false;
    while (end < e.space_.size() && e.space_[end] == Dim(1)) ++end;
    *count = end - next;
    next = end;
    return true;
  };
  // A convolution's batch and pixels may be one dimension.
  bool split = take(plan.batch, &e.batch_dims_) && take(plan.m, &e.row_dims_) &&
               take(columns, &e.column_dims_);
  if (!split || next != e.space_.size()) {
    next = 0;
    e.batch_dims_ = e.row_dims_ = e.column_dims_ = 0;
    split = take(plan.batch * plan.m, &e.row_dims_) && take(columns, &e.column_dims_);
  }
  split = split && next == e.space_.size();
  if (!split && !e.space_.empty() && Product(e.space_) == Dim(0)) {
    // Nothing is computed, but the code is made.
    e.row_dims_ = e.space_.size() - 1;
    e.column_dims_ = 1;
    split = true;
  }
  if (!split) {
    return Unimplemented(plan.root->Describe(), ": the results' space does not split into rows");
  }
  return e;
}

bool Epilogue::ChoosePrefetch(int64_t l2_bytes) {
  const auto is_read_here = [](const Node& node) {
    return std::any_of(node.uses().begin(), node.uses().end(),
                       [](const ir::Use& use) { return ir::IsElementwise(use.user->op()); });
  };
  for (const auto& node : region_->nodes()) {
    if (node->shape().dims() != space_ || !is_read_here(*node)) continue;
    if (node->op() == ir::Op::kParameter) {
      streamed_.emplace_back(static_cast<int>(node->Int(ir::Attr::index)), node->shape().dtype());
    } else if (const Node* array = ArrayOfPart(*node);
               array != nullptr && plan_->n != Dim(1) && BytesOf(array->shape()) > kStreamedBytes) {
      parts_.push_back(node->result());
    }
  }
  int buffer = region_->num_parameters();
  for (ir::Value v : region_->outputs()) streamed_.emplace_back(buffer++, v.dtype());
  int64_t bytes = 0;
  for (const auto& [buffer, dtype] : streamed_) bytes += ir::DTypeBytes(dtype);
  bytes *= (plan_->batch * plan_->m * plan_->n).value_or(0);
  // A single result of less keeps up with the stores.
  const bool is_alone = streamed_.size() == 1;
  if (bytes <= (is_alone ? l2_bytes / 2 : kStreamedBytes)) streamed_.clear();
  return !streamed_.empty() || !parts_.empty();
}

TilePlace Epilogue::PlaceOf(loop::Builder& b, Value batch, const RowTile& tile,
                            Value column) const {
  const Value row = b.Add(b.Mul(batch, b.Index(plan_->m)), tile.first);
  return {batch, tile.first, column, b.Add(b.Mul(row, b.Index(plan_->n)), column)};
}

void Epilogue::Prefetch(loop::Builder& b, const TilePlace& tile, Value row) const {
  const auto for_each_line = [&](ir::DType dtype, const std::function<void(Value)>& body) {
    const int64_t step = kLineBytes / ir::DTypeBytes(dtype);
    for (int64_t i = 0; i < plan_->panel(); i += step) body(b.Index(i));
  };
  const Value at = b.Add(tile.element, b.Mul(row, b.Index(plan_->n)));
  for (const auto& [buffer, dtype] : streamed_) {
    for_each_line(dtype, [&, buffer = buffer, dtype = dtype](Value i) {
      b.Prefetch(b.Buffer(buffer), dtype, b.Add(at, i));
    });
  }
  ElementEmitter e(&b, plan_->lanes);
  BindParameters(e, *region_);
  for (ir::Value part : parts_) {
    for_each_line(part.dtype(), [&](Value i) {
      e.Prefetch(part, PositionOf(b, tile.batch, b.Add(tile.row, row), b.Add(tile.column, i)));
    });
  }
}

std::vector<Value> Epilogue::ColumnMasks(loop::Builder& b, Value column) const {
  std::vector<Value> masks(plan_->vectors);
  if (Mod(plan_->n, plan_->panel()) == Dim(0)) return masks;
  for (int v = 0; v < plan_->vectors; ++v) {
    Value left = b.Sub(b.Index(plan_->n - Dim(int64_t{v} * plan_->lanes)), column);
    masks[v] = b.MaskUpTo(left, plan_->lanes);
  }
  return masks;
}

Indices Epilogue::PositionOf(loop::Builder& b, Value batch, Value m, Value n) const {
  const ir::Dims batch_sizes(space_.begin(), space_.begin() + batch_dims_);
  const ir::Dims row_sizes(space_.begin() + batch_dims_, space_.begin() + batch_dims_ + row_dims_);
  const ir::Dims column_sizes(space_.end() - column_dims_, space_.end());
  Indices at;
  for (Value v : Delinearize(b, batch, batch_sizes)) at.push_back(At(v));
  // Without dimensions for the batch, rows run through all of them.
  if (batch_dims_ == 0) m = b.Add(b.Mul(batch, b.Index(plan_->m)), m);
  for (Value v : Delinearize(b, m, row_sizes)) at.push_back(At(v));
  if (column_sizes.size() == 1) {
    at.push_back(At(n, column_sizes[0] == Dim(1) ? 0 : 1));
  } else if (!column_sizes.empty() && plan_->has_aligned_vectors &&
             Mod(column_sizes.back(), plan_->lanes) == Dim(0)) {
    std::vector<Value> index = Delinearize(b, n, column_sizes);
    for (Value v : index) at.push_back(At(v));
    at.back().coefficient = 1;
  } else if (!column_sizes.empty()) {
    Value columns = b.Add(b.Splat(n, plan_->lanes), b.Iota(DType::kS64, plan_->lanes));
    for (Value v : DelinearizeLanes(b, columns, column_sizes)) at.push_back({{}, 0, v});
  }
  return at;
}

void Epilogue::BindSum(ElementEmitter& e, Value sum) const {
  const ir::Value root{const_cast<Node*>(plan_->root), 0};
  e.BindValue(root, sum.dtype() == root.dtype() ? sum : e.builder().Convert(sum, root.dtype()));
}

void Epilogue::WriteRow(ElementEmitter& e, const Indices& at, Value sum) const {
  const ir::Value root{const_cast<Node*>(plan_->root), 0};
  BindSum(e, sum);
  sum = e.Emit(root, at);
  for (const ir::Use& use : root.node->uses()) {
    if (use.user->op() == ir::Op::kReshape) e.BindValue(use.user->result(), sum);
  }
  WriteResults(e, at);
}

void Epilogue::WriteResults(ElementEmitter& e, const Indices& at) const {
  loop::Builder& b = e.builder();
  std::vector<Value> results;  // all of them before the first is stored
  for (ir::Value output : region_->outputs()) results.push_back(e.Emit(output, at));
  for (size_t o = 0; o < results.size(); ++o) {
    e.StoreAt(b.Buffer(OutputBuffer(*region_, static_cast<int>(o))), region_->outputs()[o].shape(),
              at, results[o]);
  }
}

absl::Status Epilogue::Emit(loop::Builder& b, Value batch, const RowTile& tile, Value column,
                            const std::vector<Value>& accumulators) const {
  const std::vector<Value> masks = ColumnMasks(b, column);
  std::vector<VectorColumns> columns;
  for (int v = 0; v < plan_->vectors; ++v) {
    columns.push_back({b.Add(column, b.Index(static_cast<int64_t>(v) * plan_->lanes)), masks[v]});
  }
  return Emit(b, batch, tile, columns, accumulators);
}

absl::Status Epilogue::Emit(loop::Builder& b, Value batch, const RowTile& tile,
                            absl::Span<const VectorColumns> columns,
                            const std::vector<Value>& accumulators) const {
  ElementEmitter e(&b, plan_->lanes);
  BindParameters(e, *region_);
  auto emit_row = [&](int r) {
    for (int v = 0; v < plan_->vectors; ++v) {
      e.Clear();
      e.SetMask(columns[v].mask);
      Indices at = PositionOf(b, batch, b.Add(tile.first, b.Index(r)), columns[v].first);
      WriteRow(e, at, accumulators[r * plan_->vectors + v]);
    }
  };
  for (int r = 0; r < tile.rows; ++r) {
    if (r < tile.sure) {
      emit_row(r);
    } else {
      b.If(b.Compare("lt", b.Index(r), tile.left), [&] { emit_row(r); });
    }
  }
  return e.status();
}

absl::Status Epilogue::EmitGroups(loop::Builder& b, Value batch, int rows, Value column,
                                  const std::vector<Value>& accumulators, Value sums) const {
  const int64_t lanes = plan_->lanes, vectors = plan_->vectors, own = vectors / groups_.count;
  for (size_t i = 0; i < accumulators.size(); ++i) {
    b.Store(sums, b.Index(static_cast<int64_t>(i) * lanes), accumulators[i]);
  }
  absl::Status status;
  const auto emit = [&](Value row, Value v) {
    ElementEmitter e(&b, plan_->lanes);
    BindParameters(e, *region_);
    const Indices at = PositionOf(b, batch, row, b.Add(column, b.Mul(v, b.Index(lanes))));
    const Value first = b.Add(b.Mul(row, b.Index(vectors)), v);
    for (Node* slice : groups_.slices) {
      const Value vector = b.Add(first, b.Index(groups_.GroupOf(*slice) * own));
      BindSum(e, b.Load(sums, plan_->accumulator, b.Mul(vector, b.Index(lanes)), plan_->lanes));
      e.BindValue(slice->result(), e.Emit(slice->result(), at));
    }
    WriteResults(e, at);
    status.Update(e.status());
  };
  b.For(b.Index(0), b.Index(rows), 1,
        [&](Value row) { b.For(b.Index(0), b.Index(own), 1, [&](Value v) { emit(row, v); }); });
  return status;
}

}  // namespace tektite::cpu
