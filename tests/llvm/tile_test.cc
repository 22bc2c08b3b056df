// Pairs of bf16 and matrix tiles, where the machine has the instructions: products of small
// integers, which are exact.
#include <vector>

#include "gtest/gtest.h"
#include "tests/llvm/kernel_runner.h"

namespace tektite {
namespace {

using ir::BFloat16;
using ir::DType;
using loop::Value;

std::vector<BFloat16> Integers(size_t count, int seed) {
  std::vector<BFloat16> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = BFloat16(static_cast<float>((static_cast<int>(i) * 7 + seed) % 19 - 9));
  }
  return values;
}

loop::Kernel ThreeBuffers(DType sums) {
  return loop::Kernel("f",
                      {{DType::kBF16, "a", false}, {DType::kBF16, "b", false}, {sums, "c", true}});
}

TEST(Pairs, AddUpTwoProducts) {
  if (!cpu::DetectTarget("native")->has_bf16_dot) return;
  for (int lanes : {4, 8, 16}) {
    loop::Kernel kernel = ThreeBuffers(DType::kF32);
    loop::Builder b(&kernel);
    const Value sums = b.Load(b.Buffer(2), DType::kF32, b.Index(0), lanes);
    const auto pairs = [&](int buffer) {
      return b.Load(b.Buffer(buffer), DType::kS32, b.Index(0), lanes);
    };
    b.Store(b.Buffer(2), b.Index(0), b.DotPairs(pairs(0), pairs(1), sums));
    auto f = testing::CompilerFor("native").Compile(kernel, {});
    ASSERT_TRUE(f.ok()) << f.status();
    std::vector<BFloat16> x = Integers(2 * lanes, 1), y = Integers(2 * lanes, 5);
    std::vector<float> got(lanes, 3);
    void* buffers[] = {x.data(), y.data(), got.data()};
    f->fn(buffers, nullptr, nullptr, 0, 1);
    for (int i = 0; i < lanes; ++i) {
      const float want =
          3 + float(x[2 * i]) * float(y[2 * i]) + float(x[2 * i + 1]) * float(y[2 * i + 1]);
      EXPECT_EQ(got[i], want) << lanes << " lanes, lane " << i;
    }
  }
}

// Tiles of 5 rows of 3 pairs by 3 pairs of 7 columns: none is full, rows lie far apart, and two
// products go to the same sums.
TEST(Tiles, MultiplyPairs) {
  if (!cpu::DetectTarget("native")->has_bf16_tiles) return;
  constexpr int kRows = 5, kPairs = 3, kColumns = 7, kStride = 40;
  loop::Kernel kernel = ThreeBuffers(DType::kF32);
  loop::Builder b(&kernel);
  b.ConfigureTiles({{kRows, kColumns * 4}, {kRows, kPairs * 4}, {kPairs, kColumns * 4}});
  b.ZeroTile(0);
  b.LoadTile(1, b.Buffer(0), DType::kBF16, b.Index(2), b.Index(kStride));
  b.LoadTile(2, b.Buffer(1), DType::kS32, b.Index(0), b.Index(kColumns));
  b.MultiplyTiles(0, 1, 2, DType::kBF16);
  b.MultiplyTiles(0, 1, 2, DType::kBF16);
  b.StoreTile(0, b.Buffer(2), DType::kF32, b.Index(1), b.Index(kColumns + 2));
  b.ReleaseTiles();
  auto f = testing::CompilerFor("native").Compile(kernel, {});
  ASSERT_TRUE(f.ok()) << f.status();
  std::vector<BFloat16> x = Integers(2 + kRows * kStride, 1),
                        y = Integers(2 * kPairs * kColumns, 5);
  std::vector<float> got(kRows * (kColumns + 2) + 1, -1);
  void* buffers[] = {x.data(), y.data(), got.data()};
  f->fn(buffers, nullptr, nullptr, 0, 1);
  std::vector<float> want(got.size(), -1);
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      float sum = 0;
      for (int k = 0; k < 2 * kPairs; ++k) {
        sum += float(x[2 + m * kStride + k]) * float(y[(k / 2 * kColumns + n) * 2 + k % 2]);
      }
      want[1 + m * (kColumns + 2) + n] = 2 * sum;
    }
  }
  EXPECT_EQ(got, want);
}

