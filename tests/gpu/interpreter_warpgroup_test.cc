// Roles, signals, copies of tensors and products of warpgroups on the device interpreter: what they
// compute, and that each mistake with them is reported.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/warp_matrix.h"
#include "jit/llvm/warpgroup.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

using loop::Builder;
using loop::DType;
using loop::kGroupThreads;
using loop::kProductDepth;
using loop::Value;
using ::testing::HasSubstr;
using Values = std::vector<Value>;

constexpr int kRows = 64, kColumns = 128, kSteps = 5, kStages = 2;
constexpr int kDepth = kSteps * kProductDepth - 24;            // the last step ends early
constexpr int kElements = (kRows + kColumns) * kProductDepth;  // of a stage

// What is done wrong.
enum class Mistake {
  kNone,
  kDoesNotAcquire,
  kDoesNotWaitForCopies,
  kWaitsForAnotherPhase,
  kDoesNotWaitUntilFree,
  kReleasesBeforeTheEnd,
  kOneWarpDoesNotRelease,
  kReadsSumsTooEarly,
  kAnnouncesTooManyBytes,
  kArrivesTwice,
  kDoesNotMeet,
  kCopiesToAnOddPlace,
};

struct Product {
  bool lhs_transposed = false, rhs_transposed = false;
  Mistake mistake = Mistake::kNone;
  bool Makes(Mistake which) const { return mistake == which; }
};

void AddMap(loop::Kernel* k, int buffer, bool transposed, int across) {
  const int inner = transposed ? across : kDepth, outer = transposed ? kDepth : across;
  k->tensor_maps.push_back({buffer,
                            {inner, outer, 1},
                            {inner, inner * outer},
                            {kProductDepth, transposed ? kProductDepth : across, 1}});
}

