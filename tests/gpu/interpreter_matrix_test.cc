// Matrices of a warp, copies in the background, and narrow divisions on the device interpreter.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/emit/contraction/matrix_tile.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/warp_matrix.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

using gpu::MatrixTile;
using loop::Builder;
using loop::DType;
using loop::kWarpThreads;
using loop::Value;
using ::testing::HasSubstr;

constexpr int kRows = 16, kColumns = 16, kDepth = 16;

template <typename T>
std::vector<T> Numbers(int count, int seed) {
  std::vector<T> v;
  for (int i = 0; i < count; ++i) v.push_back(T(static_cast<float>((i * 7 + seed) % 23 - 11) / 4));
  return v;
}
// Of both signs, and up to the ends of the type.
template <typename T>
std::vector<T> Bytes(int count, int seed) {
  std::vector<T> v;
  for (int i = 0; i < count; ++i) v.push_back(static_cast<T>(i * 37 + seed));
  return v;
}

// Copies an operand of one warp into a tile, in the background.
void CopyTile(Builder& b, const MatrixTile& tile, DType dtype, int buffer, Value shared,
              int64_t begin) {
  for (int64_t first = 0; first < tile.rows() * tile.chunks(); first += kWarpThreads) {
    const Value number = b.Add(b.ThreadIndex(), b.Index(first));
    const Value row = b.DivNarrow(number, tile.chunks());
    const Value chunk = b.RemNarrow(number, tile.chunks());
    const Value from =
        b.Add(b.Mul(row, b.Index(tile.columns())), b.Mul(chunk, b.Index(tile.chunk())));
    b.CopyAsync(shared, b.Add(b.Index(begin), tile.ChunkAt(row, chunk)), b.Buffer(buffer), from,
                dtype);
  }
}