// Four bytes each, of u8 by s8 in vectors and of s8 by s8 in tiles.
TEST(Bytes, AddUpFourProducts) {
  if (!cpu::DetectTarget("native")->has_int8_dot) return;
  for (int lanes : {4, 8, 16}) {
    loop::Kernel kernel(
        "f", {{DType::kU8, "a", false}, {DType::kS8, "b", false}, {DType::kS32, "c", true}});
    loop::Builder b(&kernel);
    const auto words = [&](int buffer) {
      return b.Load(b.Buffer(buffer), DType::kS32, b.Index(0), lanes);
    };
    b.Store(b.Buffer(2), b.Index(0), b.DotBytes(words(0), words(1), words(2)));
    auto f = testing::CompilerFor("native").Compile(kernel, {});
    ASSERT_TRUE(f.ok()) << f.status();
    std::vector<uint8_t> x(4 * lanes);
    std::vector<int8_t> y(4 * lanes);
    std::vector<int32_t> got(lanes, 3), want(lanes, 3);
    for (int i = 0; i < 4 * lanes; ++i) {
      x[i] = static_cast<uint8_t>(255 - i % 7);
      y[i] = static_cast<int8_t>(i % 2 == 0 ? -128 + i : 127 - i);
      want[i / 4] += int{x[i]} * int{y[i]};
    }
    void* buffers[] = {x.data(), y.data(), got.data()};
    f->fn(buffers, nullptr, nullptr, 0, 1);
    EXPECT_EQ(got, want) << lanes << " lanes";
  }
}

// Pairs of s16, which every machine has: the least numbers on both sides reach 2^31 and wrap round.
TEST(Shorts, AddUpTwoProducts) {
  for (int lanes : {4, 8, 16}) {
    loop::Kernel kernel(
        "f", {{DType::kS16, "a", false}, {DType::kS16, "b", false}, {DType::kS32, "c", true}});
    loop::Builder b(&kernel);
    const Value words = b.Load(b.Buffer(0), DType::kS32, b.Index(0), lanes);
    const Value shorts = b.Load(b.Buffer(1), DType::kS16, b.Index(0), 2 * lanes);
    const Value sums = b.Load(b.Buffer(2), DType::kS32, b.Index(0), lanes);
    b.Store(b.Buffer(2), b.Index(0), b.DotShorts(words, shorts, sums));
    auto f = testing::CompilerFor("avx2").Compile(kernel, {});
    ASSERT_TRUE(f.ok()) << f.status();
    std::vector<int16_t> x(2 * lanes), y(2 * lanes);
    std::vector<int32_t> got(lanes, -3), want(lanes);
    for (int i = 0; i < 2 * lanes; ++i) {
      x[i] = static_cast<int16_t>(i < 2 ? -32768 : 32767 - 5 * i);
      y[i] = static_cast<int16_t>(i < 4 ? -32768 : 3 * i - 20000);
    }
    for (int i = 0; i < lanes; ++i) {
      int64_t sum = -3;
      for (int j = 2 * i; j < 2 * i + 2; ++j) sum += int64_t{x[j]} * y[j];
      want[i] = static_cast<int32_t>(static_cast<uint32_t>(sum));
    }
    void* buffers[] = {x.data(), y.data(), got.data()};
    f->fn(buffers, nullptr, nullptr, 0, 1);
    EXPECT_EQ(got, want) << lanes << " lanes";
  }
}

TEST(Tiles, MultiplyBytes) {
  if (!cpu::DetectTarget("native")->has_int8_tiles) return;
  constexpr int kRows = 3, kWords = 2, kColumns = 5;
  loop::Kernel kernel(
      "f", {{DType::kS8, "a", false}, {DType::kS8, "b", false}, {DType::kS32, "c", true}});
  loop::Builder b(&kernel);
  b.ConfigureTiles({{kRows, kColumns * 4}, {kRows, kWords * 4}, {kWords, kColumns * 4}});
  b.ZeroTile(0);
  b.LoadTile(1, b.Buffer(0), DType::kS8, b.Index(0), b.Index(4 * kWords));
  b.LoadTile(2, b.Buffer(1), DType::kS32, b.Index(0), b.Index(kColumns));
  b.MultiplyTiles(0, 1, 2, DType::kS8);
  b.StoreTile(0, b.Buffer(2), DType::kS32, b.Index(0), b.Index(kColumns));
  b.ReleaseTiles();
  auto f = testing::CompilerFor("native").Compile(kernel, {});
  ASSERT_TRUE(f.ok()) << f.status();
  std::vector<int8_t> x(kRows * 4 * kWords), y(4 * kWords * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int8_t>(i % 3 == 0 ? -128 : 50 + i);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int8_t>(i % 4 == 0 ? -128 : 60 + i);
  std::vector<int32_t> got(kRows * kColumns, -1), want(kRows * kColumns, 0);
  void* buffers[] = {x.data(), y.data(), got.data()};
  f->fn(buffers, nullptr, nullptr, 0, 1);
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      for (int k = 0; k < 4 * kWords; ++k) {
        want[m * kColumns + n] +=
            int{x[m * 4 * kWords + k]} * int{y[(k / 4 * kColumns + n) * 4 + k % 4]};
      }
    }
  }
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace tektite
