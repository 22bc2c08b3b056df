// Products of warpgroups whose left side lies in registers, and shared memory that one role hands
// to another by a signal: what they compute, and that each mistake is reported.
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

using ir::Half;
using loop::Builder;
using loop::DType;
using loop::kGroupThreads;
using loop::kProductDepth;
using loop::kWarpThreads;
using loop::Value;
using ::testing::HasSubstr;
using Values = std::vector<Value>;

constexpr int kRows = 64, kColumns = 64;

enum class Mistake { kNone, kReadsSumsTooEarly, kDoesNotWaitForCopies, kPartsOfAnotherType };

// The thread's part of x, [kRows][kProductDepth] in memory.
Value PartOf(Builder& b, Value warp, Value lane, int i) {
  const int in_step = i % loop::kLeftParts, step = i / loop::kLeftParts;
  const Value row = b.Add(b.Add(b.Mul(warp, b.Index(loop::kMatrixRows)), b.DivNarrow(lane, 4)),
                          b.Index(in_step % 2 * 8));
  const Value column = b.Add(b.Mul(b.RemNarrow(lane, 4), b.Index(2)),
                             b.Index(in_step / 2 * 8 + step * loop::kInstructionDepth));
  return b.Load(b.Buffer(0), DType::kF16, b.Add(b.Mul(row, b.Index(kProductDepth)), column), 2);
}

// z = 2 x y: the left side is added to itself in registers first.
std::unique_ptr<loop::Kernel> MakeProduct(bool transposed, Mistake mistake) {
  auto k = std::make_unique<loop::Kernel>(
      "product",
      std::vector<loop::BufferInfo>{
          {DType::kF16, "x", false}, {DType::kF16, "y", false}, {DType::kF32, "z", true}});
  k->launch.threads = 2 * kGroupThreads;
  k->launch.resident_threads = 2 * kGroupThreads;
  k->tensor_maps.push_back({1,
                            {kColumns, kProductDepth, 1},
                            {kColumns, kColumns * kProductDepth},
                            {kProductDepth, kProductDepth, 1}});
  Builder b(k.get());
  const Value shared = b.AllocateShared(DType::kF16, kProductDepth * kColumns);
  const Value signals = b.AllocateShared(DType::kS64, 1);
  const Value zero = b.Index(0);
  b.If(b.Compare("eq", b.ThreadIndex(), zero), [&] { b.InitSignal(signals, zero, 1); });
  b.Barrier();
  const auto produce = [&] {
    b.If(b.Compare("eq", b.ThreadIndex(), zero), [&] {
      b.AcquireTensor(0);
      b.Arrive(signals, zero, b.Index(kProductDepth * kColumns * 2));
      b.CopyTensor(shared, zero, 0, {zero, zero, zero}, signals, zero);
    });
  };
  const auto consume = [&] {
    const Value thread = b.Sub(b.ThreadIndex(), b.Index(kGroupThreads));
    const Value warp = b.DivNarrow(thread, kWarpThreads), lane = b.RemNarrow(thread, kWarpThreads);
    Values parts;
    for (int i = 0; i < loop::kProductParts; ++i) {
      const Value part = PartOf(b, warp, lane, i);
      const Value twice =
          b.Convert(b.Add(b.Convert(part, DType::kF32), b.Convert(part, DType::kF32)), DType::kF16);
      const bool is_other = mistake == Mistake::kPartsOfAnotherType && i == 5;
      parts.push_back(is_other ? b.Convert(twice, DType::kBF16) : twice);
    }
    if (mistake != Mistake::kDoesNotWaitForCopies) b.WaitForSignal(signals, zero, zero);
    Values sums(kColumns / loop::kProductColumnsStep,
                b.Splat(b.Float(DType::kF32, 0), loop::kSumLanes));
    sums = b.BeginProduct(parts, shared, {zero, transposed}, sums);
    if (mistake == Mistake::kReadsSumsTooEarly) sums[1] = b.Add(sums[1], sums[2]);
    sums = b.WaitForProducts(0, sums);
    for (size_t part = 0; part < sums.size(); ++part) {
      for (int i = 0; i < loop::kSumLanes; ++i) {
        const Value row =
            b.Add(b.Add(b.Mul(warp, b.Index(loop::kMatrixRows)), b.DivNarrow(lane, 4)),
                  b.Index(i / 2 * 8));
        const Value column = b.Add(b.Mul(b.RemNarrow(lane, 4), b.Index(2)),
                                   b.Index(i % 2 + static_cast<int64_t>(part) * 8));
        b.Store(b.Buffer(2), b.Add(b.Mul(row, b.Index(kColumns)), column),
                b.ExtractLane(sums[part], i));
      }
    }
  };
  b.Roles(kGroupThreads, {40, 232}, produce, consume);
  return k;
}

