// A tile of f16, bf16, f32, s8 or u8 elements in shared memory, and how a warp takes parts of it
// for warp_multiply.
//
//   const MatrixTile lhs(&b, DType::kBF16, {.rows = 128, .columns = 32});
//   b.Store(shared, lhs.ChunkAt(row, chunk), vector_of_8);
//   Values a = lhs.Left(shared, at, row, k);
//
// Rows are whole chunks of 16 bytes, a power of two of them or whole eights.  The chunks of a row
// change places by the row's number, so that what the threads of a warp read at once lies in
// different banks; no memory is spent on padding.
//
// Bytes whose rows lie across k are transposed in pairs, which a permutation of bytes takes apart.
// Two products are made of them at once, with even columns in one and odd ones in the other, or
// even and odd rows in the halves of one: `is_interleaved`.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_TILE_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_TILE_H_

#include <cstdint>
#include <vector>

#include "jit/llvm/loop_ir.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {

class MatrixTile {
 public:
  // Elements of a chunk.
  static constexpr int64_t Chunk(int element_bytes) {
    return loop::kMatrixRowBytes / element_bytes;
  }

  // Rows lie along k or, `transposed`, along m of a left side and n of a right one.
  struct Layout {
    int64_t rows, columns;
    bool transposed = false;
  };
  MatrixTile(loop::Builder* builder, ir::DType dtype, Layout layout);

  int64_t rows() const { return layout_.rows; }
  int64_t columns() const { return layout_.columns; }
  int64_t chunk() const { return Chunk(bytes_); }         // elements
  int64_t chunks() const { return columns() / chunk(); }  // of a row
  int64_t elements() const { return rows() * columns(); }
  // Row i of the 16 of a left side is 2 (i % 8) + i / 8; column i of the 8 of a right side is 2 i
  // in the first of two, 2 i + 1 in the second.
  bool is_interleaved() const { return layout_.transposed && bytes_ == 1; }

  // Index of the first element of a chunk, of an element, from the beginning of the tile.
  loop::Value ChunkAt(loop::Value row, loop::Value chunk) const;
  loop::Value Element(loop::Value row, loop::Value column) const;

  // The thread's parts of a, 16 rows: m from `m`, k from `k`, multiples of 8, of bytes of 16. `at`:
  // index of the tile's beginning, a multiple of these.
  std::vector<loop::Value> Left(loop::Value shared, loop::Value at, loop::Value m, int64_t k) const;
  // Of two b, each 8 columns, neighbours along n: parts of the first, then of the second.
  std::vector<loop::Value> Right(loop::Value shared, loop::Value at, int64_t k,
                                 loop::Value n) const;

 private:
  // The four corners of what begins at `row` and `column` of the tile: those below each other come
  // first, or those beside each other.
  std::vector<loop::Value> Load(loop::Value shared, loop::Value at, loop::Value row,
                                loop::Value column, bool down_first) const;
  // The same where no instruction loads it: f32 whose rows lie across k.
  std::vector<loop::Value> LoadSingly(loop::Value shared, loop::Value at, loop::Value k,
                                      loop::Value across, bool across_first) const;
  // The same of bytes whose rows lie across k: of the even ones of what lies across, k's first
  // half, of the odd ones, and then of the second half.
  std::vector<loop::Value> LoadInterleaved(loop::Value shared, loop::Value at, int64_t k,
                                           loop::Value across) const;
  // What the number of a chunk in `row` is xored with.
  loop::Value Turn(loop::Value row) const;
  bool LoadsSingly() const { return layout_.transposed && bytes_ > 2; }
  loop::Value Divided(loop::Value v, int64_t by) const { return b_.DivNarrow(v, by); }

  loop::Builder& b_;
  const ir::DType dtype_;
  const int bytes_;
  const Layout layout_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_TILE_H_
