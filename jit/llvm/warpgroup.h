// Where elements lie in shared memory for products of a warpgroup (wgmma), which copies of tensors
// (cp.async.bulk.tensor) write in the same order.
//
//   SharedPlace(/*transposed=*/false, across, depth, 2)   // byte of element [across][depth] of a
//
// A warpgroup is four neighbouring warps.  Its product has 64 rows, of which warp w holds 16 w to
// 16 w + 15, and columns in eights: sum j of a thread is what SumPlace (warp_matrix.h) has of
// columns 8 j to 8 j + 7.
//
// An operand is kProductDepth deep and lies in rows of 128 bytes.  Rows along k: row i has what
// belongs to row i of a, or to column i of b.  Transposed: pieces of 64 rows of a or columns of b,
// one behind the other, each with a row for every index of k.  The chunks of 16 bytes of a row
// change places by the row's number, counted from a multiple of 1024 bytes on.
//
// A left side may lie in registers instead: of each kInstructionDepth of the depth a thread has the
// parts that LeftPlace (warp_matrix.h) has of its warp's 16 rows.
//
// The sum of the products has no order that a card documents.  The device interpreter rounds each
// product to f32 and adds them to the sum in order of k.
#ifndef TEKTITE_JIT_LLVM_WARPGROUP_H_
#define TEKTITE_JIT_LLVM_WARPGROUP_H_

#include <cstdint>

#include "jit/llvm/warp_matrix.h"

namespace tektite::loop {

inline constexpr int kGroupWarps = 4, kGroupThreads = 128;
// Of a product of a warpgroup.
inline constexpr int kProductRows = 64, kProductDepth = 64, kProductColumnsStep = 8;
inline constexpr int kMostProductColumns = 256;
// What one instruction of a card takes of the depth.
inline constexpr int kInstructionDepth = 16;
// Of a left side in registers.
inline constexpr int kProductParts = kLeftParts * kProductDepth / kInstructionDepth;
inline constexpr int kSharedRowBytes = 128, kSwizzleRows = 8, kChunkBytes = 16;
inline constexpr int kSwizzledBytes = kSharedRowBytes * kSwizzleRows;
// Of a piece of a transposed operand.
inline constexpr int kPieceBytes = kProductDepth * kSharedRowBytes;
inline constexpr int kSignalBytes = 8;
// Of a tensor map as the driver encodes it, and where it must begin.
inline constexpr int kTensorMapBytes = 128;

// Bits of a begin_product's immediate.
inline constexpr int64_t kATransposed = 1, kBTransposed = 2, kAInRegisters = 4;
// Where its operands are: a pointer and the index of b come first, then that of a or its parts.
inline constexpr int kSharedOperand = 0, kBOperand = 1, kAOperand = 2;
constexpr int FirstSum(int64_t immediate) {
  return kAOperand + ((immediate & kAInRegisters) != 0 ? kProductParts : 1);
}

// Where byte `at` of rows that lie behind each other stands.
constexpr int64_t SwizzledByte(int64_t at) {
  const int64_t row = at / kSharedRowBytes % kSwizzleRows;
  return at ^ (row * kChunkBytes);
}

// `across`: row of a, column of b; `depth`: index of k.
constexpr int64_t SharedPlace(bool transposed, int64_t across, int64_t depth, int element_bytes) {
  if (!transposed) return SwizzledByte(across * kSharedRowBytes + depth * element_bytes);
  constexpr int64_t kAcross = 64;
  return SwizzledByte(across / kAcross * kPieceBytes + depth * kSharedRowBytes +
                      across % kAcross * element_bytes);
}

// A wgmma instruction finds a matrix by a descriptor of 64 bits, which counts bytes in units: its
// address, below kDescribedBytes, two strides, and that rows of 128 bytes are swizzled.
inline constexpr int64_t kDescriptorUnit = 16, kDescribedBytes = int64_t{1} << 18;
inline constexpr int kLeadingStrideBit = 16, kStrideBit = 32, kSwizzleBit = 62;
inline constexpr uint64_t kSwizzle128 = 1;

// Of an operand, without its address.  The stride leads from 8 rows to the next ones.  Rows along k
// end within a swizzled row, and the leading stride is ignored; otherwise it leads from a piece to
// the next one.
constexpr uint64_t DescriptorOf(bool transposed) {
  const uint64_t leading = transposed ? kPieceBytes / kDescriptorUnit : 1;
  const uint64_t stride = kSwizzledBytes / kDescriptorUnit;
  return leading << kLeadingStrideBit | stride << kStrideBit | kSwizzle128 << kSwizzleBit;
}

// From the address for one instruction to that for the next, in units.
constexpr int64_t DescriptorStep(bool transposed, int element_bytes) {
  return kInstructionDepth * (transposed ? kSharedRowBytes : element_bytes) / kDescriptorUnit;
}

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_WARPGROUP_H_
