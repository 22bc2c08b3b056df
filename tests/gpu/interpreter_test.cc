// The device interpreter's reports: for each fault a kernel that has it, and one without.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

using loop::Builder;
using loop::DType;
using loop::kWarpThreads;
using loop::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kThreads = 64;

// Runs `body` in `blocks` blocks on s32 buffers x (0, 1, ..., read only) and y (all -1).
absl::Status RunOn(int blocks, const std::function<void(Builder&)>& body,
                   std::vector<int32_t>* result = nullptr, int64_t elements = 256) {
  auto k = std::make_unique<loop::Kernel>(
      "faulty", std::vector<loop::BufferInfo>{{DType::kS32, "x", false}, {DType::kS32, "y", true}});
  k->launch.threads = kThreads;
  k->launch.blocks = blocks;
  Builder b(k.get());
  body(b);
  std::vector<int32_t> numbers(static_cast<size_t>(elements));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
  Aligned<int32_t> x(numbers), y(std::vector<int32_t>(numbers.size(), -1));
  const absl::Status status = Interpret(std::move(k), {x.buffer(), y.buffer()});
  if (result != nullptr) *result = y.values();
  return status;
}

std::string FaultOf(int blocks, const std::function<void(Builder&)>& body) {
  return std::string(RunOn(blocks, body).message());
}

Value Global(Builder& b) {
  return b.Add(b.Mul(b.BlockIndex(), b.Index(kThreads)), b.ThreadIndex());
}
Value X(Builder& b, Value at) { return b.Load(b.Buffer(0), DType::kS32, at); }
Value One(Builder& b) { return b.Int(DType::kS32, 1); }
Value Lane(Builder& b) { return b.Rem(b.ThreadIndex(), b.Index(kWarpThreads)); }
Value IsFirst(Builder& b) { return b.Compare("eq", b.ThreadIndex(), b.Index(0)); }

TEST(Interpreter, NeighboursThroughSharedMemory) {
  std::vector<int32_t> y;
  const absl::Status status = RunOn(
      3,
      [](Builder& b) {
        const Value shared = b.AllocateShared(DType::kS32, kThreads), t = b.ThreadIndex();
        b.For(b.Index(0), b.Index(2), 1, [&](Value) {
          b.Store(shared, t, X(b, Global(b)));
          b.Barrier();
          const Value other = b.Sub(b.Index(kThreads - 1), t);
          b.Store(b.Buffer(1), Global(b), b.Load(shared, DType::kS32, other));
          b.Barrier();
        });
      },
      &y);
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < 256; ++i) {
    const int block = i / kThreads, thread = i % kThreads;
    EXPECT_EQ(y[i], i < 3 * kThreads ? block * kThreads + kThreads - 1 - thread : -1) << i;
  }
}

TEST(Interpreter, ThreadsLeaveLoopsOneByOne) {
  std::vector<int32_t> y;
  const absl::Status status = RunOn(
      1,
      [](Builder& b) {
        const Value sum = b.For(b.Index(0), b.ThreadIndex(), 3, {b.Int(DType::kS32, 0), One(b)},
                                [&](Value i, absl::Span<const Value> v) {
                                  // The second is the first of the trip before: both are read
                                  // before either is set.
                                  return std::vector<Value>{b.Add(v[1], X(b, i)), v[0]};
                                })[0];
        const Value odd = b.Compare("eq", b.Rem(b.ThreadIndex(), b.Index(2)), b.Index(1));
        const Value chosen = b.IfElse(
            odd, [&] { return std::vector<Value>{sum}; },
            [&] { return std::vector<Value>{b.Unary(ir::Op::kNeg, sum)}; })[0];
        b.Store(b.Buffer(1), b.ThreadIndex(), chosen);
      },
      &y);
  ASSERT_TRUE(status.ok()) << status;
  for (int t = 0; t < kThreads; ++t) {
    int32_t first = 0, second = 1;
    for (int i = 0; i < t; i += 3) {
      const int32_t next = second + i;
      second = first;
      first = next;
    }
    EXPECT_EQ(y[t], t % 2 == 1 ? first : -first) << t;
  }
}

