#include "backends/cpu/contraction/nibble_weights.h"

#include "backends/cpu/emit/names.h"

namespace tektite::cpu {
namespace {

// The bits of 2^23 in f32: with a small integer in the lowest bits it is that much more.
constexpr int64_t kBitsOf2To23 = 0x4b000000;
constexpr double k2To23 = 8388608;

}  // namespace

NibbleWeights::NibbleWeights(loop::Builder& b, const ContractionTiling& view, Value rhs,
                             Value panel) {
  const ir::Dim width = view.panel(), size = (view.k_loops.back().trips + ir::Dim(1)) * width;
  const Value first = b.Offset(rhs, DType::kS8, b.Mul(panel, b.Index(size)));
  rows_ = b.Offset(first, DType::kS8, b.Index(width));
  for (int v = 0; v < view.vectors; ++v) {
    const Value at = b.Index(int64_t{v} * view.lanes);
    const Value least = b.Convert(b.Load(first, DType::kS8, at, view.lanes), DType::kF32);
    base_.push_back(b.Sub(least, b.Splat(b.Float(DType::kF32, k2To23), view.lanes)));
  }
}

std::array<Value, 2> NibbleWeights::InF32(loop::Builder& b, Value bytes, int vector) const {
  const Value wide = b.Convert(b.Bitcast(bytes, DType::kU8), DType::kS32);
  const auto all = [&](int64_t x) { return b.Splat(b.Int(DType::kS32, x), bytes.lanes()); };
  const auto in_f32 = [&](Value number) {  // exactly
    return b.Add(b.Bitcast(b.Or(number, all(kBitsOf2To23)), DType::kF32), base_[vector]);
  };
  return {in_f32(b.And(wide, all(15))), in_f32(b.Binary(Op::kShiftRightLogical, wide, all(4)))};
}

}  // namespace tektite::cpu
