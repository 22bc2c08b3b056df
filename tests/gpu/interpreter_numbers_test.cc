// The device interpreter computes what the CPU's code computes, bit for bit.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/gpu/emit/attention/weight_exp.h"
#include "gtest/gtest.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

using ir::Op;
using loop::Builder;
using loop::DType;
using loop::Value;

constexpr int kCount = 256, kLanes = 4;

using Body = std::function<Value(Builder&, const std::vector<Value>&)>;

// y[i] = body(x[i], x[i + 1]) on the interpreter, vectors of kLanes a thread.
std::vector<uint32_t> OnDevice(const Body& body, const std::vector<uint32_t>& x) {
  auto k = std::make_unique<loop::Kernel>(
      "numbers", std::vector<loop::BufferInfo>{{DType::kF32, "x"}, {DType::kF32, "y", true}});
  k->launch.threads = 32;
  k->launch.blocks = kCount / kLanes / 32;
  Builder b(k.get());
  const Value at =
      b.Mul(b.Add(b.Mul(b.BlockIndex(), b.Index(32)), b.ThreadIndex()), b.Index(kLanes));
  const auto load = [&](int64_t shift) {
    return b.Load(b.Buffer(0), DType::kF32, b.Add(at, b.Index(shift)), kLanes);
  };
  b.Store(b.Buffer(1), at, body(b, {load(0), load(1)}));
  Aligned<uint32_t> in{x}, out{std::vector<uint32_t>(kCount)};
  const absl::Status status = Interpret(std::move(k), {in.buffer(), out.buffer()});
  EXPECT_TRUE(status.ok()) << status;
  return out.values();
}

std::vector<uint32_t> OnHost(const Body& body, const std::vector<uint32_t>& x) {
  auto f = CompileElementwise(CompilerFor(kHostOfDevices), "numbers",
                              {DType::kF32, DType::kF32, DType::kF32}, 1, body);
  EXPECT_TRUE(f.ok()) << f.status();
  std::vector<uint32_t> second(x.begin() + 1, x.end()), out(kCount);
  void* buffers[] = {const_cast<uint32_t*>(x.data()), second.data(), out.data()};
  if (f.ok()) f->fn(buffers, nullptr, nullptr, 0, kCount);
  return out;
}

std::vector<uint32_t> Numbers() {
  std::vector<float> x = {0,
                          -0.0f,
                          1,
                          -1,
                          0.5f,
                          1e-40f,
                          -1e-40f,
                          88.8f,
                          -104.5f,
                          3e38f,
                          -3e38f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::nanf("")};
  while (x.size() < kCount + kLanes) {
    x.push_back(std::sin(static_cast<float>(x.size())) * static_cast<float>(x.size() % 7));
  }
  std::vector<uint32_t> bits(x.size());
  std::memcpy(bits.data(), x.data(), x.size() * sizeof(float));
  return bits;
}

TEST(InterpreterNumbers, AreTheHostsBitForBit) {
  std::vector<std::pair<const char*, Body>> bodies;
  for (const Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kSin, Op::kSqrt, Op::kNeg}) {
    bodies.emplace_back(ir::OpName(op).data(), [op](Builder& b, const std::vector<Value>& x) {
      return b.Unary(op, x[0]);
    });
  }
  for (const Op op : {Op::kAdd, Op::kMul, Op::kDiv, Op::kMax, Op::kMin, Op::kPow, Op::kRem}) {
    bodies.emplace_back(ir::OpName(op).data(), [op](Builder& b, const std::vector<Value>& x) {
      return b.Binary(op, x[0], x[1]);
    });
  }
  bodies.emplace_back(
      "fma", [](Builder& b, const std::vector<Value>& x) { return b.Fma(x[0], x[1], x[0]); });
  bodies.emplace_back("compare and select", [](Builder& b, const std::vector<Value>& x) {
    return b.Select(b.Compare("lt", x[0], x[1]), x[1],
                    b.Splat(b.Float(DType::kF32, 3), x[0].lanes()));
  });
  for (const DType to : {DType::kBool, DType::kS8, DType::kU8, DType::kS32, DType::kU32,
                         DType::kS64, DType::kU64, DType::kF16, DType::kBF16, DType::kF64}) {
    bodies.emplace_back("convert", [to](Builder& b, const std::vector<Value>& x) {
      return b.Convert(b.Convert(x[0], to), DType::kF32);
    });
  }
  const std::vector<uint32_t> x = Numbers();
  for (const auto& [name, body] : bodies) EXPECT_EQ(OnDevice(body, x), OnHost(body, x)) << name;
}

