// What the threads of a warp do together with matrices, and copies in the background.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/base/status.h"
#include "tests/gpu/interpreter/block_execution.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;
using loop::kLoadedRows;
using loop::kMatrixColumns;
using loop::kMatrixRowBytes;
using loop::kMatrixRows;
using loop::kWarpThreads;
using loop::MatrixPlace;

namespace {

// To 10 bits after the point, to nearest, ties away from zero.
float RoundedToTf32(float v) {
  if (std::isnan(v)) return v;
  constexpr uint32_t kDropped = 13;
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  bits = (bits + (1u << (kDropped - 1))) >> kDropped << kDropped;
  std::memcpy(&v, &bits, sizeof(bits));
  return v;
}

float AddProduct(float a, float b, float sum) { return sum + a * b; }
int32_t AddProduct(int32_t a, int32_t b, int32_t sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
}

// What a product sees of an element.
template <typename Number>
Number Factor(ir::DType dtype, ThreadValues& part, int thread, int lane);

template <>
int32_t Factor<int32_t>(ir::DType dtype, ThreadValues& part, int thread, int lane) {
  return part.GetByte(dtype, thread, lane);
}

template <>
float Factor<float>(ir::DType dtype, ThreadValues& part, int thread, int lane) {
  if (dtype == ir::DType::kF32) return RoundedToTf32(part.Get<float>(thread, lane));
  const auto bits = part.Get<uint16_t>(thread, lane);
  if (dtype == ir::DType::kF16) {
    ir::Half v;
    v.bits = bits;
    return static_cast<float>(v);
  }
  ir::BFloat16 v;
  v.bits = bits;
  return static_cast<float>(v);
}

}  // namespace