// z = x y, by a warpgroup that copies and one that multiplies.
std::unique_ptr<loop::Kernel> Make(const Product& p) {
  auto k = std::make_unique<loop::Kernel>(
      "product",
      std::vector<loop::BufferInfo>{
          {DType::kF16, "x", false}, {DType::kF16, "y", false}, {DType::kF32, "z", true}});
  k->launch.threads = 2 * kGroupThreads;
  k->launch.resident_threads = 2 * kGroupThreads;
  AddMap(k.get(), 0, p.lhs_transposed, kRows);
  AddMap(k.get(), 1, p.rhs_transposed, kColumns);
  Builder b(k.get());
  const Value shared = b.AllocateShared(DType::kF16, kStages * kElements);
  const Value signals = b.AllocateShared(DType::kS64, 2 * kStages);
  const Value staged = b.AllocateShared(DType::kF32, loop::kGroupWarps * 2);
  const int releases = loop::kGroupWarps - (p.Makes(Mistake::kOneWarpDoesNotRelease) ? 1 : 0);
  b.If(b.Compare("eq", b.ThreadIndex(), b.Index(0)), [&] {
    for (int stage = 0; stage < kStages; ++stage) {
      b.InitSignal(signals, b.Index(stage), 1);
      b.InitSignal(signals, b.Index(kStages + stage), releases);
    }
  });
  b.Barrier();
  const auto stage_of = [&](Value step) { return b.RemNarrow(step, kStages); };
  const auto parity_of = [&](Value step) { return b.RemNarrow(b.DivNarrow(step, kStages), 2); };
  const auto produce = [&] {
    b.If(b.Compare("eq", b.ThreadIndex(), b.Index(0)), [&] {
      if (!p.Makes(Mistake::kDoesNotAcquire)) b.AcquireTensor(0);
      b.AcquireTensor(1);
      b.For(b.Index(0), b.Index(kSteps), 1, [&](Value step) {
        const Value stage = stage_of(step), at = b.Mul(stage, b.Index(kElements));
        if (!p.Makes(Mistake::kDoesNotWaitUntilFree)) {
          b.WaitForSignal(signals, b.Add(stage, b.Index(kStages)),
                          b.Sub(b.Index(1), parity_of(step)));
        }
        const int bytes = kElements * 2 + (p.Makes(Mistake::kAnnouncesTooManyBytes) ? 16 : 0);
        b.Arrive(signals, stage, b.Index(bytes));
        if (p.Makes(Mistake::kArrivesTwice)) b.Arrive(signals, stage, b.Index(0));
        const Value depth = b.Mul(step, b.Index(kProductDepth)), zero = b.Index(0);
        const int64_t off = p.Makes(Mistake::kCopiesToAnOddPlace) ? 64 : 0;
        const Value left = b.Add(at, b.Index(off));
        if (p.lhs_transposed) {
          b.CopyTensor(shared, left, 0, {zero, depth, zero}, signals, stage);
        } else {
          b.CopyTensor(shared, left, 0, {depth, zero, zero}, signals, stage);
        }
        const Value right = b.Add(at, b.Index(kRows * kProductDepth));
        for (int piece = 0; piece < (p.rhs_transposed ? kColumns / kProductDepth : 1); ++piece) {
          const Value to = b.Add(right, b.Index(piece * kProductDepth * kProductDepth));
          const Value across = b.Index(piece * kProductDepth);
          if (p.rhs_transposed) {
            b.CopyTensor(shared, to, 1, {across, depth, zero}, signals, stage);
          } else {
            b.CopyTensor(shared, to, 1, {depth, across, zero}, signals, stage);
          }
        }
      });
    });
  };
  const auto consume = [&] {
    const Value thread = b.Sub(b.ThreadIndex(), b.Index(kGroupThreads));
    const Value warp = b.DivNarrow(thread, loop::kWarpThreads),
                lane = b.RemNarrow(thread, loop::kWarpThreads);
    const auto release = [&](Value stage) {
      Value arrives = b.Compare("eq", lane, b.Index(0));
      if (p.Makes(Mistake::kOneWarpDoesNotRelease)) {
        arrives = b.And(arrives, b.Compare("ne", warp, b.Index(2)));
      }
      b.If(arrives, [&] { b.Arrive(signals, b.Add(stage, b.Index(kStages))); });
    };
    Values zeros(kColumns / loop::kProductColumnsStep,
                 b.Splat(b.Float(DType::kF32, 0), loop::kSumLanes));
    Values sums =
        b.For(b.Index(0), b.Index(kSteps), 1, std::move(zeros),
              [&](Value step, absl::Span<const Value> carried) {
                const Value stage = stage_of(step), at = b.Mul(stage, b.Index(kElements));
                Value parity = parity_of(step);
                if (p.Makes(Mistake::kWaitsForAnotherPhase)) parity = b.Sub(b.Index(1), parity);
                if (!p.Makes(Mistake::kDoesNotWaitForCopies))
                  b.WaitForSignal(signals, stage, parity);
                Values next = b.BeginProduct(
                    shared, DType::kF16, {at, p.lhs_transposed},
                    {b.Add(at, b.Index(kRows * kProductDepth)), p.rhs_transposed}, carried);
                if (p.Makes(Mistake::kReleasesBeforeTheEnd)) release(stage);
                if (p.Makes(Mistake::kReadsSumsTooEarly)) next[3] = b.Add(next[3], next[3]);
                next = b.WaitForProducts(0, next);
                if (!p.Makes(Mistake::kReleasesBeforeTheEnd)) release(stage);
                return next;
              });
    // By way of shared memory, two elements of a warp at a time: so that the warp has to meet.
    const Value first = b.Mul(warp, b.Index(16));
    for (size_t part = 0; part < sums.size(); ++part) {
      for (int i = 0; i < loop::kSumLanes; ++i) {
        const Value row = b.Add(b.Add(first, b.DivNarrow(lane, 4)), b.Index(i / 2 * 8));
        const Value column = b.Add(b.Mul(b.RemNarrow(lane, 4), b.Index(2)),
                                   b.Index(i % 2 + static_cast<int64_t>(part) * 8));
        b.Store(b.Buffer(2), b.Add(b.Mul(row, b.Index(kColumns)), column),
                b.ExtractLane(sums[part], i));
      }
    }
    const Value own = b.Mul(warp, b.Index(2));
    b.If(b.Compare("lt", lane, b.Index(2)),
         [&] { b.Store(staged, b.Add(own, lane), b.Float(DType::kF32, 1)); });
    if (!p.Makes(Mistake::kDoesNotMeet)) b.WarpBarrier();
    b.If(b.Compare("eq", lane, b.Index(5)), [&] {
      const Value seen = b.Load(staged, DType::kF32, b.Add(own, b.Index(1)));
      b.If(b.Compare("eq", seen, b.Float(DType::kF32, 0)),
           [&] { b.Store(b.Buffer(2), b.Index(0), seen); });
    });
  };
  b.Roles(kGroupThreads, {40, 232}, produce, consume);
  return k;
}

