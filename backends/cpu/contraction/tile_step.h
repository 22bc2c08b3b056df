// One step of a contraction's register tile, for one value of k: a row of the panel times a
// broadcast of each left-hand row's element, added to the accumulators.
//
//   TileStep step(b, plan, RowAddresses(b, plan, lhs, block_begin, tile), rhs, masks);
//   step.One(lhs_offset, rhs_offset, acc);
//
// Accumulators lie row by row, a vector for each of the panel's; where rows share the last vector
// (SharesLastVector), those of pairs of rows come last.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_TILE_STEP_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_TILE_STEP_H_

#include <array>
#include <vector>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/row_addresses.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

class TileStep {
 public:
  // `rhs` is where the panel begins; `masks`, one a vector, say which columns exist (all of them
  // where a mask is no value).
  TileStep(loop::Builder& b, const ContractionTiling& plan, std::vector<RowAddress> rows,
           loop::Value rhs, std::vector<loop::Value> masks);

  // Offsets, in elements: of k in each row, and of the panel's row.  `acc` is the first of the
  // tile's accumulators.
  void One(loop::Value lhs_offset, loop::Value rhs_offset, loop::Value* acc) const;
  // The same with the panel's row as it lies in memory; not where rows share the last vector.
  void WithColumns(loop::Value lhs_offset, std::vector<loop::Value> columns,
                   loop::Value* acc) const;
  // Two values of k that lie next to each other in each row (ContractionTiling::reads_pairs), each
  // with accumulators of its own.
  void Two(loop::Value lhs_offset, std::array<loop::Value, 2> rhs_offsets,
           std::array<loop::Value*, 2> acc) const;

  const loop::Value& rhs() const { return rhs_; }
  // Products that a step adds up.
  int products() const { return static_cast<int>(rows_.size()) * plan_.vectors; }

 private:
  loop::Value Widened(loop::Value v) const;
  loop::Value MultiplyAdd(loop::Value a, loop::Value b, loop::Value c) const;
  std::vector<loop::Value> PanelRow(loop::Value offset) const;
  // Returns the rows' elements, a vector of each.
  std::vector<loop::Value> Multiply(loop::Value lhs_offset, const std::vector<loop::Value>& columns,
                                    loop::Value* acc) const;
  void SharedVector(loop::Value rhs_offset, const std::vector<loop::Value>& spread,
                    loop::Value* acc) const;

  loop::Builder& b_;
  const ContractionTiling& plan_;
  std::vector<RowAddress> rows_;
  loop::Value rhs_;
  std::vector<loop::Value> masks_;
  const int own_;  // vectors that a row has for itself, one less where rows share the last
};

// Accumulators of `rows` rows that share the last vector as if they did not: row by row, a vector
// for each of the panel's.
std::vector<loop::Value> SeparatedRows(loop::Builder& b, const ContractionTiling& plan, int rows,
                                       const std::vector<loop::Value>& acc);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_TILE_STEP_H_
