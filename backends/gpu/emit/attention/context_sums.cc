#include "backends/gpu/emit/attention/context_sums.h"

#include <algorithm>

#include "backends/gpu/emit/names.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

Values WeightParts(Builder& b, absl::Span<const Value> tiles, DType dtype) {
  Values parts;
  // As LeftPlace has it: two rows of the first 8 keys, then those of the others.
  for (size_t part = 0; part < loop::kLeftParts; ++part) {
    const Value row = RowOf(b, tiles[part / kThreadRows], static_cast<int>(part % kThreadRows));
    parts.push_back(b.Convert(row, dtype));
  }
  return parts;
}

void ScaleSums(Builder& b, const Values& factors, absl::Span<Value> sums) {
  Value changed;
  for (const Value& factor : factors) {
    for (int row = 0; row < kThreadRows; ++row) {
      const Value is_other = b.Compare("ne", b.ExtractLane(factor, row), b.Float(DType::kF32, 1));
      changed = changed ? b.Or(changed, is_other) : is_other;
    }
  }
  const Values before(sums.begin(), sums.end());
  const Values scaled = b.IfElse(
      b.WarpAny(changed),
      [&] {
        Values all;
        const size_t of_factor = before.size() / factors.size();
        for (size_t i = 0; i < before.size(); ++i) {
          all.push_back(b.Mul(before[i], SpreadRows(b, factors[i / of_factor])));
        }
        return all;
      },
      [&] { return before; });
  std::copy(scaled.begin(), scaled.end(), sums.begin());
}

Value OneOverSum(Builder& b, const OnlineSoftmax& softmax, const ir::Dim& keys) {
  const auto rows = [&](double v) { return b.Splat(b.Float(DType::kF32, v), kThreadRows); };
  const Value inverse = b.Div(rows(1), softmax.SumOfWeights(b));
  return b.Select(b.Compare("gt", b.Index(keys), b.Index(0)), inverse, rows(0));
}

}  // namespace tektite::gpu
