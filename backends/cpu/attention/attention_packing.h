// Brings attention's operands into scratch, in the order in which the products read them, whatever
// their strides: this is where the transposes around attention go.
//
//   queries  [rows][QueryStride]          a row's width, contiguous
//   keys     [panels][width][panel]       a step of the product reads a row of the panel
//   values   [panels][key_block][panel]
#ifndef TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_PACKING_H_
#define TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_PACKING_H_

#include <functional>
#include <vector>

#include "backends/cpu/attention/attention_tiling.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Elements from one packed query to the next: not a power of two, so that the rows of a tile do not
// compete for the same lines of L1.
int64_t QueryStride(const AttentionTiling& plan);
// Elements of scratch that packed keys or values take.
int64_t PackedKeyElements(const AttentionTiling& plan);
int64_t PackedValueElements(const AttentionTiling& plan);

// A unit of work: an index for each of the batch's dimensions, and the first of its rows.
struct AttentionUnit {
  std::vector<loop::Value> batch;
  loop::Value first_row;
};
AttentionUnit UnitAt(loop::Builder& b, const AttentionTiling& plan, loop::Value unit);

// Where a unit's operands begin: keys, values and queries of its batch; queries in place with its
// first row.
struct AttentionOperands {
  loop::Value query, key, value;
};
AttentionOperands OperandsOf(loop::Builder& b, const AttentionTiling& plan,
                             const AttentionUnit& unit);
// The prefetches that the product of a panel of keys and the tile that begins with `row` makes
// every `unroll` steps of k: its share of the next unit's operands, those of them that lie in rows.
// Null where there is nothing to fetch.
std::function<void(loop::Value k)> FetchDuring(loop::Builder& b, const AttentionTiling& plan,
                                               const AttentionOperands& next, loop::Value panel,
                                               loop::Value row, int64_t unroll);

// A panel of `vectors` vectors from element `first` on; `ragged` if not all of it exists.
using PanelBody = std::function<void(loop::Value panel, int vectors, bool ragged)>;
// Visits the panels of `count` columns; the last one may be narrower.
void ForEachPanel(loop::Builder& b, const AttentionTiling& plan, loop::Value count,
                  const PanelBody& body);

// Rows `first`, `first` + 1, ... of one batch, `count` of them; rows that do not exist repeat the
// last one.
void PackQueries(loop::Builder& b, const AttentionTiling& plan, loop::Value query,
                 loop::Value first, loop::Value count, loop::Value to);
// A panel of keys: `at`, ... of the `count` keys of one batch that begin with `first`.
void PackKeyPanel(loop::Builder& b, const AttentionTiling& plan, loop::Value key, loop::Value first,
                  loop::Value count, loop::Value at, int vectors, bool ragged, loop::Value to);
// Values `first`, ..., `count` of them, of one batch.
void PackValues(loop::Builder& b, const AttentionTiling& plan, loop::Value value, loop::Value first,
                loop::Value count, loop::Value to);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_PACKING_H_