std::vector<ir::Half> Numbers(int count, int seed) {
  std::vector<ir::Half> v;
  for (int i = 0; i < count; ++i) {
    v.push_back(ir::Half(static_cast<float>((i * 7 + seed) % 23 - 11) / 4));
  }
  return v;
}

std::string FaultOf(const Product& p, std::vector<float>* z) {
  const std::vector<ir::Half> x = Numbers(kRows * kDepth, 3), y = Numbers(kColumns * kDepth, 8);
  Aligned<ir::Half> on_x(x), on_y(y);
  Aligned<float> on_z(std::vector<float>(kRows * kColumns));
  const absl::Status status = Interpret(Make(p), {on_x.buffer(), on_y.buffer(), on_z.buffer()});
  *z = on_z.values();
  return std::string(status.message());
}

TEST(InterpreterWarpgroup, ProductsOfEveryLayout) {
  const std::vector<ir::Half> x = Numbers(kRows * kDepth, 3), y = Numbers(kColumns * kDepth, 8);
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      SCOPED_TRACE(::testing::Message() << lhs << rhs);
      std::vector<float> z;
      ASSERT_EQ(FaultOf({lhs, rhs, Mistake::kNone}, &z), "");
      for (int m = 0; m < kRows; ++m) {
        for (int n = 0; n < kColumns; ++n) {
          float want = 0;
          for (int i = 0; i < kDepth; ++i) {
            const int at_x = lhs ? i * kRows + m : m * kDepth + i;
            const int at_y = rhs ? i * kColumns + n : n * kDepth + i;
            want += static_cast<float>(x[static_cast<size_t>(at_x)]) *
                    static_cast<float>(y[static_cast<size_t>(at_y)]);
          }
          ASSERT_EQ(z[static_cast<size_t>(m * kColumns + n)], want) << m << ", " << n;
        }
      }
    }
  }
}

