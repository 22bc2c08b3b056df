#include "backends/cpu/contraction/row_tiles.h"

#include <algorithm>
#include <cstdint>

namespace tektite::cpu {

using loop::Value;

void ForEachTile(loop::Builder& b, const TiledRows& tiled,
                 const std::function<void(const RowTile&)>& body) {
  const int rows = tiled.rows;
  Value whole = b.Mul(b.Div(tiled.count, b.Index(rows)), b.Index(rows));
  b.For(b.Index(0), whole, rows, [&](Value first) { body({first, rows, rows, {}}); });
  Value left = b.Sub(tiled.count, whole);
  if (tiled.total.is_constant() && tiled.block.is_constant()) {
    // Blocks have at most two different sizes, known here.
    const int64_t total = tiled.total.value(), block = tiled.block.value();
    const int full = static_cast<int>(std::min(block, total) % rows);
    const int last = static_cast<int>(total % block % rows);
    for (int rest : {full, full == last ? 0 : last}) {
      if (rest == 0) continue;
      b.If(b.Compare("eq", left, b.Index(rest)), [&] { body({whole, rest, rest, {}}); });
    }
    return;
  }
  // Anything from none to rows - 1: a few sizes of tile, of which the smallest that holds them
  // all wastes half of its work at most.
  std::function<void(int)> smaller = [&](int most) {
    if (most == 0) return;
    const int next = most == rows - 1 ? rows / 2 : most / 2;
    auto tile = [&] { body({whole, most, next + 1, left}); };
    if (next == most) return smaller(next - 1);
    b.If(b.Compare("gt", left, b.Index(next)), tile, [&] { smaller(next); });
  };
  smaller(rows - 1);
}

}  // namespace tektite::cpu
