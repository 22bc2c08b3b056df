// Which elements of a matrix the threads of a warp hold for warp_multiply, as NVIDIA's
// mma.m16n8k16 and ldmatrix have it.
//
//   MatrixPlace at = LeftPlace(thread, part, lane, lanes);   // of a, 16 x 16: parts 0 to 3
//   at = RightPlace(thread, part, lane, lanes);              // of b, 16 x 8: parts 0 and 1
//   at = SumPlace(thread, lane);                             // of the sums, 16 x 8: lanes 0 to 3
//
// A part is a register: two elements of f16 or bf16, four bytes, or one f32.  8 x 8 elements are a
// part of every thread: thread t holds elements 2 (t % 4) and 2 (t % 4) + 1 of row t / 4.  Of b it
// is a column instead of a row, so a part of b is what load_matrices returns of rows that lie along
// k, and of rows that lie along n what it returns of their transpose.
//
// f32 is multiplied in TF32, as mma.m16n8k8: a is 16 x 8, b is 8 x 8, and a part is one element, of
// 8 x 4, element t % 4 of row t / 4.  Each is rounded to 10 bits after the point first, to nearest,
// ties away from zero.
//
// Bytes, s8 or u8 on either side, are multiplied as mma.m16n8k32: a is 16 x 32, b is 32 x 8, and
// the sums are s32 that wrap round.  Transposed, load_matrices moves pairs of bytes: thread t gets
// bytes 2 (t / 4) and 2 (t / 4) + 1 of row 2 (t % 4), then those of the next row.
//
// The sum of products of floats has no order that a card documents.  The device interpreter rounds
// each product to f32 and adds them to the sum in order of k.
#ifndef TEKTITE_JIT_LLVM_WARP_MATRIX_H_
#define TEKTITE_JIT_LLVM_WARP_MATRIX_H_

namespace tektite::loop {

inline constexpr int kLeftParts = 4, kRightParts = 2, kSumLanes = 4;
// Bytes of a part.
inline constexpr int kPartBytes = 4;
// Of warp_multiply.
inline constexpr int kMatrixRows = 16, kMatrixColumns = 8;
// Bytes of a row of a, of a column of b.
inline constexpr int kMatrixDepthBytes = 32;
constexpr int PartLanes(int element_bytes) { return kPartBytes / element_bytes; }
constexpr int MatrixDepth(int element_bytes) { return kMatrixDepthBytes / element_bytes; }
// Neighbours in a row that load_matrices keeps side by side when it transposes.
constexpr int TransposedLanes(int element_bytes) { return element_bytes == 1 ? 2 : 1; }
// Rows of what load_matrices loads.
inline constexpr int kLoadedRows = 8;
// Bytes of a row there, and of a copy_async.
inline constexpr int kMatrixRowBytes = 16;

struct MatrixPlace {
  int row, column;
};

// Parts: upper left, lower left, upper right, lower right.  `lanes`: of a part.
constexpr MatrixPlace LeftPlace(int thread, int part, int lane, int lanes) {
  return {thread / 4 + part % 2 * 8, (thread % 4 + part / 2 * 4) * lanes + lane};
}
// A row is an index of k.  Parts: upper, lower.
constexpr MatrixPlace RightPlace(int thread, int part, int lane, int lanes) {
  return {(thread % 4 + part * 4) * lanes + lane, thread / 4};
}
// Two neighbours, then two of the row 8 further down.
constexpr MatrixPlace SumPlace(int thread, int lane) {
  return {thread / 4 + lane / 2 * 8, thread % 4 * 2 + lane % 2};
}

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_WARP_MATRIX_H_
