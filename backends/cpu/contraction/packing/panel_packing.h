// The copies into scratch with which a contraction begins, inside the kernel: panels of its
// right-hand side as [k][panel], and a convolution's input rows with their padding.
//
// Panels are for right-hand sides that change with every call (attention's keys and values,
// gradients), where a chunk has enough rows to use the panel again.  Columns that are contiguous
// are copied; where k is contiguous instead, square blocks are transposed in registers.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PANEL_PACKING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PANEL_PACKING_H_

#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Rows of k between the one that is packed and the one that is asked for meanwhile.
inline constexpr int64_t kRowsAhead = 16;

// Whether the elements of one k lie together in a row of the right-hand side.
bool HasContiguousColumns(const ContractionTiling& plan);

// `rhs` points at the batch; `column` is the panel's first column; `to` has room for
// (k + lanes) * panel elements.
void PackPanel(loop::Builder& b, const ContractionTiling& plan, loop::Value rhs, loop::Value column,
               loop::Value to);

// Several panels, of the last loop of k alone, at whose beginning `rhs` points.  A row of all of
// them lies together, so it comes faster than a row of each.
void PackPanels(loop::Builder& b, const ContractionTiling& plan, loop::Value rhs,
                loop::Value first_panel, loop::Value last_panel, loop::Value to);

// A convolution's input rows for plan.image_rows rows of its result, zeros around them; row
// `in_row` of the padded input comes first, `from` is where the slice of the input begins.
void CopyPadded(loop::Builder& b, const ContractionTiling& plan, loop::Value in_row,
                loop::Value from, loop::Value to);

// The transpose of a square of vectors: rows.size() == lanes of each.
std::vector<loop::Value> TransposeSquare(loop::Builder& b, std::vector<loop::Value> rows);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PANEL_PACKING_H_
