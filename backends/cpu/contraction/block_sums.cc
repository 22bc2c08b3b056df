#include "backends/cpu/contraction/block_sums.h"

#include "backends/cpu/loops/long_sum.h"

namespace tektite::cpu {

using ir::Dim;
using loop::Value;

BlockSums::BlockSums(loop::Builder& b, const ContractionTiling& plan, const Dim& pieces,
                     const Dim& panels)
    : b_(&b), plan_(&plan) {
  // The last tile of a block of an unknown number of rows may reach beyond them (row_tiles.cc).
  const bool is_known = plan.m.is_constant() && plan.block_rows.is_constant();
  const Dim rows = plan.block_rows + Dim(is_known ? 0 : plan.rows);
  size_ = rows * Dim(plan.panel());
  sums_ = all_ = b.AllocateScratch(plan.accumulator, size_ * panels);
  if (pieces.value_or(2 * SumCascade::kFanIn) > SumCascade::kFanIn) {
    upper_ = all_upper_ = b.AllocateScratch(plan.accumulator, size_ * panels);
  }
}

void BlockSums::Enter(Value panel) {
  const Value at = b_->Mul(panel, b_->Index(size_));
  sums_ = b_->Offset(all_, plan_->accumulator, at);
  if (all_upper_) upper_ = b_->Offset(all_upper_, plan_->accumulator, at);
}

Value BlockSums::Bytes() const {
  return b_->Index(size_ * Dim(ir::DTypeBytes(plan_->accumulator)));
}

void BlockSums::Zero() {
  b_->Zero(sums_, Bytes());
  if (upper_) b_->Zero(upper_, Bytes());
}

Value BlockSums::Index(const RowTile& tile, int row, int vector) const {
  return b_->Add(b_->Mul(b_->Add(tile.first, b_->Index(row)), b_->Index(plan_->panel())),
                 b_->Index(int64_t{vector} * plan_->lanes));
}

std::vector<Value> BlockSums::Load(Value sums, const RowTile& tile) const {
  std::vector<Value> acc;
  for (int r = 0; r < tile.rows; ++r) {
    for (int v = 0; v < plan_->vectors; ++v) {
      acc.push_back(b_->Load(sums, plan_->accumulator, Index(tile, r, v), plan_->lanes));
    }
  }
  return acc;
}

void BlockSums::AddTo(Value sums, const RowTile& tile, const std::vector<Value>& acc) const {
  const std::vector<Value> old = Load(sums, tile);
  for (int r = 0; r < tile.rows; ++r) {
    for (int v = 0; v < plan_->vectors; ++v) {
      const size_t i = static_cast<size_t>(r) * plan_->vectors + v;
      b_->Store(sums, Index(tile, r, v), b_->Add(old[i], acc[i]));
    }
  }
}

void BlockSums::Add(const RowTile& tile, const std::vector<Value>& acc) { AddTo(sums_, tile, acc); }

void BlockSums::EndPiece(Value piece, const ForEachTile& for_each_tile) {
  if (!upper_) return;
  const Value place = b_->Rem(piece, b_->Index(SumCascade::kFanIn));
  b_->If(b_->Compare("eq", place, b_->Index(SumCascade::kFanIn - 1)), [&] {
    EndPieces(for_each_tile);
    b_->Zero(sums_, Bytes());
  });
}

void BlockSums::EndPieces(const ForEachTile& for_each_tile) {
  if (!upper_) return;
  for_each_tile([&](const RowTile& tile) { AddTo(upper_, tile, Load(sums_, tile)); });
}

std::vector<Value> BlockSums::Total(const RowTile& tile) {
  return Load(upper_ ? upper_ : sums_, tile);
}

}  // namespace tektite::cpu
