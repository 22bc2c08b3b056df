// Masks, gathers, lanes, loops with carried values, branches and scratch, compiled and run.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gtest/gtest.h"
#include "tests/llvm/kernel_runner.h"

namespace tektite {
namespace {

using ir::DType;
using ir::Op;
using loop::Builder;
using loop::Kernel;
using loop::Value;

class Memory : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, Memory, ::testing::Values("native", "avx2"),
                         [](const auto& info) { return std::string(info.param); });

// Compiles `emit` over buffers of the dtypes (all written) and runs it.
void RunKernel(const std::string& cpu, const std::vector<DType>& dtypes, std::vector<void*> buffers,
               const std::vector<int64_t>& sizes, int64_t end,
               const std::function<void(Builder&)>& emit) {
  std::vector<loop::BufferInfo> infos;
  for (DType d : dtypes) infos.push_back({d, "b" + std::to_string(infos.size()), true, false});
  Kernel kernel("k", infos);
  Builder b(&kernel);
  emit(b);
  auto f = testing::CompilerFor(cpu).Compile(kernel);
  ASSERT_TRUE(f.ok()) << f.status() << "\n" << kernel.ToString();
  void* scratch = nullptr;
  if (kernel.scratch_bytes.value() > 0) {
    scratch = std::aligned_alloc(64, kernel.scratch_bytes.value());
  }
  f->fn(buffers.data(), sizes.data(), scratch, 0, end);
  std::free(scratch);
}

template <typename T>
void CheckMaskedCopy(const std::string& cpu) {
  for (int lanes : {1, 4, 16, 32}) {
    for (int count = 0; count <= lanes + 1; ++count) {
      std::vector<T> x(64), y(64, T(9));
      for (int i = 0; i < 64; ++i) x[i] = static_cast<T>(i % 5 + 1);
      RunKernel(cpu, {ir::DTypeOf<T>(), ir::DTypeOf<T>()}, {x.data(), y.data()}, {}, count,
                [&](Builder& b) {
                  Value mask = b.MaskUpTo(b.ChunkEnd(), lanes);
                  Value v = b.Load(b.Buffer(0), ir::DTypeOf<T>(), b.Index(1), lanes, mask);
                  b.Store(b.Buffer(1), b.Index(2), v, mask);
                });
      for (int i = 0; i < 64; ++i) {
        const bool written = i >= 2 && i < 2 + std::min(count, lanes);
        ASSERT_EQ(y[i], written ? x[i - 1] : T(9)) << lanes << " lanes, " << count << ", at " << i;
      }
    }
  }
}

TEST_P(Memory, MasksLimitLoadsAndStores) {
  CheckMaskedCopy<int8_t>(GetParam());
  CheckMaskedCopy<int16_t>(GetParam());
  CheckMaskedCopy<float>(GetParam());
  CheckMaskedCopy<double>(GetParam());
}

TEST_P(Memory, MaskedLoadReadsNothingElse) {
  // Lanes that are off may lie on no page at all, and read 0.
  std::vector<float> y(16, 9);
  RunKernel(GetParam(), {DType::kF32, DType::kF32}, {nullptr, y.data()}, {}, 0, [&](Builder& b) {
    b.Store(b.Buffer(1), b.Index(0),
            b.Load(b.Buffer(0), DType::kF32, b.Index(0), 16, b.MaskUpTo(b.ChunkEnd(), 16)));
  });
  EXPECT_EQ(y, std::vector<float>(16, 0));
}

TEST_P(Memory, BoolIsAByte) {
  std::vector<uint8_t> x(64), y(64);
  for (int i = 0; i < 64; ++i) x[i] = i % 3 == 0;
  RunKernel(
      GetParam(), {DType::kBool, DType::kBool}, {x.data(), y.data()}, {}, 64, [&](Builder& b) {
        b.For(b.Index(0), b.ChunkEnd(), 16, [&](Value i) {
          b.Store(b.Buffer(1), i, b.Unary(Op::kNot, b.Load(b.Buffer(0), DType::kBool, i, 16)));
        });
      });
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], i % 3 != 0);
}

TEST_P(Memory, GathersAndScatters) {
  for (DType index : {DType::kS32, DType::kS64}) {
    for (int lanes : {1, 4, 16}) {
      std::vector<float> x(64), y(64, -1), z(64, -1);
      std::iota(x.begin(), x.end(), 0.0f);
      RunKernel(GetParam(), {DType::kF32, DType::kF32, DType::kF32}, {x.data(), y.data(), z.data()},
                {}, 3, [&](Builder& b) {
                  Value three = b.Splat(b.Int(index, 3), lanes);
                  Value at = b.Mul(b.Iota(index, lanes), three);
                  b.Store(b.Buffer(1), b.Index(0), b.Gather(b.Buffer(0), DType::kF32, at));
                  Value mask = b.MaskUpTo(b.ChunkEnd(), lanes);
                  b.Scatter(b.Buffer(2), at, b.Gather(b.Buffer(0), DType::kF32, at, mask), mask);
                });
      for (int i = 0; i < lanes; ++i) EXPECT_EQ(y[i], 3 * i);
      for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(z[i], i % 3 == 0 && i / 3 < std::min(lanes, 3) ? i : -1) << i;
      }
    }
  }
}