TEST(Interpreter, ExchangesAndVotes) {
  std::vector<int32_t> y;
  const absl::Status status = RunOn(
      1,
      [](Builder& b) {
        const Value x = X(b, b.ThreadIndex());
        const Value ten = b.Int(DType::kS32, 10), forty = b.Int(DType::kS32, 40);
        Value all = b.Add(b.WarpDown(x, 3), b.WarpXor(x, 5));
        all = b.Add(all, b.WarpRead(x, b.Sub(b.Index(31), Lane(b))));
        all = b.Add(all, b.Convert(b.WarpAny(b.Compare("eq", x, ten)), DType::kS32));
        all = b.Add(all, b.Mul(ten, b.Convert(b.WarpAll(b.Compare("lt", x, forty)), DType::kS32)));
        b.Store(b.Buffer(1), b.ThreadIndex(), all);
      },
      &y);
  ASSERT_TRUE(status.ok()) << status;
  for (int t = 0; t < kThreads; ++t) {
    const int lane = t % 32, warp = t - lane;
    const int down = lane + 3 < 32 ? t + 3 : t;
    EXPECT_EQ(y[t], down + (warp + (lane ^ 5)) + (warp + 31 - lane) + (warp == 0 ? 11 : 0)) << t;
  }
}

TEST(Interpreter, RacesOfABlocksThreads) {
  EXPECT_THAT(FaultOf(1, [](Builder& b) { b.Store(b.Buffer(1), b.Index(3), One(b)); }),
              AllOf(HasSubstr("thread 1 of block 0: data race: writes byte 12 of y"),
                    HasSubstr("which thread 0 wrote without a barrier between")));
  // A thread reads what another writes, in shared memory.
  const auto exchange = [](bool barrier) {
    return [barrier](Builder& b) {
      const Value shared = b.AllocateShared(DType::kS32, kThreads);
      b.Store(shared, b.ThreadIndex(), One(b));
      if (barrier) b.Barrier();
      const Value next = b.Rem(b.Add(b.ThreadIndex(), b.Index(1)), b.Index(kThreads));
      b.Store(b.Buffer(1), Global(b), b.Load(shared, DType::kS32, next));
    };
  };
  EXPECT_THAT(FaultOf(1, exchange(false)), HasSubstr("data race: reads byte 4 of shared memory"));
  EXPECT_EQ(FaultOf(2, exchange(true)), "");
  // A thread writes bytes that other threads have read since the barrier.
  EXPECT_THAT(FaultOf(1,
                      [](Builder& b) {
                        const Value v = b.Load(b.Buffer(1), DType::kS32, b.Index(0));
                        b.If(IsFirst(b), [&] { b.Store(b.Buffer(1), b.Index(0), v); });
                      }),
              HasSubstr("which other threads read without a barrier between"));
}

TEST(Interpreter, RacesOfBlocks) {
  const auto write = [](int64_t stride) {
    return [stride](Builder& b) {
      b.If(IsFirst(b),
           [&] { b.Store(b.Buffer(1), b.Mul(b.BlockIndex(), b.Index(stride)), One(b)); });
      b.Barrier();  // of the block alone
    };
  };
  EXPECT_THAT(FaultOf(2, write(0)), HasSubstr("which another block wrote"));
  EXPECT_EQ(FaultOf(2, write(1)), "");
  EXPECT_THAT(FaultOf(2,
                      [](Builder& b) {
                        const Value at = b.Sub(b.Index(kThreads), Global(b));
                        const Value v = b.Load(b.Buffer(1), DType::kS32, b.Max(at, b.Index(0)));
                        b.If(b.And(IsFirst(b), b.Compare("eq", b.BlockIndex(), b.Index(1))),
                             [&] { b.Store(b.Buffer(1), b.Index(9), v); });
                      }),
              HasSubstr("writes byte 36 of y, which another block read"));
}

TEST(Interpreter, DivergentBarriers) {
  EXPECT_THAT(FaultOf(1, [](Builder& b) { b.If(IsFirst(b), [&] { b.Barrier(); }); }),
              AllOf(HasSubstr("(barrier), thread 1 of block 0"),
                    HasSubstr("divergent barrier: 1 of 64 threads")));
  // Not every thread makes the last trip.
  EXPECT_THAT(FaultOf(1,
                      [](Builder& b) {
                        const Value end = b.Add(b.Div(b.ThreadIndex(), b.Index(60)), b.Index(1));
                        b.For(b.Index(0), end, 1, [&](Value) { b.Barrier(); });
                      }),
              HasSubstr("divergent barrier: 4 of 64 threads"));
  // A condition that is the same in all threads is none.
  EXPECT_EQ(FaultOf(2,
                    [](Builder& b) {
                      b.If(b.Compare("eq", b.BlockIndex(), b.Index(1)), [&] { b.Barrier(); });
                    }),
            "");
}