absl::Status BlockExecution::RunMatrix(const Instr& instr, const Mask& mask) {
  const bool of_warp = instr.code == Code::kWarpMultiply || instr.code == Code::kLoadMatrices;
  for (int warp = 0; of_warp && warp < threads_; warp += kWarpThreads) {
    const auto begin = mask.on.begin() + warp;
    const auto there = std::count(begin, begin + kWarpThreads, 1);
    if (there == 0) continue;
    TEKTITE_RETURN_IF_ERROR(CheckWarp(instr, mask, warp, static_cast<int>(there)));
    TEKTITE_RETURN_IF_ERROR(instr.code == Code::kWarpMultiply ? RunWarpMultiply(instr, warp)
                                                              : RunLoadMatrices(instr, warp));
  }
  for (int t = 0; !of_warp && t < threads_; ++t) {
    if (mask.on[t] == 0) continue;
    absl::Status done;
    if (instr.code == Code::kCommitCopies) {
      ++copies_[static_cast<size_t>(t)].groups;
    } else {
      done = instr.code == Code::kCopyAsync ? RunCopyAsync(instr, t) : EndCopies(instr, t);
    }
    if (!done.ok()) return Fault(instr, t, done);
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::RunWarpMultiply(const Instr& instr, int warp) {
  if (ir::DTypeBytes(instr.operands[0].dtype()) == 1) {
    MultiplyMatrices<int32_t>(instr, warp);
  } else {
    MultiplyMatrices<float>(instr, warp);
  }
  return absl::OkStatus();
}

// `Number`: of the sums.  Those of bytes wrap round.
template <typename Number>
void BlockExecution::MultiplyMatrices(const Instr& instr, int warp) {
  constexpr int kMostDepth = loop::MatrixDepth(1);
  const int bytes = ir::DTypeBytes(instr.operands[0].dtype()), lanes = loop::PartLanes(bytes);
  Number a[kMatrixRows][kMostDepth], b[kMostDepth][kMatrixColumns];
  Number sums[kMatrixRows][kMatrixColumns];
  constexpr int kParts = loop::kLeftParts + loop::kRightParts;
  for (int t = 0; t < kWarpThreads; ++t) {
    for (int i = 0; i < kParts; ++i) {
      const bool left = i < loop::kLeftParts;
      for (int lane = 0; lane < lanes; ++lane) {
        const auto v = Factor<Number>(instr.operands[static_cast<size_t>(i)].dtype(),
                                      Operand(instr, i), warp + t, lane);
        const MatrixPlace at = left ? loop::LeftPlace(t, i, lane, lanes)
                                    : loop::RightPlace(t, i - loop::kLeftParts, lane, lanes);
        (left ? a[at.row][at.column] : b[at.row][at.column]) = v;
      }
    }
    for (int lane = 0; lane < loop::kSumLanes; ++lane) {
      const MatrixPlace at = loop::SumPlace(t, lane);
      sums[at.row][at.column] = Operand(instr, kParts).Get<Number>(warp + t, lane);
    }
  }
  for (int row = 0; row < kMatrixRows; ++row) {
    for (int k = 0; k < loop::MatrixDepth(bytes); ++k) {
      for (int column = 0; column < kMatrixColumns; ++column) {
        sums[row][column] = AddProduct(a[row][k], b[k][column], sums[row][column]);
      }
    }
  }
  for (int t = 0; t < kWarpThreads; ++t) {
    for (int lane = 0; lane < loop::kSumLanes; ++lane) {
      const MatrixPlace at = loop::SumPlace(t, lane);
      Result(instr).Set(warp + t, sums[at.row][at.column], lane);
    }
  }
}

// Each element is read by the thread that gets it: who wrote it must have met that one at a
// barrier.
absl::Status BlockExecution::RunLoadMatrices(const Instr& instr, int warp) {
  const bool transposed = instr.immediate != 0;
  const int matrices = static_cast<int>(instr.results.size());
  const int bytes = ir::DTypeBytes(instr.access), columns = kMatrixRowBytes / bytes;
  for (int i = 0; i < matrices; ++i) {
    ThreadValues& part = values_[instr.number][static_cast<size_t>(i)];
    for (int row = 0; row < kLoadedRows; ++row) {
      const int names = warp + i * kLoadedRows + row;
      Place place = Operand(instr, 0).Get<Place>(names);
      place.offset += Operand(instr, 1).Get<int64_t>(names) * bytes;
      // A part's elements, or what stays side by side, at a time; the first by an address of 16
      // bytes.
      const int lanes = transposed ? loop::TransposedLanes(bytes) : loop::PartLanes(bytes);
      for (int column = 0; column < columns; column += lanes) {
        const int t = warp + (transposed ? column / lanes * 4 + row / 2 : row * 4 + column / lanes);
        const int64_t alignment = column == 0 ? kMatrixRowBytes : bytes;
        const absl::Status read =
            memory_.Read(t, {place.region, place.offset + column * bytes}, lanes * bytes, alignment,
                         part.at(t, transposed ? row % 2 * lanes : 0));
        if (!read.ok()) return Fault(instr, t, read);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::RunCopyAsync(const Instr& instr, int thread) {
  const auto place = [&](int pointer) {
    Place at = Operand(instr, pointer).Get<Place>(thread);
    at.offset += Operand(instr, pointer + 1).Get<int64_t>(thread) * ir::DTypeBytes(instr.access);
    return at;
  };
  Copies& copies = copies_[static_cast<size_t>(thread)];
  Copy copy = {place(0), {}, copies.groups};
  if (instr.operands.size() == 4 || Operand(instr, 4).Get<uint8_t>(thread) != 0) {
    TEKTITE_RETURN_IF_ERROR(
        memory_.Read(thread, place(2), kMatrixRowBytes, kMatrixRowBytes, copy.bytes.data()));
  }
  TEKTITE_RETURN_IF_ERROR(memory_.BeginCopy(thread, copy.to, kMatrixRowBytes));
  copies.under_way.push_back(copy);
  return absl::OkStatus();
}

absl::Status BlockExecution::EndCopies(const Instr& instr, int thread) {
  Copies& copies = copies_[static_cast<size_t>(thread)];
  const auto ended = [&](const Copy& copy) { return copy.group < copies.groups - instr.immediate; };
  size_t count = 0;
  for (; count < copies.under_way.size() && ended(copies.under_way[count]); ++count) {
    const Copy& copy = copies.under_way[count];
    TEKTITE_RETURN_IF_ERROR(memory_.EndCopy(thread, copy.to, kMatrixRowBytes, copy.bytes.data()));
  }
  copies.under_way.erase(copies.under_way.begin(),
                         copies.under_way.begin() + static_cast<std::ptrdiff_t>(count));
  return absl::OkStatus();
}

}  // namespace tektite::gpu