// [16, 16] x [16, 16] by one warp: operands through tiles in shared memory, rows along k or not.
template <typename T>
void CheckProduct(bool lhs_transposed, bool rhs_transposed) {
  const DType dtype = ir::DTypeOf<T>();
  auto k = std::make_unique<loop::Kernel>(
      "product", std::vector<loop::BufferInfo>{
                     {dtype, "x", false}, {dtype, "y", false}, {DType::kF32, "z", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const Value thread = b.ThreadIndex();
  const MatrixTile tiles[] = {MatrixTile(&b, dtype, {kRows, kDepth, lhs_transposed}),
                              MatrixTile(&b, dtype, {kColumns, kDepth, rhs_transposed})};
  const Value shared = b.AllocateShared(dtype, 2 * tiles[0].elements());
  for (int operand = 0; operand < 2; ++operand) {
    CopyTile(b, tiles[operand], dtype, operand, shared, operand * tiles[0].elements());
  }
  b.CommitCopies();
  b.WaitForCopies(0);
  b.Barrier();
  for (int half = 0; half < 2; ++half) {
    Value sums = b.Splat(b.Float(DType::kF32, 1), loop::kSumLanes);
    for (int64_t depth = 0; depth < kDepth; depth += loop::MatrixDepth(ir::DTypeBytes(dtype))) {
      const auto lhs = tiles[0].Left(shared, b.Index(0), b.Index(0), depth);
      const auto rhs = tiles[1].Right(shared, b.Index(tiles[0].elements()), depth, b.Index(0));
      sums = b.WarpMultiply(lhs, absl::MakeConstSpan(rhs).subspan(static_cast<size_t>(half) * 2, 2),
                            sums);
    }
    for (int lane = 0; lane < loop::kSumLanes; ++lane) {
      const Value row = b.Add(b.DivNarrow(thread, 4), b.Index(lane / 2 * 8));
      const Value column =
          b.Add(b.Mul(b.RemNarrow(thread, 4), b.Index(2)), b.Index(lane % 2 + half * 8));
      b.Store(b.Buffer(2), b.Add(b.Mul(row, b.Index(kColumns)), column), b.ExtractLane(sums, lane));
    }
  }
  const std::vector<T> x = Numbers<T>(kRows * kDepth, 3), y = Numbers<T>(kDepth * kColumns, 8);
  Aligned<T> on_x(x), on_y(y);
  Aligned<float> z(std::vector<float>(kRows * kColumns));
  const absl::Status status = Interpret(std::move(k), {on_x.buffer(), on_y.buffer(), z.buffer()});
  ASSERT_TRUE(status.ok()) << status;
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      float want = 1;
      for (int i = 0; i < kDepth; ++i) {
        const int at_x = lhs_transposed ? i * kRows + m : m * kDepth + i;
        const int at_y = rhs_transposed ? i * kColumns + n : n * kDepth + i;
        want += static_cast<float>(x[static_cast<size_t>(at_x)]) *
                static_cast<float>(y[static_cast<size_t>(at_y)]);
      }
      EXPECT_EQ(z.values()[static_cast<size_t>(m * kColumns + n)], want) << m << ", " << n;
    }
  }
}

// [16, 64] x [64, 16] of bytes, whose tiles may be interleaved.
template <typename Left, typename Right>
void CheckProductOfBytes(bool lhs_transposed, bool rhs_transposed) {
  constexpr int kBytes = 64;
  const DType left = ir::DTypeOf<Left>(), right = ir::DTypeOf<Right>();
  auto k = std::make_unique<loop::Kernel>(
      "bytes", std::vector<loop::BufferInfo>{
                   {left, "x", false}, {right, "y", false}, {DType::kS32, "z", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const auto layout = [](int64_t width, bool transposed) {
    return transposed ? MatrixTile::Layout{kBytes, width, true} : MatrixTile::Layout{width, kBytes};
  };
  const MatrixTile x_tile(&b, left, layout(kRows, lhs_transposed)),
      y_tile(&b, right, layout(kColumns, rhs_transposed));
  const Value shared = b.AllocateShared(left, 2 * x_tile.elements());
  CopyTile(b, x_tile, left, 0, shared, 0);
  CopyTile(b, y_tile, right, 1, shared, x_tile.elements());
  b.CommitCopies();
  b.WaitForCopies(0);
  b.Barrier();
  for (int half = 0; half < 2; ++half) {
    Value sums = b.Splat(b.Int(DType::kS32, 1), loop::kSumLanes);
    for (int64_t depth = 0; depth < kBytes; depth += loop::MatrixDepth(1)) {
      const auto lhs = x_tile.Left(shared, b.Index(0), b.Index(0), depth);
      const auto rhs = y_tile.Right(shared, b.Index(x_tile.elements()), depth, b.Index(0));
      sums = b.WarpMultiply(lhs, absl::MakeConstSpan(rhs).subspan(static_cast<size_t>(half) * 2, 2),
                            sums);
    }
    for (int lane = 0; lane < loop::kSumLanes; ++lane) {
      const Value thread_row = b.DivNarrow(b.ThreadIndex(), 4);
      const Value thread_column =
          b.Add(b.Mul(b.RemNarrow(b.ThreadIndex(), 4), b.Index(2)), b.Index(lane % 2));
      const Value row = x_tile.is_interleaved()
                            ? b.Add(b.Mul(thread_row, b.Index(2)), b.Index(lane / 2))
                            : b.Add(thread_row, b.Index(lane / 2 * 8));
      const Value column = y_tile.is_interleaved()
                               ? b.Add(b.Mul(thread_column, b.Index(2)), b.Index(half))
                               : b.Add(thread_column, b.Index(half * 8));
      b.Store(b.Buffer(2), b.Add(b.Mul(row, b.Index(kColumns)), column), b.ExtractLane(sums, lane));
    }
  }
  const std::vector<Left> x = Bytes<Left>(kRows * kBytes, 3);
  const std::vector<Right> y = Bytes<Right>(kBytes * kColumns, 8);
  Aligned<Left> on_x(x);
  Aligned<Right> on_y(y);
  Aligned<int32_t> z(std::vector<int32_t>(kRows * kColumns));
  const absl::Status status = Interpret(std::move(k), {on_x.buffer(), on_y.buffer(), z.buffer()});
  ASSERT_TRUE(status.ok()) << status;
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      int32_t want = 1;
      for (int i = 0; i < kBytes; ++i) {
        const int at_x = lhs_transposed ? i * kRows + m : m * kBytes + i;
        const int at_y = rhs_transposed ? i * kColumns + n : n * kBytes + i;
        want += x[static_cast<size_t>(at_x)] * y[static_cast<size_t>(at_y)];
      }
      EXPECT_EQ(z.values()[static_cast<size_t>(m * kColumns + n)], want) << m << ", " << n;
    }
  }
}

TEST(InterpreterMatrix, ProductsOfTilesOfBytes) {
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      SCOPED_TRACE(::testing::Message() << lhs << rhs);
      CheckProductOfBytes<int8_t, int8_t>(lhs, rhs);
      CheckProductOfBytes<uint8_t, int8_t>(lhs, rhs);
      CheckProductOfBytes<int8_t, uint8_t>(lhs, rhs);
      CheckProductOfBytes<uint8_t, uint8_t>(lhs, rhs);
    }
  }
}

