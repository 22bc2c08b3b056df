#include "backends/gpu/emit/matrix_tile.h"

#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {

using ir::Op;
using loop::Value;

namespace {

// Chunks that the banks of shared memory hold side by side.
constexpr int64_t kBanks = 8;
constexpr int kMatrices = 4;

}  // namespace

MatrixTile::MatrixTile(loop::Builder* builder, ir::DType dtype, int64_t rows, int64_t columns)
    : b_(*builder), dtype_(dtype), rows_(rows), columns_(columns) {}

Value MatrixTile::Turn(Value row) const {
  if (chunks() >= kBanks) return b_.RemNarrow(row, kBanks);
  return b_.RemNarrow(Divided(row, kBanks / chunks()), chunks());
}

Value MatrixTile::Chunk(Value row, Value chunk) const {
  const Value turned = b_.Binary(Op::kXor, chunk, Turn(row));
  return b_.Add(b_.Mul(row, b_.Index(columns_)), b_.Mul(turned, b_.Index(kChunk)));
}

Value MatrixTile::Element(Value row, Value column) const {
  return b_.Add(Chunk(row, Divided(column, kChunk)), b_.RemNarrow(column, kChunk));
}

std::vector<Value> MatrixTile::Load(Value shared, Value at, Value row, Value column,
                                    bool rows_first, bool transposed) const {
  const Value thread = b_.RemNarrow(b_.ThreadIndex(), loop::kWarpThreads);
  const Value in_matrix = b_.RemNarrow(thread, loop::kLoadedRows);
  const Value matrix = Divided(thread, loop::kLoadedRows);
  const Value low = b_.RemNarrow(matrix, 2), high = Divided(matrix, 2);
  const Value down = rows_first ? low : high, right = rows_first ? high : low;
  // `row` is a multiple of 8, so the turn is the thread's own.
  const Value own = b_.Add(b_.Mul(down, b_.Index(loop::kLoadedRows)), in_matrix);
  const Value chunk = b_.Add(Divided(column, kChunk), right);
  const Value index = b_.Add(b_.Add(at, b_.Mul(row, b_.Index(columns_))), Chunk(own, chunk));
  return b_.LoadMatrices(shared, dtype_, index, kMatrices, transposed);
}

std::vector<Value> MatrixTile::Left(Value shared, Value at, Value m, int64_t k,
                                    bool transposed) const {
  // Parts: upper left, lower left, upper right, lower right.
  return transposed ? Load(shared, at, b_.Index(k), m, /*rows_first=*/false, true)
                    : Load(shared, at, m, b_.Index(k), /*rows_first=*/true, false);
}

std::vector<Value> MatrixTile::Right(Value shared, Value at, int64_t k, Value n,
                                     bool transposed) const {
  // Parts: k, k + 8; then those of n + 8.
  return transposed ? Load(shared, at, b_.Index(k), n, /*rows_first=*/true, true)
                    : Load(shared, at, n, b_.Index(k), /*rows_first=*/false, false);
}

}  // namespace tektite::gpu