TEST(Interpreter, DivergentExchanges) {
  const auto exchange_below = [](int64_t threads) {
    return [threads](Builder& b) {
      b.If(b.Compare("lt", b.ThreadIndex(), b.Index(threads)),
           [&] { b.Store(b.Buffer(1), b.ThreadIndex(), b.WarpXor(X(b, b.ThreadIndex()), 1)); });
    };
  };
  EXPECT_THAT(FaultOf(1, exchange_below(40)), HasSubstr("divergent exchange: 8 of 32"));
  EXPECT_EQ(FaultOf(1, exchange_below(32)), "");  // whole warps
  EXPECT_THAT(FaultOf(1,
                      [](Builder& b) {
                        b.Store(b.Buffer(1), b.ThreadIndex(),
                                b.WarpRead(X(b, b.ThreadIndex()), b.Index(32)));
                      }),
              HasSubstr("a warp has no thread 32"));
}

TEST(Interpreter, UninitializedReads) {
  const auto read = [](bool shared, bool write) {
    return [shared, write](Builder& b) {
      const Value p = shared ? b.AllocateShared(DType::kS32, kThreads)
                             : b.AllocateScratch(DType::kS32, kThreads);
      // Shared memory of another block is no help.
      if (write) {
        b.Store(p, b.ThreadIndex(), One(b));
      } else if (shared) {
        b.If(b.Compare("eq", b.BlockIndex(), b.Index(0)),
             [&] { b.Store(p, b.ThreadIndex(), One(b)); });
      }
      b.Store(b.Buffer(1), Global(b), b.Load(p, DType::kS32, b.ThreadIndex()));
    };
  };
  EXPECT_THAT(FaultOf(2, read(true, false)),
              HasSubstr("thread 0 of block 1: byte 0 of shared memory is read uninitialized"));
  EXPECT_THAT(FaultOf(1, read(false, false)), HasSubstr("byte 0 of scratch is read uninit"));
  EXPECT_EQ(FaultOf(2, read(true, true)), "");
  EXPECT_EQ(FaultOf(1, read(false, true)), "");
  EXPECT_THAT(FaultOf(2, read(false, true)), HasSubstr("data race"));  // one scratch for all blocks
}

TEST(Interpreter, AccessesOutOfBounds) {
  EXPECT_THAT(FaultOf(5, [](Builder& b) { b.Store(b.Buffer(1), Global(b), One(b)); }),
              HasSubstr("4 bytes at byte 1024 of y are out of bounds: it has 1024"));
  EXPECT_THAT(FaultOf(1,
                      [](Builder& b) {
                        b.Store(b.Buffer(1), b.ThreadIndex(),
                                X(b, b.Sub(b.ThreadIndex(), b.Index(2))));
                      }),
              HasSubstr("4 bytes at byte -8 of x"));
  // Lanes that are off touch nothing.
  const auto tail = [](int lanes_on) {
    return [lanes_on](Builder& b) {
      b.If(IsFirst(b), [&] {
        const Value count = b.Add(b.BlockIndex(), b.Index(lanes_on));
        const Value mask = b.MaskUpTo(count, 4);
        const Value v = b.Load(b.Buffer(0), DType::kS32, b.Index(254), 4, mask);
        b.Store(b.Buffer(1), b.Index(254), v, mask);
      });
    };
  };
  EXPECT_EQ(FaultOf(1, tail(2)), "");
  EXPECT_THAT(FaultOf(1, tail(3)), HasSubstr("at byte 1024 of x are out of bounds"));
  EXPECT_THAT(FaultOf(1, [](Builder& b) { b.Store(b.Buffer(0), b.ThreadIndex(), One(b)); }),
              HasSubstr("writes to x, which is read only"));
}

