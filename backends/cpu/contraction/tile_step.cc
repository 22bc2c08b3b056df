#include "backends/cpu/contraction/tile_step.h"

#include <cstdint>
#include <utility>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/emit/names.h"

namespace tektite::cpu {

TileStep::TileStep(loop::Builder& b, const ContractionTiling& plan, std::vector<RowAddress> rows,
                   Value rhs, std::vector<Value> masks)
    : b_(b),
      plan_(plan),
      rows_(std::move(rows)),
      rhs_(std::move(rhs)),
      masks_(std::move(masks)),
      own_(plan.vectors - (SharesLastVector(plan) ? 1 : 0)) {}

Value TileStep::Widened(Value v) const {
  return v.dtype() == plan_.accumulator ? v : b_.Convert(v, plan_.accumulator);
}

Value TileStep::MultiplyAdd(Value a, Value b, Value c) const {
  return ir::IsFloat(plan_.accumulator) ? b_.Fma(a, b, c) : b_.Add(b_.Mul(a, b), c);
}

std::vector<Value> TileStep::PanelRow(Value offset) const {
  std::vector<Value> row;
  for (int v = 0; v < own_; ++v) {
    const Value at = b_.Add(offset, b_.Index(static_cast<int64_t>(v) * plan_.lanes));
    row.push_back(Widened(b_.Load(rhs_, plan_.dtype, at, plan_.lanes, masks_[v])));
  }
  return row;
}

void TileStep::One(Value lhs_offset, Value rhs_offset, Value* acc) const {
  const std::vector<Value> spread = Multiply(lhs_offset, PanelRow(rhs_offset), acc);
  if (own_ < plan_.vectors) SharedVector(rhs_offset, spread, acc + rows_.size() * own_);
}

void TileStep::WithColumns(Value lhs_offset, std::vector<Value> columns, Value* acc) const {
  for (Value& column : columns) column = Widened(column);
  Multiply(lhs_offset, columns, acc);
}

std::vector<Value> TileStep::Multiply(Value lhs_offset, const std::vector<Value>& columns,
                                      Value* acc) const {
  std::vector<Value> spread;
  for (size_t r = 0; r < rows_.size(); ++r) {
    const Value x = b_.Load(rows_[r].pointer, plan_.lhs_dtype,
                            b_.Add(lhs_offset, b_.Index(rows_[r].displacement)));
    spread.push_back(b_.Splat(Widened(x), plan_.lanes));
    for (int v = 0; v < own_; ++v) {
      Value& a = acc[r * own_ + v];
      a = MultiplyAdd(spread[r], columns[v], a);
    }
  }
  return spread;
}

// Half a vector of columns, with two rows' elements beside each other.
void TileStep::SharedVector(Value rhs_offset, const std::vector<Value>& spread, Value* acc) const {
  const int half = plan_.lanes / 2;
  std::vector<int> twice(plan_.lanes), halves(plan_.lanes);
  for (int i = 0; i < plan_.lanes; ++i) {
    twice[i] = i % half;
    halves[i] = i < half ? i : plan_.lanes + i;
  }
  const Value at = b_.Add(rhs_offset, b_.Index(static_cast<int64_t>(own_) * plan_.lanes));
  const Value last = b_.Shuffle(Widened(b_.Load(rhs_, plan_.dtype, at, half)), {}, twice);
  for (size_t r = 0; r < rows_.size(); r += 2) {
    const bool alone = r + 1 == rows_.size();
    Value& a = acc[r / 2];
    a = MultiplyAdd(alone ? spread[r] : b_.Shuffle(spread[r], spread[r + 1], halves), last, a);
  }
}

// One broadcast holds both values, and an instruction makes an f32 of either, where a scalar takes
// three and a broadcast of its own.
void TileStep::Two(Value lhs_offset, std::array<Value, 2> rhs_offsets,
                   std::array<Value*, 2> acc) const {
  const std::vector<Value> first = PanelRow(rhs_offsets[0]), second = PanelRow(rhs_offsets[1]);
  const auto splat = [&](int64_t x) { return b_.Splat(b_.Int(DType::kS32, x), plan_.lanes); };
  for (size_t r = 0; r < rows_.size(); ++r) {
    const Value at = b_.Add(lhs_offset, b_.Index(rows_[r].displacement));
    const Value both =
        b_.Splat(b_.Load(b_.Offset(rows_[r].pointer, plan_.dtype, at), DType::kS32, b_.Index(0)),
                 plan_.lanes);
    const Value low = b_.Bitcast(b_.Binary(Op::kShiftLeft, both, splat(16)), DType::kF32);
    const Value high = b_.Bitcast(b_.And(both, splat(-65536)), DType::kF32);
    const size_t row = r * first.size();
    for (size_t v = 0; v < first.size(); ++v) {
      acc[0][row + v] = MultiplyAdd(low, first[v], acc[0][row + v]);
    }
    for (size_t v = 0; v < first.size(); ++v) {
      acc[1][row + v] = MultiplyAdd(high, second[v], acc[1][row + v]);
    }
  }
}

std::vector<Value> SeparatedRows(loop::Builder& b, const ContractionTiling& plan, int rows,
                                 const std::vector<Value>& acc) {
  std::vector<int> high(plan.lanes);
  for (int i = 0; i < plan.lanes; ++i) high[i] = (i + plan.lanes / 2) % plan.lanes;
  const int own = plan.vectors - 1;
  std::vector<Value> separated;
  for (int r = 0; r < rows; ++r) {
    separated.insert(separated.end(), acc.begin() + r * own, acc.begin() + (r + 1) * own);
    Value pair = acc[rows * own + r / 2];
    separated.push_back(r % 2 == 0 ? pair : b.Shuffle(pair, {}, high));
  }
  return separated;
}

}  // namespace tektite::cpu
