#include "backends/gpu/emit/contraction/matrix_tile.h"

#include "backends/gpu/emit/names.h"

#include <algorithm>
#include <utility>

namespace tektite::gpu {

namespace {

// Chunks that the banks of shared memory hold side by side.
constexpr int64_t kBanks = 8;
constexpr int kMatrices = 4;
// Threads that hold a row of a matrix, and rows of 8 elements between its corners.
constexpr int64_t kRowThreads = 4, kCornerRows = 8;

}  // namespace

MatrixTile::MatrixTile(loop::Builder* builder, ir::DType dtype, Layout layout)
    : b_(*builder), dtype_(dtype), bytes_(ir::DTypeBytes(dtype)), layout_(layout) {}

Value MatrixTile::Turn(Value row) const {
  // Threads read two chunks of each of four rows at once.
  if (LoadsSingly()) {
    const Value pair = b_.Mul(b_.RemNarrow(row, kRowThreads), b_.Index(2));
    return b_.RemNarrow(pair, std::min(chunks(), kBanks));
  }
  // Threads read rows 0, 1, 4, 5, 8, 9, 12 and 13 at once, or those two further down.
  if (is_interleaved()) {
    const Value four = b_.RemNarrow(Divided(row, 4), 4);
    if (chunks() < kBanks) return b_.RemNarrow(four, std::min<int64_t>(chunks(), 4));
    return b_.Add(b_.Mul(four, b_.Index(2)), b_.RemNarrow(row, 2));
  }
  if (chunks() >= kBanks) return b_.RemNarrow(row, kBanks);
  return b_.RemNarrow(Divided(row, kBanks / chunks()), chunks());
}

Value MatrixTile::ChunkAt(Value row, Value chunk_number) const {
  const Value turned = b_.Binary(Op::kXor, chunk_number, Turn(row));
  return b_.Add(b_.Mul(row, b_.Index(columns())), b_.Mul(turned, b_.Index(chunk())));
}

Value MatrixTile::Element(Value row, Value column) const {
  return b_.Add(ChunkAt(row, Divided(column, chunk())), b_.RemNarrow(column, chunk()));
}

std::vector<Value> MatrixTile::Load(Value shared, Value at, Value row, Value column,
                                    bool down_first) const {
  const Value thread = b_.RemNarrow(b_.ThreadIndex(), loop::kWarpThreads);
  const Value in_matrix = b_.RemNarrow(thread, loop::kLoadedRows);
  const Value matrix = Divided(thread, loop::kLoadedRows);
  const Value low = b_.RemNarrow(matrix, 2), high = Divided(matrix, 2);
  const Value down = down_first ? low : high, right = down_first ? high : low;
  // `row` is a multiple of 8, so the turn is the thread's own.
  const Value own = b_.Add(b_.Mul(down, b_.Index(loop::kLoadedRows)), in_matrix);
  const Value of_row = b_.Add(Divided(column, chunk()), right);
  const Value index = b_.Add(b_.Add(at, b_.Mul(row, b_.Index(columns()))), ChunkAt(own, of_row));
  return b_.LoadMatrices(shared, dtype_, index, kMatrices, layout_.transposed);
}

std::vector<Value> MatrixTile::LoadSingly(Value shared, Value at, Value k, Value across,
                                          bool across_first) const {
  const Value thread = b_.RemNarrow(b_.ThreadIndex(), loop::kWarpThreads);
  const Value own_k = b_.Add(k, b_.RemNarrow(thread, kRowThreads));
  const Value own_across = b_.Add(across, Divided(thread, kRowThreads));
  std::vector<Value> parts;
  for (int64_t part = 0; part < kMatrices; ++part) {
    const int64_t low = part % 2, high = part / 2;
    const Value row = b_.Add(own_k, b_.Index((across_first ? high : low) * kRowThreads));
    const Value column = b_.Add(own_across, b_.Index((across_first ? low : high) * kCornerRows));
    parts.push_back(b_.Load(shared, dtype_, b_.Add(at, Element(row, column))));
  }
  return parts;
}

std::vector<Value> MatrixTile::LoadInterleaved(Value shared, Value at, int64_t k,
                                               Value across) const {
  const Value thread = b_.RemNarrow(b_.ThreadIndex(), loop::kWarpThreads);
  const Value in_matrix = b_.RemNarrow(thread, loop::kLoadedRows);
  const Value matrix = Divided(thread, loop::kLoadedRows);
  // A thread gets two neighbouring rows of each matrix: with these rows, four neighbours of two.
  const Value of_four =
      b_.Add(b_.RemNarrow(in_matrix, 2), b_.Mul(b_.RemNarrow(matrix, 2), b_.Index(2)));
  const Value four = b_.Add(Divided(in_matrix, 2), b_.Mul(Divided(matrix, 2), b_.Index(4)));
  // `k` is a multiple of 32, so the turn is the thread's own.
  const Value own = b_.Add(b_.Mul(four, b_.Index(4)), of_four);
  const Value index =
      b_.Add(b_.Add(at, b_.Index(k * columns())), ChunkAt(own, Divided(across, chunk())));
  const std::vector<Value> pairs =
      b_.LoadMatrices(shared, dtype_, index, kMatrices, /*transposed=*/true);
  std::vector<Value> parts;
  for (size_t half = 0; half < 2; ++half) {
    for (int odd = 0; odd < 2; ++odd) {
      parts.push_back(
          b_.Shuffle(pairs[2 * half], pairs[2 * half + 1], {odd, odd + 2, odd + 4, odd + 6}));
    }
  }
  return parts;
}

std::vector<Value> MatrixTile::Left(Value shared, Value at, Value m, int64_t k) const {
  // Parts: upper left, lower left, upper right, lower right.
  if (LoadsSingly()) return LoadSingly(shared, at, b_.Index(k), m, /*across_first=*/true);
  if (is_interleaved()) return LoadInterleaved(shared, at, k, m);
  return layout_.transposed ? Load(shared, at, b_.Index(k), m, /*down_first=*/false)
                            : Load(shared, at, m, b_.Index(k), /*down_first=*/true);
}

std::vector<Value> MatrixTile::Right(Value shared, Value at, int64_t k, Value n) const {
  // Parts: those of n, then of the 8 columns further on; of each the first half of k first.
  if (LoadsSingly()) return LoadSingly(shared, at, b_.Index(k), n, /*across_first=*/false);
  if (is_interleaved()) {
    std::vector<Value> parts = LoadInterleaved(shared, at, k, n);
    std::swap(parts[1], parts[2]);
    return parts;
  }
  return layout_.transposed ? Load(shared, at, b_.Index(k), n, /*down_first=*/true)
                            : Load(shared, at, n, b_.Index(k), /*down_first=*/false);
}

}  // namespace tektite::gpu
