// How an attention kernel is computed: one unit of work per batch (example and head) and block of
// rows, which goes through the keys block by block.
//
//   query, once      -> scratch [block_rows][width]
//   per key block:   keys   -> panels [width][panel]     values -> panels [key_block][panel]
//     per strip:     scores = query x keys, logits       [strip_rows][key_block], stays in L1
//                    softmax of each row
//                    context += weights x values         [block_rows][columns]
//
// Where all keys fit one block, a row's maximum and sum are known before its weights are used.
// Otherwise each block's weights are relative to the largest logit so far, and what earlier blocks
// gave is scaled down when a larger one turns up.
//
// Packing costs about as much as five rows' worth of products, so blocks of rows are as tall as
// there is still work for several threads.
#ifndef TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_TILING_H_
#define TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_TILING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/ops/attention.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

// A dimension of the batch: its size, and elements moved per step in each operand.
struct AttentionLoop {
  ir::Dim trips = 1;
  ir::Dim query_stride = 0, key_stride = 0, value_stride = 0;
};

struct AttentionTiling {
  ops::Attention nodes;
  int query = 0, key = 0, value = 0;  // parameters

  ir::Dim batch = 1, rows = 1, keys = 1;
  int64_t width = 1, columns = 1;          // of queries and keys; of values
  std::vector<AttentionLoop> batch_loops;  // in the order of the scores' dimensions
  std::vector<AttentionLoop> row_loops;    // query_stride alone
  ir::Dim query_width_stride = 1;
  ir::Dim key_stride = 1, key_width_stride = 1;
  ir::Dim value_stride = 1, value_column_stride = 1;

  int lanes = 16, vectors = 2, tile_rows = 12;
  int64_t panel() const { return static_cast<int64_t>(lanes) * vectors; }
  int64_t key_block = 256;  // a multiple of panel()
  bool one_block = false;   // all keys fit key_block
  // Rows whose softmax is computed side by side: one alone is a chain of waits.
  static constexpr int kRowsAtOnce = 4;
  int64_t strip_rows = 24;  // a multiple of tile_rows and of kRowsAtOnce
  ir::Dim block_rows = 96;  // a multiple of tile_rows, at most most_rows
  int64_t most_rows = 96;
  // Operands in rows are read there if packing them would cost more than it saves: values by few
  // rows of queries, and both where all keys fit one block (12 heads of 128x64x128: 2 %).
  bool queries_in_place = false, values_in_place = false;
  // The next unit's operands are fetched while this one's scores are computed: heads are rows of
  // 256 bytes, further apart than prefetchers follow (2 %).
  bool fetch_next = false;
  ir::Dim cost;  // see Cost in chunking.h

  // Packed keys are read once: each panel as soon as it is packed.
  bool one_strip() const { return most_rows <= strip_rows; }
  ir::Dim row_blocks() const { return CeilDiv(rows, block_rows); }
  ir::Dim units() const { return batch * row_blocks(); }
};

// Unimplemented with a reason for a fusion without code.
absl::StatusOr<AttentionTiling> TileAttention(const ir::Node& fusion,
                                              const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_TILING_H_