// Sums of four products of bytes each, which wrap round.
TEST(InterpreterMatrix, DotsOfBytes) {
  auto k = std::make_unique<loop::Kernel>(
      "dots", std::vector<loop::BufferInfo>{
                  {DType::kU8, "x", false}, {DType::kS8, "y", false}, {DType::kS32, "z", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const Value at = b.Mul(b.ThreadIndex(), b.Index(8));
  const Value sums =
      b.DotBytes(b.Load(b.Buffer(0), DType::kU8, at, 8), b.Load(b.Buffer(1), DType::kS8, at, 8),
                 b.Splat(b.Int(DType::kS32, INT32_MAX), 2));
  b.Store(b.Buffer(2), b.Mul(b.ThreadIndex(), b.Index(2)), sums);
  const std::vector<uint8_t> x = Bytes<uint8_t>(kWarpThreads * 8, 5);
  const std::vector<int8_t> y = Bytes<int8_t>(kWarpThreads * 8, 70);
  Aligned<uint8_t> on_x(x);
  Aligned<int8_t> on_y(y);
  Aligned<int32_t> z(std::vector<int32_t>(kWarpThreads * 2));
  const absl::Status status = Interpret(std::move(k), {on_x.buffer(), on_y.buffer(), z.buffer()});
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < z.values().size(); ++i) {
    uint32_t want = INT32_MAX;
    for (size_t j = 4 * i; j < 4 * i + 4; ++j) want += static_cast<uint32_t>(x[j] * y[j]);
    EXPECT_EQ(z.values()[i], static_cast<int32_t>(want)) << i;
  }
}

TEST(InterpreterMatrix, ProductsOfTiles) {
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      SCOPED_TRACE(::testing::Message() << lhs << rhs);
      CheckProduct<ir::Half>(lhs, rhs);
      CheckProduct<ir::BFloat16>(lhs, rhs);
      CheckProduct<float>(lhs, rhs);
    }
  }
}

