// Elements of a product's operands on their way to shared memory.
//
//   OperandReader reader(&b, region);
//   reader.Copy(operand, view.Lhs(b, index), shared, tile.Chunk(row, chunk));
//
// Limits: the elements of a chunk are neighbours in memory, which the caller knows.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_OPERAND_READER_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_OPERAND_READER_H_

#include "absl/status/status.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

class OperandReader {
 public:
  OperandReader(loop::Builder* builder, const ir::Graph& region) : b_(*builder), region_(region) {}

  // `lanes` elements of the operand from there on; zeros where there are none.
  loop::Value Read(ir::Value operand, const ContractionView::Element& element, int lanes);
  // 16 bytes of a parameter to shared memory: in the background where they are known to lie at a
  // multiple of 16.
  void Copy(ir::Value operand, const ContractionView::Element& element, loop::Value shared,
            loop::Value to);

  // The first thing that could not be emitted.
  const absl::Status& status() const { return status_; }

 private:
  loop::Builder& b_;
  const ir::Graph& region_;
  absl::Status status_;
};

// The index of an element in its row-major array.  Multiples of a chunk stay visible as such in
// strides of unknown size.
loop::Value LinearIndex(loop::Builder& b, const ir::Shape& shape, const loop::Indices& at);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_OPERAND_READER_H_