TEST(InterpreterNumbers, LanesMoveAsOnTheHost) {
  // Sums of vectors in the same order, lanes taken out, put in and moved.
  const Body body = [](Builder& b, const std::vector<Value>& x) {
    const Value sum = b.ReduceLanes(Op::kAdd, x[0]);
    Value v = b.Shuffle(x[0], x[1], {3, 5, 0, 6});
    v = b.InsertLane(v, b.ExtractLane(x[1], 2), 1);
    const Value mask = b.MaskUpTo(b.Convert(b.ExtractLane(x[0], 0), DType::kS64), kLanes);
    return b.Select(mask, b.Add(v, b.Splat(sum, kLanes)),
                    b.Convert(b.Iota(DType::kS32, kLanes), DType::kF32));
  };
  const std::vector<uint32_t> x = Numbers();
  auto f = CompileElementwise(CompilerFor(kHostOfDevices), "lanes",
                              {DType::kF32, DType::kF32, DType::kF32}, kLanes, body);
  ASSERT_TRUE(f.ok()) << f.status();
  std::vector<uint32_t> second(x.begin() + 1, x.end()), out(kCount);
  void* buffers[] = {const_cast<uint32_t*>(x.data()), second.data(), out.data()};
  f->fn(buffers, nullptr, nullptr, 0, kCount);
  EXPECT_EQ(OnDevice(body, x), out);
}

// What attention of f16 and bf16 weighs with: 2^-17, and what masks make of it.
TEST(InterpreterNumbers, WeightsAreExp) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0F, -0.0F, -kInf, std::nanf(""), -3e38F, -1e9F, -88.1F};
  while (x.size() < kCount + 1) x.push_back(-87.0F * static_cast<float>(x.size()) / kCount);
  std::vector<uint32_t> bits(x.size());
  std::memcpy(bits.data(), x.data(), x.size() * sizeof(float));
  const std::vector<uint32_t> out = OnDevice(
      [](Builder& b, const std::vector<Value>& v) { return gpu::WeightExp(b, v[0]); }, bits);
  for (size_t i = 0; i < out.size(); ++i) {
    float got;
    std::memcpy(&got, &out[i], sizeof(got));
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(got));
    } else if (x[i] < -88) {
      EXPECT_EQ(got, 0) << x[i];
    } else {
      const double want = std::exp(static_cast<double>(x[i]));
      EXPECT_NEAR(got, want, x[i] == 0 ? 0 : want * 0x1p-17) << x[i];
    }
  }
}

TEST(InterpreterNumbers, SizesOfSymbols) {
  auto k = std::make_unique<loop::Kernel>("sized",
                                          std::vector<loop::BufferInfo>{{DType::kS64, "y", true}},
                                          std::vector<std::string>{"n"});
  const ir::Dim n = ir::Dim::Symbol("n");
  k->launch.threads = 32;
  k->launch.blocks = ir::CeilDiv(n, 32);
  Builder b(k.get());
  const Value i = b.Add(b.Mul(b.BlockIndex(), b.Index(32)), b.ThreadIndex());
  b.If(b.Compare("lt", i, b.Index(n)), [&] { b.Store(b.Buffer(0), i, b.BlockCount()); });
  auto made = gpu::InterpretedKernel::Create(std::move(k), &SharedLaneFunctions());
  ASSERT_TRUE(made.ok()) << made.status();
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{32}, int64_t{100}}) {
    Aligned<int64_t> y(std::vector<int64_t>(static_cast<size_t>(size), -1));
    const absl::Status status = (*made)->Run({y.buffer()}, {size});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(y.values(), std::vector<int64_t>(static_cast<size_t>(size), (size + 31) / 32));
  }
}

}  // namespace
}  // namespace tektite::testing