TEST_P(Memory, LoopsCarryValues) {
  std::vector<float> x(1000), y(2);
  std::iota(x.begin(), x.end(), 0.0f);
  for (int64_t n : {0, 1, 7, 1000}) {
    RunKernel(
        GetParam(), {DType::kF32, DType::kF32}, {x.data(), y.data()}, {n}, 0, [&](Builder& b) {
          std::vector<Value> r =
              b.For(b.Index(0), b.Size(0), 1, {b.Float(DType::kF32, 0), b.Float(DType::kF32, -1)},
                    [&](Value i, absl::Span<const Value> carried) {
                      Value v = b.Load(b.Buffer(0), DType::kF32, i);
                      return std::vector<Value>{b.Add(carried[0], v), b.Max(carried[1], v)};
                    });
          b.Store(b.Buffer(1), b.Index(0), r[0]);
          b.Store(b.Buffer(1), b.Index(1), r[1]);
        });
    EXPECT_EQ(y[0], n * (n - 1) / 2);
    EXPECT_EQ(y[1], n - 1);
  }
}

TEST_P(Memory, UnrolledAndNestedLoopsAgree) {
  for (int unroll : {1, 2, 4, 8}) {
    std::vector<int64_t> y(1);
    RunKernel(GetParam(), {DType::kS64}, {y.data()}, {}, 5, [&](Builder& b) {
      Builder::ForOptions options;
      options.unroll = unroll;
      std::vector<Value> r = b.For(b.Index(0), b.ChunkEnd(), 1, {b.Index(0)},
                                   [&](Value i, absl::Span<const Value> outer) {
                                     return b.For(
                                         b.Index(0), b.Index(8), 1, {outer[0]},
                                         [&](Value j, absl::Span<const Value> inner) {
                                           return std::vector<Value>{b.Add(inner[0], b.Mul(i, j))};
                                         },
                                         options);
                                   });
      b.Store(b.Buffer(0), b.Index(0), r[0]);
    });
    EXPECT_EQ(y[0], 10 * 28);
  }
}

TEST_P(Memory, BranchesGiveValues) {
  for (int64_t n : {0, 5}) {
    std::vector<float> y(2, 0);
    RunKernel(GetParam(), {DType::kF32}, {y.data()}, {n}, 0, [&](Builder& b) {
      Value big = b.Compare("gt", b.Size(0), b.Index(2));
      std::vector<Value> r = b.IfElse(
          big, [&] { return std::vector<Value>{b.Float(DType::kF32, 1)}; },
          [&] { return std::vector<Value>{b.Float(DType::kF32, 2)}; });
      b.Store(b.Buffer(0), b.Index(0), r[0]);
      b.If(big, [&] { b.Store(b.Buffer(0), b.Index(1), r[0]); });
    });
    EXPECT_EQ(y[0], n > 2 ? 1 : 2);
    EXPECT_EQ(y[1], n > 2 ? 1 : 0);
  }
}

TEST_P(Memory, LanesMove) {
  std::vector<float> x(16), y(64);
  std::iota(x.begin(), x.end(), 1.0f);
  RunKernel(GetParam(), {DType::kF32, DType::kF32}, {x.data(), y.data()}, {}, 0, [&](Builder& b) {
    Value v = b.Load(b.Buffer(0), DType::kF32, b.Index(0), 16);
    Value out = b.Buffer(1);
    b.Store(out, b.Index(0), b.ReduceLanes(Op::kAdd, v));
    b.Store(out, b.Index(1), b.ReduceLanes(Op::kMul, b.Shuffle(v, {}, {0, 1, 2, 3})));
    b.Store(out, b.Index(2), b.ReduceLanes(Op::kMax, v));
    b.Store(out, b.Index(3), b.ReduceLanes(Op::kMin, v));
    b.Store(out, b.Index(4), b.ExtractLane(b.InsertLane(v, b.Float(DType::kF32, 77), 3), 3));
    b.Store(out, b.Index(16), b.Shuffle(v, v, {15, 31, 0, 16}));
    b.Store(out, b.Index(32), b.Splat(b.ExtractLane(v, 4), 8));
    b.Store(out, b.Index(40), b.ReduceLanes(Op::kAdd, b.Shuffle(v, {}, {0, 1, 2})));
  });
  EXPECT_EQ(y[0], 136);
  EXPECT_EQ(y[1], 24);
  EXPECT_EQ(y[2], 16);
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], 77);
  EXPECT_EQ(y[16], 16);
  EXPECT_EQ(y[17], 16);
  EXPECT_EQ(y[18], 1);
  EXPECT_EQ(y[39], 5);
  EXPECT_EQ(y[40], 6);
}

