#include "bench/kernels/roofline.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "backends/cpu/codegen/kernel_compiler.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"

namespace tektite::bench {
namespace {

using ir::DType;
using loop::Value;

// Independent sums: enough to hide the latency of two FMA units, few enough for the register file.
constexpr int kSums = 12;
constexpr int64_t kSteps = 200000;

absl::StatusOr<double> PeakFlops(cpu::KernelCompiler& compiler, int lanes) {
  loop::Kernel kernel("peak", {{DType::kF32, "io", true}});
  loop::Builder b(&kernel);
  Value x = b.Load(b.Buffer(0), DType::kF32, b.Index(0), lanes);
  std::vector<Value> sums(kSums, x);
  sums = b.For(b.Index(0), b.Index(kSteps), 1, sums, [&](Value, absl::Span<const Value> s) {
    std::vector<Value> next;
    for (Value v : s) next.push_back(b.Fma(v, x, x));
    return next;
  });
  Value total = sums[0];
  for (int i = 1; i < kSums; ++i) total = b.Add(total, sums[i]);
  b.Store(b.Buffer(0), b.Index(0), total);
  TEKTITE_ASSIGN_OR_RETURN(cpu::CompiledFunction f, compiler.Compile(kernel));
  std::vector<float> io(64, 0.5f);
  void* buffers[] = {io.data()};
  double best = 0;
  // As long as kernels are measured for, or some of them are faster.
  for (int i = 0; i < 500; ++i) {
    Stopwatch watch;
    f.fn(buffers, nullptr, nullptr, 0, 1);
    best = std::max(best, 2.0 * kSums * lanes * kSteps / watch.Seconds());
  }
  return best;
}

absl::StatusOr<double> Bandwidth(cpu::KernelCompiler& compiler, int lanes, int64_t elements) {
  loop::Kernel kernel(
      "triad", {{DType::kF32, "x", false}, {DType::kF32, "y", false}, {DType::kF32, "z", true}});
  loop::Builder b(&kernel);
  Value scale = b.Splat(b.Float(DType::kF32, 0.5), lanes);
  b.For(b.Index(0), b.Index(elements), lanes, [&](Value i) {
    Value x = b.Load(b.Buffer(0), DType::kF32, i, lanes);
    Value y = b.Load(b.Buffer(1), DType::kF32, i, lanes);
    b.Store(b.Buffer(2), i, b.Fma(y, scale, x));
  });
  TEKTITE_ASSIGN_OR_RETURN(cpu::CompiledFunction f, compiler.Compile(kernel));
  std::vector<float> x(elements, 1), y(elements, 1), z(elements);
  void* buffers[] = {x.data(), y.data(), z.data()};
  const int64_t repeat = std::max<int64_t>(1, 2'000'000 / elements);
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    Stopwatch watch;
    for (int64_t r = 0; r < repeat; ++r) f.fn(buffers, nullptr, nullptr, 0, 1);
    best = std::max(best, 12.0 * static_cast<double>(elements * repeat) / watch.Seconds());
  }
  return best;
}

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kReadMegabytes[] = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64};

absl::StatusOr<std::vector<Reading>> Readings(cpu::KernelCompiler& compiler, int lanes) {
  loop::Kernel kernel("read", {{DType::kF32, "x", false}, {DType::kF32, "sum", true}});
  loop::Builder b(&kernel);
  const int64_t step = int64_t{kSums} / 2 * lanes;
  std::vector<Value> sums(kSums / 2, b.Splat(b.Float(DType::kF32, 0), lanes));
  sums = b.For(b.ChunkBegin(), b.ChunkEnd(), 1, sums, [&](Value i, absl::Span<const Value> s) {
    std::vector<Value> next;
    for (int v = 0; v < kSums / 2; ++v) {
      Value at = b.Add(b.Mul(i, b.Index(step)), b.Index(int64_t{v} * lanes));
      next.push_back(b.Add(s[v], b.Load(b.Buffer(0), DType::kF32, at, lanes)));
    }
    return next;
  });
  for (int v = 1; v < kSums / 2; ++v) sums[0] = b.Add(sums[0], sums[v]);
  b.Store(b.Buffer(1), b.Index(0), sums[0]);
  TEKTITE_ASSIGN_OR_RETURN(cpu::CompiledFunction f, compiler.Compile(kernel));
  std::vector<float> x(std::end(kReadMegabytes)[-1] * kMegabyte / sizeof(float), 1), sum(lanes);
  void* buffers[] = {x.data(), sum.data()};
  std::vector<Reading> readings;
  for (int64_t megabytes : kReadMegabytes) {
    const int64_t steps = megabytes * kMegabyte / static_cast<int64_t>(sizeof(float)) / step;
    double best = 0;
    for (int i = 0; i < 20; ++i) {
      Stopwatch watch;
      f.fn(buffers, nullptr, nullptr, 0, steps);
      best = std::max(best, static_cast<double>(megabytes * kMegabyte) / watch.Seconds());
    }
    readings.push_back({megabytes * kMegabyte, best});
  }
  return readings;
}

}  // namespace

absl::StatusOr<Roofline> MeasureRoofline(const target::TargetInfo& target) {
  TEKTITE_ASSIGN_OR_RETURN(auto compiler, cpu::KernelCompiler::Create(target));
  const int lanes = target.lanes(4);
  Roofline r;
  TEKTITE_ASSIGN_OR_RETURN(r.flops_per_second, PeakFlops(*compiler, lanes));
  TEKTITE_ASSIGN_OR_RETURN(r.cache_bytes_per_second, Bandwidth(*compiler, lanes, 32 * 1024));
  TEKTITE_ASSIGN_OR_RETURN(r.shared_bytes_per_second, Bandwidth(*compiler, lanes, 1 << 20));
  TEKTITE_ASSIGN_OR_RETURN(r.memory_bytes_per_second, Bandwidth(*compiler, lanes, 16 << 20));
  TEKTITE_ASSIGN_OR_RETURN(r.readings, Readings(*compiler, lanes));
  return r;
}

}  // namespace tektite::bench
