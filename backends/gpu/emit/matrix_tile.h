// A tile of f16 or bf16 elements in shared memory, and how a warp takes parts of it for
// warp_multiply.
//
//   const MatrixTile lhs(&b, DType::kBF16, /*rows=*/128, /*columns=*/32);
//   b.Store(shared, lhs.Chunk(row, chunk), vector_of_8);
//   Values a = lhs.Left(shared, row, k, /*transposed=*/false);
//
// Rows are whole chunks of 8 elements, 16 bytes, a power of two of them.  The chunks of a row
// change places by the row's number, so that the chunks that load_matrices reads at once, one of
// each of 8 rows, lie in different banks; no memory is spent on padding.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_MATRIX_TILE_H_
#define TEKTITE_BACKENDS_GPU_EMIT_MATRIX_TILE_H_

#include <vector>

#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

class MatrixTile {
 public:
  static constexpr int64_t kChunk = 8;  // elements

  MatrixTile(loop::Builder* builder, ir::DType dtype, int64_t rows, int64_t columns);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t chunks() const { return columns_ / kChunk; }  // of a row
  int64_t elements() const { return rows_ * columns_; }

  // Index of the first element of a chunk, of an element, from the beginning of the tile.
  loop::Value Chunk(loop::Value row, loop::Value chunk) const;
  loop::Value Element(loop::Value row, loop::Value column) const;

  // The thread's parts of a, 16 x 16: m from `m`, k from `k`, multiples of 8.  Rows of the tile lie
  // along k or, `transposed`, along m.  `at`: index of the tile's beginning, a multiple of 8.
  std::vector<loop::Value> Left(loop::Value shared, loop::Value at, loop::Value m, int64_t k,
                                bool transposed) const;
  // Of two b, each 16 x 8, neighbours along n: parts of the first, then of the second.  Rows of the
  // tile lie along n or, `transposed`, along k.
  std::vector<loop::Value> Right(loop::Value shared, loop::Value at, int64_t k, loop::Value n,
                                 bool transposed) const;

 private:
  // Matrices of 8 x 8: `row_bit` and the other bit of a matrix's number say whether it is the one 8
  // rows and 8 columns further on.
  std::vector<loop::Value> Load(loop::Value shared, loop::Value at, loop::Value row,
                                loop::Value column, bool rows_first, bool transposed) const;
  // What the number of a chunk in `row` is xored with.
  loop::Value Turn(loop::Value row) const;
  loop::Value Divided(loop::Value v, int64_t by) const { return b_.DivNarrow(v, by); }

  loop::Builder& b_;
  const ir::DType dtype_;
  const int64_t rows_, columns_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_MATRIX_TILE_H_
