#include "backends/gpu/emit/attention/attention_view.h"

#include <utility>

#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"

namespace tektite::gpu {

using loop::LaneIndex;

absl::StatusOr<AttentionView> AttentionView::Create(const ir::Graph& region) {
  TEKTITE_ASSIGN_OR_RETURN(ops::Attention nodes, ops::AttentionOf(region));
  AttentionView view(region, std::move(nodes));
  const Dim width = Product(view.scores_.k()), columns = Product(view.context_.n());
  if (!width.is_constant() || !columns.is_constant() || width.value() < 1 || columns.value() < 1) {
    return Unimplemented(view.nodes_.context->Describe(), ": widths are not known");
  }
  return view;
}

Indices AttentionView::Batch(loop::Builder& b, Value number) const {
  return SplitNarrowIndex(b, number, scores_.batch());
}

Indices AttentionView::Rows(loop::Builder& b, Value row) const {
  return SplitNarrowIndex(b, row, scores_.m());
}

namespace {

LaneIndex Run(Value first, int64_t lanes) { return loop::At(first, lanes > 1 ? 1 : 0); }

}  // namespace

ContractionView::Element AttentionView::Query(loop::Builder& b, const Indices& batch, Value row,
                                              Value k, int64_t lanes) const {
  return scores_.Lhs(b, {batch, Rows(b, row), {}, {Run(k, lanes)}});
}

ContractionView::Element AttentionView::Key(loop::Builder& b, const Indices& batch, Value key,
                                            Value k, int64_t lanes) const {
  return scores_.Rhs(b, {batch, {}, {loop::At(key)}, {Run(k, lanes)}});
}

ContractionView::Element AttentionView::OfValue(loop::Builder& b, const Indices& batch, Value key,
                                                Value column, int64_t lanes) const {
  return context_.Rhs(b, {batch, {}, {Run(column, lanes)}, {loop::At(key)}});
}

Indices AttentionView::ScoreAt(loop::Builder& b, const Indices& batch, Value row,
                               LaneIndex key) const {
  Indices at = batch;
  for (const LaneIndex& i : Rows(b, row)) at.push_back(i);
  at.push_back(std::move(key));
  return at;
}

Value AttentionView::Logits(loop::ElementEmitter& e, const Indices& at, Value scores) const {
  e.BindValue(nodes_.scores->result(), scores);
  return e.lanes() > 1 ? e.EmitVector(nodes_.logits, at) : e.Emit(nodes_.logits, at);
}

Indices AttentionView::ResultAt(loop::Builder& b, const Indices& batch, Value row,
                                LaneIndex column) const {
  const Indices at = ScoreAt(b, batch, row, std::move(column));
  if (nodes_.result == nodes_.context) return at;
  Indices moved;
  for (int64_t d : nodes_.result->Ints(ir::Attr::permutation)) {
    moved.push_back(at[static_cast<size_t>(d)]);
  }
  return moved;
}

}  // namespace tektite::gpu