// One look at all lanes tells whether one is NaN, which the comparisons of the halves do not pass
// on.
TEST_P(Memory, NanInAnyLaneIsTheirExtreme) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (int lanes : {3, 4, 8, 16, 32}) {
    for (int at = -1; at < lanes; ++at) {
      std::vector<float> x(32), y(2);
      std::iota(x.begin(), x.end(), -5.0f);
      x[lanes / 2] = inf;
      x[0] = -inf;
      if (at >= 0) x[at] = nan;
      const std::vector<float> used(x.begin(), x.begin() + lanes);
      RunKernel(GetParam(), {DType::kF32, DType::kF32}, {x.data(), y.data()}, {}, 0,
                [&](Builder& b) {
                  Value v = b.Load(b.Buffer(0), DType::kF32, b.Index(0), lanes);
                  b.Store(b.Buffer(1), b.Index(0), b.ReduceLanes(Op::kMax, v));
                  b.Store(b.Buffer(1), b.Index(1), b.ReduceLanes(Op::kMin, v));
                });
      if (at >= 0) {
        EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << lanes << " lanes, NaN in " << at;
      } else {
        EXPECT_EQ(y[0], *std::max_element(used.begin(), used.end())) << lanes;
        EXPECT_EQ(y[1], *std::min_element(used.begin(), used.end())) << lanes;
      }
    }
  }
}

TEST_P(Memory, ScratchZeroAndCopy) {
  std::vector<int32_t> x(100), y(100, 5);
  std::iota(x.begin(), x.end(), 0);
  RunKernel(GetParam(), {DType::kS32, DType::kS32}, {x.data(), y.data()}, {}, 40, [&](Builder& b) {
    Value first = b.AllocateScratch(DType::kS32, 100);
    Value second = b.AllocateScratch(DType::kS32, 100);
    b.Zero(first, b.Index(400));
    b.Copy(first, b.Buffer(0), b.Mul(b.ChunkEnd(), b.Index(4)));
    b.Copy(second, first, b.Index(400));
    b.Prefetch(second, DType::kS32, b.Index(0));
    b.Prefetch(second, DType::kS32, b.Index(0), Builder::Cache::kSecond);
    b.Copy(b.Offset(b.Buffer(1), DType::kS32, b.Index(1)), second, b.Index(50 * 4));
  });
  EXPECT_EQ(y[0], 5);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(y[i + 1], i < 40 ? i : 0);
  EXPECT_EQ(y[51], 5);
}

TEST_P(Memory, SelectTakesScalarAndVectorConditions) {
  std::vector<float> y(8);
  RunKernel(GetParam(), {DType::kF32}, {y.data()}, {}, 1, [&](Builder& b) {
    Value two = b.Splat(b.Float(DType::kF32, 2), 4), one = b.Splat(b.Float(DType::kF32, 1), 4);
    b.Store(b.Buffer(0), b.Index(0), b.Select(b.Compare("gt", b.ChunkEnd(), b.Index(0)), two, one));
    b.Store(b.Buffer(0), b.Index(4), b.Select(b.MaskUpTo(b.ChunkEnd(), 4), two, one));
  });
  EXPECT_EQ(y, (std::vector<float>{2, 2, 2, 2, 2, 1, 1, 1}));
}

TEST_P(Memory, AliasedBuffersSeeEachOther) {
  // In place, with a shift: marked buffers keep the order of loads and stores.
  std::vector<float> x(64);
  std::iota(x.begin(), x.end(), 0.0f);
  Kernel kernel("k", {{DType::kF32, "x", false, true}, {DType::kF32, "y", true, true}});
  Builder b(&kernel);
  b.For(b.Index(0), b.Index(63), 1, [&](Value i) {
    b.Store(b.Buffer(1), b.Add(i, b.Index(1)), b.Load(b.Buffer(0), DType::kF32, i));
  });
  auto f = testing::CompilerFor(GetParam()).Compile(kernel);
  ASSERT_TRUE(f.ok()) << f.status();
  void* buffers[] = {x.data(), x.data()};
  f->fn(buffers, nullptr, nullptr, 0, 0);
  EXPECT_EQ(x, std::vector<float>(64, 0));
}

}  // namespace
}  // namespace tektite
