// Attention as its emitters see it: which elements its products read, what a score becomes, where a
// result goes.
//
//   TEKTITE_ASSIGN_OR_RETURN(AttentionView view, AttentionView::Create(region));
//   view.Query(b, batch, row, k);              // ContractionView::Element of the query
//   view.Logits(e, batch, row, key, score);    // the mask and the scale
//
// Rows are all dimensions of the query that are neither batch nor width, as one number.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_ATTENTION_VIEW_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_ATTENTION_VIEW_H_

#include "absl/status/statusor.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/ops/attention.h"

namespace tektite::gpu {

class AttentionView {
 public:
  // Unimplemented for a region of another form, and where a width is not known.
  static absl::StatusOr<AttentionView> Create(const ir::Graph& region);

  const ir::Graph& region() const { return *region_; }
  const ops::Attention& nodes() const { return nodes_; }
  ir::DType dtype() const { return nodes_.context->shape().dtype(); }
  ir::Dim batch() const { return Product(scores_.batch()); }
  ir::Dim rows() const { return Product(scores_.m()); }
  ir::Dim keys() const { return Product(scores_.n()); }
  int64_t width() const { return Product(scores_.k()).value(); }
  int64_t columns() const { return Product(context_.n()).value(); }
  // Whether neighbours along the width, or along the columns, are neighbours in memory.
  bool QueryIsAlongWidth() const { return scores_.lhs_along() == ContractionView::Along::kK; }
  bool KeyIsAlongWidth() const { return scores_.rhs_along() == ContractionView::Along::kK; }
  bool ValueIsAlongColumns() const { return context_.rhs_along() == ContractionView::Along::kN; }

  // A batch's number as an index for each of its dimensions.
  loop::Indices Batch(loop::Builder& b, loop::Value number) const;
  // `lanes`: neighbours along the width or the columns from there on.
  ContractionView::Element Query(loop::Builder& b, const loop::Indices& batch, loop::Value row,
                                 loop::Value k, int64_t lanes = 1) const;
  ContractionView::Element Key(loop::Builder& b, const loop::Indices& batch, loop::Value key,
                               loop::Value k, int64_t lanes = 1) const;
  ContractionView::Element OfValue(loop::Builder& b, const loop::Indices& batch, loop::Value key,
                                   loop::Value column, int64_t lanes = 1) const;

  // An element's place among the scores; `key` may go by the lane.
  loop::Indices ScoreAt(loop::Builder& b, const loop::Indices& batch, loop::Value row,
                        loop::LaneIndex key) const;
  // The logits that the scores at `at` become, of the emitter's lanes.
  loop::Value Logits(loop::ElementEmitter& e, const loop::Indices& at, loop::Value scores) const;
  // An element's place in the region's result; `column` may go by the lane.
  loop::Indices ResultAt(loop::Builder& b, const loop::Indices& batch, loop::Value row,
                         loop::LaneIndex column) const;

 private:
  AttentionView(const ir::Graph& region, ops::Attention nodes)
      : region_(&region),
        nodes_(std::move(nodes)),
        scores_(ContractionView::OfDot(*nodes_.scores)),
        context_(ContractionView::OfDot(*nodes_.context)) {}
  loop::Indices Rows(loop::Builder& b, loop::Value row) const;

  const ir::Graph* region_;
  ops::Attention nodes_;
  ContractionView scores_, context_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_ATTENTION_VIEW_H_