TEST(InterpreterWarpgroup, TextNamesRolesAndMaps) {
  const std::string text = Make({false, true, Mistake::kNone})->ToString();
  for (const char* part :
       {"map 0 of buffer 0: sizes 296 64 1, strides 296 18944, box 64 64 1",
        "map 1 of buffer 1: sizes 128 296 1", "roles of 128 threads, registers 40 and 232 {",
        "} and {", "init_signal shared+49152, 0; 1", "acquire_tensor map 1",
        "copy_tensor f16 shared+0", "begin_product f32x4 shared+0", "wait_for_products f32x4",
        "warp_barrier"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(InterpreterWarpgroup, EveryMistakeIsReported) {
  const std::pair<Mistake, const char*> mistakes[] = {
      {Mistake::kDoesNotAcquire, "which this thread has not acquired"},
      {Mistake::kDoesNotWaitForCopies, "into which a copy is under way"},
      {Mistake::kWaitsForAnotherPhase, "into which a copy is under way"},
      {Mistake::kDoesNotWaitUntilFree, "and this is one more"},
      {Mistake::kReleasesBeforeTheEnd, "without a signal from it since"},
      {Mistake::kOneWarpDoesNotRelease, "which warp 6 has read, without a signal from it"},
      {Mistake::kReadsSumsTooEarly, "reads sums of a product that is under way"},
      {Mistake::kAnnouncesTooManyBytes, "waits for ever"},
      {Mistake::kArrivesTwice, "and this is one more"},
      {Mistake::kDoesNotMeet, "data race: reads"},
      {Mistake::kCopiesToAnOddPlace, "is no multiple of 1024"},
  };
  for (const auto& [mistake, report] : mistakes) {
    std::vector<float> z;
    EXPECT_THAT(FaultOf({false, false, mistake}, &z), HasSubstr(report))
        << static_cast<int>(mistake);
  }
}

// A kernel of the four threads' first warpgroup and another: what Verify refuses.
std::string Refusal(const std::function<void(Builder&, Value, Value)>& build,
                    const std::function<void(loop::Kernel&)>& change = nullptr) {
  loop::Kernel k("k", {{DType::kF16, "x", false}, {DType::kF32, "z", true}});
  k.launch.threads = 2 * kGroupThreads;
  k.tensor_maps.push_back({0, {256, 64, 1}, {256, 16384}, {64, 64, 1}});
  if (change) change(k);
  Builder b(&k);
  const Value shared = b.AllocateShared(DType::kF16, 8192);
  const Value signals = b.AllocateShared(DType::kS64, 1);
  build(b, shared, signals);
  return std::string(Verify(k).message());
}

TEST(InterpreterWarpgroup, WhatVerifyRefuses) {
  const auto nothing = [](Builder&, Value, Value) {};
  EXPECT_EQ(Refusal(nothing), "");
  EXPECT_THAT(Refusal(nothing, [](loop::Kernel& k) { k.tensor_maps[0].buffer = 1; }),
              HasSubstr("which is written"));
  EXPECT_THAT(Refusal(nothing, [](loop::Kernel& k) { k.tensor_maps[0].box[0] = 32; }),
              HasSubstr("128 bytes"));
  EXPECT_THAT(Refusal(nothing, [](loop::Kernel& k) { k.tensor_maps[0].strides[0] = 20; }),
              HasSubstr("16 bytes"));
  const auto sums = [](Builder& b, size_t count) {
    return Values(count, b.Splat(b.Float(DType::kF32, 0), loop::kSumLanes));
  };
  EXPECT_THAT(
      Refusal([&](Builder& b, Value shared, Value) {
        b.BeginProduct(shared, DType::kF16, {b.Index(0), false}, {b.Index(4096), true}, sums(b, 3));
      }),
      HasSubstr("24 columns of a transposed operand"));
  EXPECT_THAT(Refusal([&](Builder& b, Value shared, Value) {
                b.BeginProduct(shared, DType::kF16, {b.Index(0), false}, {b.Index(4096), false},
                               sums(b, 33));
              }),
              HasSubstr("33 sums"));
  EXPECT_THAT(
      Refusal([&](Builder& b, Value, Value) { b.WaitForProducts(0, sums(b, 2), b.Index(0)); }),
      HasSubstr("what is computed before is no f32"));
  EXPECT_THAT(Refusal([&](Builder& b, Value shared, Value signals) {
                b.CopyTensor(shared, b.Index(0), 1, {b.Index(0), b.Index(0), b.Index(0)}, signals,
                             b.Index(0));
              }),
              HasSubstr("tensor map 1 of 1"));
  EXPECT_THAT(Refusal([](Builder& b, Value, Value) {
                b.Roles(
                    64, {40, 232}, [] {}, [] {});
              }),
              HasSubstr("roles of 64 and 192 threads"));
  EXPECT_THAT(Refusal([](Builder& b, Value, Value) {
                b.Roles(
                    128, {256, 264}, [] {}, [] {});
              }),
              HasSubstr("264 registers"));
  EXPECT_THAT(Refusal([](Builder& b, Value shared, Value) { b.Arrive(shared, b.Index(0)); }),
              HasSubstr("must name a signal"));
}

}  // namespace
}  // namespace tektite::testing
