#include "jit/passes/quantization/constant_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tektite::passes {
namespace {

using ir::DType;
using ir::Literal;

constexpr int kMostSteps = 127;
// Of a number: two roundings of f32.
constexpr float kError = 0x1p-22f;
// Columns that are copied at a time: a line of a cache each.
constexpr int64_t kColumns = 16;

// The constant as [outer][columns][inner].
struct View {
  int64_t outer = 1, columns = 1, inner = 1;

  View(const std::vector<int64_t>& sizes, int axis) {
    for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
      (d < axis ? outer : d == axis ? columns : inner) *= sizes[d];
    }
  }
  int64_t Place(int64_t column, int64_t i) const {
    return (i / inner * columns + column) * inner + i % inner;
  }
};

// Whole steps of `v`, if it is a number of them that fits into s8.
bool InSteps(float v, float step, int8_t* to) {
  const float steps = std::nearbyint(v / step);
  if (!(std::abs(v - steps * step) <= kError * std::abs(v))) return false;
  if (!(steps >= -kMostSteps - 1 && steps <= kMostSteps)) return false;
  *to = static_cast<int8_t>(steps);
  return true;
}

// The step of a column, whose bytes go to `to`; 0 where there is none.
float FindStep(absl::Span<const float> column, int8_t* to) {
  float greatest = 0;
  for (const float v : column) {
    if (!std::isfinite(v)) return 0;
    greatest = std::max(greatest, std::abs(v));
  }
  if (greatest == 0) {
    std::fill_n(to, column.size(), int8_t{0});
    return 1;  // as good as any other
  }
  for (int steps = kMostSteps + 1; steps > 0; --steps) {
    const float step = greatest / static_cast<float>(steps);
    if (step == 0) return 0;
    size_t i = 0;
    while (i < column.size() && InSteps(column[i], step, to + i)) ++i;
    if (i == column.size()) return step;
  }
  return 0;
}

}  // namespace

std::optional<ConstantSteps> FindSteps(const Literal& constant, int axis) {
  if (constant.dtype() != DType::kF32 || constant.num_elements() == 0) return std::nullopt;
  const View view(constant.sizes(), axis);
  const int64_t rows = view.outer * view.inner;
  ConstantSteps found = {Literal::Allocate(DType::kS8, constant.sizes()),
                         Literal::Allocate(DType::kF32, {view.columns})};
  std::vector<float> copied(static_cast<size_t>(rows * kColumns));
  std::vector<int8_t> bytes(static_cast<size_t>(rows));
  for (int64_t first = 0; first < view.columns; first += kColumns) {
    const int64_t count = std::min(kColumns, view.columns - first);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t c = 0; c < count; ++c) {
        copied[c * rows + i] = constant.data<float>()[view.Place(first + c, i)];
      }
    }
    for (int64_t c = 0; c < count; ++c) {
      const float step =
          FindStep(absl::MakeConstSpan(copied).subspan(c * rows, rows), bytes.data());
      if (step == 0) return std::nullopt;
      found.steps.mutable_data<float>()[first + c] = step;
      for (int64_t i = 0; i < rows; ++i) {
        found.bytes.mutable_data<int8_t>()[view.Place(first + c, i)] = bytes[i];
      }
    }
  }
  return found;
}

}  // namespace tektite::passes
