#include "jit/llvm/emit/interleave.h"

#include <utility>
#include <vector>

#include "jit/ir/columns.h"

namespace tektite::loop {

using loop::Value;

bool CanLoadStrided(ir::DType dtype, int64_t stride, int lanes) {
  return ir::DTypeBytes(dtype) == 4 && stride >= 2 && stride <= ir::kMaxColumns && lanes > 1;
}

Value LoadStrided(loop::Builder& b, Value pointer, ir::DType dtype, Value first, int64_t stride,
                  int lanes) {
  const int step = static_cast<int>(stride);
  Value result;
  for (int v = 0; v < step; ++v) {
    // The last vector ends with the last lane's element.
    const int begin = v + 1 < step ? v * lanes : (step - 1) * (lanes - 1);
    Value part = b.Load(pointer, dtype, b.Add(first, b.Index(begin)), lanes);
    if (!result) {
      result = part;
      continue;
    }
    // Lanes that this vector has; every other lane keeps its value from the vectors before.
    std::vector<int> from(lanes);
    for (int i = 0; i < lanes; ++i) {
      const int element = i * step, at = element - begin;
      const int kept = v == 1 ? element % lanes : i;
      from[i] = element >= v * lanes && at < lanes ? lanes + at : kept;
    }
    result = b.Shuffle(result, part, std::move(from));
  }
  return result;
}

void StoreInterleaved(loop::Builder& b, Value pointer, Value first,
                      absl::Span<const Value> columns) {
  const int count = static_cast<int>(columns.size()), lanes = columns[0].lanes();
  for (int v = 0; v < count; ++v) {
    Value result = columns[0];
    for (int c = 1; c < count; ++c) {
      std::vector<int> from(lanes);
      for (int i = 0; i < lanes; ++i) {
        const int row = (v * lanes + i) / count, column = (v * lanes + i) % count;
        from[i] = column == c ? lanes + row : c == 1 ? row : i;
      }
      result = b.Shuffle(result, columns[c], std::move(from));
    }
    b.Store(pointer, b.Add(first, b.Index(v * lanes)), result);
  }
}

}  // namespace tektite::loop
