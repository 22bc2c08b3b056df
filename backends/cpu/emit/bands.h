// Which rows of its results a kernel's chunks write (backend::Bands), for the emitters that cut
// them so.
#ifndef TEKTITE_BACKENDS_CPU_EMIT_BANDS_H_
#define TEKTITE_BACKENDS_CPU_EMIT_BANDS_H_

#include "backends/cpu/contraction/contraction_plan.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// Rows of an array as backend::Bands counts them; 0 for a scalar.
ir::Dim RowsIn(const ir::Dims& dims);

// Of a contraction of which every `chunks` chunks write `rows` rows, in order over all products of
// the batch; what the epilogue reads where it writes is read by row.  None where a row of the
// results is not a row of the contraction.
EmittedBands BandsOfContraction(const ir::Graph& region, const ContractionPlan& plan,
                                const ir::Dim& chunks, const ir::Dim& rows);

// The contraction of `lhs`, [rows, k] with k contracted alone, reads it by row.
void AddLeftHandSide(const ContractionPlan& plan, EmittedBands* bands);

// Of a kernel of kind `row` whose chunks take `rows` rows of `size` elements each.
EmittedBands BandsOfRows(const ir::Graph& region, const ir::Dim& rows, const ir::Dim& size,
                         const ir::Dim& rows_per_chunk);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMIT_BANDS_H_