// Copies x into shared memory in two groups, of which `under_way` may still be; y is what a thread
// sees of its neighbour's element of the first group, then of the second.
std::string FaultOfCopies(int waits_for, bool barrier, std::vector<int32_t>* y,
                          int64_t copied = 256) {
  constexpr int64_t kElements = kWarpThreads * 4;
  auto k = std::make_unique<loop::Kernel>(
      "copies", std::vector<loop::BufferInfo>{{DType::kS32, "x", false}, {DType::kS32, "y", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const Value shared = b.AllocateShared(DType::kS32, 2 * kElements), t = b.ThreadIndex();
  for (int group = 0; group < 2; ++group) {
    const Value at = b.Add(b.Index(group * kElements), b.Mul(t, b.Index(4)));
    b.CopyAsync(shared, at, b.Buffer(0), at, DType::kS32, b.Compare("lt", at, b.Index(copied)));
    b.CommitCopies();
  }
  if (waits_for > 0) b.WaitForCopies(2 - waits_for);
  if (barrier) b.Barrier();
  const Value other = b.Mul(b.Sub(b.Index(kWarpThreads - 1), t), b.Index(4));
  b.Store(b.Buffer(1), t, b.Load(shared, DType::kS32, other));
  if (waits_for > 1) {
    b.Store(b.Buffer(1), b.Add(t, b.Index(kWarpThreads)),
            b.Load(shared, DType::kS32, b.Add(other, b.Index(kElements))));
  }
  std::vector<int32_t> numbers(2 * kElements);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
  Aligned<int32_t> x(numbers), result(std::vector<int32_t>(2 * kWarpThreads, -1));
  const absl::Status status = Interpret(std::move(k), {x.buffer(), result.buffer()});
  *y = result.values();
  return std::string(status.message());
}

TEST(InterpreterMatrix, CopiesThatAreWaitedFor) {
  std::vector<int32_t> y;
  EXPECT_EQ(FaultOfCopies(1, true, &y), "");
  for (int t = 0; t < kWarpThreads; ++t) EXPECT_EQ(y[t], (31 - t) * 4);
  EXPECT_EQ(FaultOfCopies(2, true, &y), "");
  for (int t = 0; t < kWarpThreads; ++t) EXPECT_EQ(y[32 + t], 128 + (31 - t) * 4);
  // Where the condition does not hold there are zeros.
  EXPECT_EQ(FaultOfCopies(2, true, &y, /*copied=*/60), "");
  for (int t = 0; t < kWarpThreads; ++t) EXPECT_EQ(y[t], 31 - t < 15 ? (31 - t) * 4 : 0);
}

TEST(InterpreterMatrix, CopiesThatAreNot) {
  std::vector<int32_t> y;
  EXPECT_THAT(FaultOfCopies(0, true, &y), HasSubstr("into which a copy is under way"));
  EXPECT_THAT(FaultOfCopies(1, false, &y), HasSubstr("data race"));
}

TEST(InterpreterMatrix, NarrowDivisions) {
  const auto divide = [](int64_t size, int64_t first, std::vector<int64_t>* y) {
    auto k = std::make_unique<loop::Kernel>("divide",
                                            std::vector<loop::BufferInfo>{{DType::kS64, "y", true}},
                                            std::vector<std::string>{"n", "first"});
    k->launch.threads = kWarpThreads;
    Builder b(k.get());
    const Value x = b.Add(b.ThreadIndex(), b.Index(ir::Dim::Symbol("first")));
    const ir::Dim n = ir::Dim::Symbol("n");
    b.Store(b.Buffer(0), b.ThreadIndex(), b.DivNarrow(x, n));
    b.Store(b.Buffer(0), b.Add(b.ThreadIndex(), b.Index(kWarpThreads)), b.RemNarrow(x, n));
    Aligned<int64_t> result(std::vector<int64_t>(2 * kWarpThreads, -1));
    const absl::Status status = Interpret(std::move(k), {result.buffer()}, {size, first});
    *y = result.values();
    return std::string(status.message());
  };
  std::vector<int64_t> y;
  EXPECT_EQ(divide(7, 100, &y), "");
  for (int t = 0; t < kWarpThreads; ++t) {
    EXPECT_EQ(y[t], (100 + t) / 7);
    EXPECT_EQ(y[32 + t], (100 + t) % 7);
  }
  EXPECT_EQ(divide(0, 100, &y), "");  // as by 1
  EXPECT_EQ(y[5], 105);
  EXPECT_EQ(y[32 + 5], 0);
  EXPECT_EQ(divide(3, (int64_t{1} << 31) - kWarpThreads, &y), "");
  EXPECT_THAT(divide(3, (int64_t{1} << 31) - 8, &y), HasSubstr("thread 8"));
  EXPECT_THAT(divide(int64_t{1} << 31, 0, &y), HasSubstr("is not from 0 to below 2^31"));
}

TEST(InterpreterMatrix, SizesThatMustBeNarrow) {
  const auto run = [](int64_t size) {
    auto k = std::make_unique<loop::Kernel>("k", std::vector<loop::BufferInfo>{},
                                            std::vector<std::string>{"n"});
    k->launch.threads = kWarpThreads;
    EXPECT_TRUE(gpu::RequireNarrow(*k, ir::Dim::Symbol("n") * 2).ok());
    return std::string(Interpret(std::move(k), {}, {size}).message());
  };
  EXPECT_EQ(run((int64_t{1} << 30) - 1024), "");
  EXPECT_THAT(run(int64_t{1} << 30), HasSubstr("does not fit 64 bits"));
  loop::Kernel fixed("k", {});
  EXPECT_TRUE(gpu::RequireNarrow(fixed, 1 << 30).ok());
  EXPECT_EQ(gpu::RequireNarrow(fixed, int64_t{1} << 31).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tektite::testing