std::vector<Half> Numbers(int seed) {
  std::vector<Half> v;
  for (int i = 0; i < kRows * kProductDepth; ++i) {
    v.push_back(Half(static_cast<float>((i * 7 + seed) % 23 - 11) / 4));
  }
  return v;
}

std::string FaultOf(bool transposed, Mistake mistake, std::vector<float>* z) {
  Aligned<Half> x(Numbers(3)), y(Numbers(8));
  Aligned<float> on_z(std::vector<float>(kRows * kColumns));
  const absl::Status status =
      Interpret(MakeProduct(transposed, mistake), {x.buffer(), y.buffer(), on_z.buffer()});
  *z = on_z.values();
  return std::string(status.message());
}

TEST(InterpreterRegisters, ProductsOfALeftSideInRegisters) {
  const std::vector<Half> x = Numbers(3), y = Numbers(8);
  for (const bool transposed : {false, true}) {
    std::vector<float> z;
    ASSERT_EQ(FaultOf(transposed, Mistake::kNone, &z), "");
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kColumns; ++n) {
        float want = 0;
        for (int i = 0; i < kProductDepth; ++i) {
          const int at = transposed ? i * kColumns + n : n * kProductDepth + i;
          want += 2 * static_cast<float>(x[static_cast<size_t>(m * kProductDepth + i)]) *
                  static_cast<float>(y[static_cast<size_t>(at)]);
        }
        ASSERT_EQ(z[static_cast<size_t>(m * kColumns + n)], want) << m << ", " << n;
      }
    }
  }
}

TEST(InterpreterRegisters, EveryMistakeWithAProductIsReported) {
  const std::pair<Mistake, const char*> mistakes[] = {
      {Mistake::kReadsSumsTooEarly, "reads sums of a product that is under way"},
      {Mistake::kDoesNotWaitForCopies, "into which a copy is under way"},
      {Mistake::kPartsOfAnotherType, "a part is not two elements"},
  };
  for (const auto& [mistake, report] : mistakes) {
    std::vector<float> z;
    EXPECT_THAT(FaultOf(true, mistake, &z), HasSubstr(report)) << static_cast<int>(mistake);
  }
}

// How a number passes from the second role to the first one.
enum class Handing { kWell, kWithoutMeeting, kBeforeWriting, kUnawaited, kOverwritten };

std::string FaultOf(Handing how) {
  auto k = std::make_unique<loop::Kernel>("hands_over",
                                          std::vector<loop::BufferInfo>{{DType::kS32, "z", true}});
  k->launch.threads = 2 * kGroupThreads;
  Builder b(k.get());
  const Value number = b.AllocateShared(DType::kS32, 1), signals = b.AllocateShared(DType::kS64, 1);
  const Value zero = b.Index(0);
  b.If(b.Compare("eq", b.ThreadIndex(), zero), [&] { b.InitSignal(signals, zero, 1); });
  b.Barrier();
  const auto take = [&] {
    b.If(b.Compare("eq", b.ThreadIndex(), zero), [&] {
      if (how != Handing::kUnawaited) b.WaitForSignal(signals, zero, zero);
      b.Store(b.Buffer(0), zero, b.Load(number, DType::kS32, zero));
    });
  };
  const auto hand = [&] {
    const Value warp = b.DivNarrow(b.ThreadIndex(), kWarpThreads);
    const Value is_first = b.Compare("eq", b.ThreadIndex(), b.Index(kGroupThreads));
    const auto write = [&] {
      b.If(is_first, [&] { b.Store(number, zero, b.Int(DType::kS32, 42)); });
      if (how != Handing::kWithoutMeeting) b.WarpBarrier();
    };
    if (how != Handing::kBeforeWriting) write();
    b.If(is_first, [&] { b.Arrive(signals, zero); });
    if (how == Handing::kBeforeWriting) write();
    if (how == Handing::kOverwritten) {
      b.If(b.Compare("eq", warp, b.Index(5)),
           [&] { b.Store(number, zero, b.Int(DType::kS32, 7)); });
    }
  };
  b.Roles(kGroupThreads, {40, 232}, take, hand);
  Aligned<int32_t> z({0});
  const absl::Status status = Interpret(std::move(k), {z.buffer()});
  EXPECT_EQ(z.values()[0], status.ok() ? 42 : z.values()[0]);
  return std::string(status.message());
}

TEST(InterpreterRegisters, SignalsHandOverWhatAWarpHasWritten) {
  EXPECT_EQ(FaultOf(Handing::kWell), "");
  for (Handing how : {Handing::kWithoutMeeting, Handing::kBeforeWriting, Handing::kOverwritten}) {
    EXPECT_THAT(FaultOf(how), HasSubstr("data race")) << static_cast<int>(how);
  }
  EXPECT_THAT(FaultOf(Handing::kUnawaited),
              ::testing::AnyOf(HasSubstr("data race"), HasSubstr("uninitialized")));
}

}  // namespace
}  // namespace tektite::testing