TEST(Interpreter, MisalignedVectors) {
  auto k = std::make_unique<loop::Kernel>(
      "vectors",
      std::vector<loop::BufferInfo>{{DType::kS32, "x", false}, {DType::kS32, "y", true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  const Value at = b.Mul(b.ThreadIndex(), b.Index(4));
  b.Store(b.Buffer(1), at, b.Load(b.Buffer(0), DType::kS32, at, 4));
  auto made = gpu::InterpretedKernel::Create(std::move(k), &SharedLaneFunctions());
  ASSERT_TRUE(made.ok()) << made.status();
  Aligned<int32_t> x(std::vector<int32_t>(132, 7)), y(std::vector<int32_t>(128));
  const absl::Status fine = (*made)->Run({x.buffer(), y.buffer()}, {});
  EXPECT_TRUE(fine.ok()) << fine;
  EXPECT_THAT(std::string((*made)->Run({{x.data() + 1, 512}, y.buffer()}, {}).message()),
              HasSubstr("is misaligned: 16 bytes at once must begin at a multiple of 16"));
}

TEST(Interpreter, BuffersThatShareMemory) {
  auto k = std::make_unique<loop::Kernel>(
      "shifted", std::vector<loop::BufferInfo>{{DType::kS32, "x", false, true},
                                               {DType::kS32, "y", true, true}});
  k->launch.threads = kWarpThreads;
  Builder b(k.get());
  b.Store(b.Buffer(1), b.ThreadIndex(), b.Load(b.Buffer(0), DType::kS32, b.ThreadIndex()));
  auto made = gpu::InterpretedKernel::Create(std::move(k), &SharedLaneFunctions());
  ASSERT_TRUE(made.ok()) << made.status();
  Aligned<int32_t> x(std::vector<int32_t>(64, 7));
  const absl::Status in_place = (*made)->Run({{x.data(), 128}, {x.data(), 128}}, {});
  EXPECT_TRUE(in_place.ok()) << in_place;
  EXPECT_THAT(std::string((*made)->Run({{x.data(), 128}, {x.data() + 16, 128}}, {}).message()),
              HasSubstr("data race"));
}

// Runs launches of two blocks each, one after the other, on s32 buffers x and y and on scratch for
// all threads.
std::string FaultOfLaunches(const std::vector<std::function<void(Builder&, Value scratch)>>& bodies,
                            std::vector<int32_t>* result = nullptr) {
  std::vector<std::unique_ptr<loop::Kernel>> launches;
  for (const auto& body : bodies) {
    launches.push_back(std::make_unique<loop::Kernel>(
        "several",
        std::vector<loop::BufferInfo>{{DType::kS32, "x", false}, {DType::kS32, "y", true}}));
    launches.back()->launch.threads = kThreads;
    launches.back()->launch.blocks = 2;
    Builder b(launches.back().get());
    body(b, b.AllocateScratch(DType::kS32, 2 * kThreads));
  }
  auto made = gpu::InterpretedKernel::Create(std::move(launches), &SharedLaneFunctions());
  if (!made.ok()) return std::string(made.status().message());
  Aligned<int32_t> x(std::vector<int32_t>(2 * kThreads, 7)), y(std::vector<int32_t>(2 * kThreads));
  const absl::Status status = (*made)->Run({x.buffer(), y.buffer()}, {});
  if (result != nullptr) *result = y.values();
  return std::string(status.message());
}

TEST(Interpreter, LaunchesSeeWhatEarlierOnesWrote) {
  const auto opposite = [](Builder& b) { return b.Sub(b.Index(2 * kThreads - 1), Global(b)); };
  const auto write = [](Builder& b, Value scratch) {
    b.Store(scratch, Global(b), b.Convert(Global(b), DType::kS32));
  };
  const auto read = [&](Builder& b, Value scratch) {
    b.Store(b.Buffer(1), Global(b), b.Load(scratch, DType::kS32, opposite(b)));
  };
  std::vector<int32_t> y;
  EXPECT_EQ(FaultOfLaunches({write, read, write}, &y), "");
  for (int i = 0; i < 2 * kThreads; ++i) EXPECT_EQ(y[i], 2 * kThreads - 1 - i);

  EXPECT_THAT(FaultOfLaunches({read, write}), HasSubstr("of scratch is read uninitialized"));
  const auto both = [&](Builder& b, Value scratch) {
    write(b, scratch);
    read(b, scratch);
  };
  EXPECT_THAT(FaultOfLaunches({write, both}), HasSubstr("data race"));
  // Blocks that read what they all read before, and one that then writes it.
  const auto read_then_write = [&](Builder& b, Value scratch) {
    read(b, scratch);
    b.Barrier();
    write(b, scratch);
  };
  EXPECT_THAT(FaultOfLaunches({write, read, read_then_write}), HasSubstr("data race"));
}

TEST(Interpreter, RefusesWhatIsNoLaunchOfItsKernel) {
  EXPECT_EQ(FaultOf(0, [](Builder& b) { b.Store(b.Buffer(1), b.Index(0), One(b)); }), "");
  auto host = std::make_unique<loop::Kernel>("host", std::vector<loop::BufferInfo>{});
  EXPECT_THAT(std::string(Interpret(std::move(host), {}).message()), HasSubstr("is for the host"));
  auto k = std::make_unique<loop::Kernel>("empty", std::vector<loop::BufferInfo>{});
  k->launch.threads = kWarpThreads;
  EXPECT_THAT(std::string(Interpret(std::move(k), {{}}).message()),
              HasSubstr("1 buffers and 0 sizes, expected 0 and 0"));
}

}  // namespace
}  // namespace tektite::testing
