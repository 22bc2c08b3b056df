// vector_math: error and speed of the vector math functions.
//
//   vector_math [--cpu=native] [--stride=1] [--only=erf,exp] [--speed] [--f64] [--dump=DIR]
//
// Without --speed or --f64: every unary f32 function on all 2^32 floats (each `stride`-th) against
// double-precision libm, two threads; a table of the largest errors, and exit status 1 if one is
// over its bound.  --f64: ten million f64 arguments against long double.  --speed: nanoseconds per
// element on 4096 elements.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/llvm/kernel_runner.h"
#include "tests/llvm/math_functions.h"
#include "tests/llvm/ulp.h"

namespace tektite::bench {
namespace {

using testing::Function;
using testing::Functions;
using testing::UlpError;

struct Options {
  std::string cpu = "native";
  std::vector<std::string> only;
  std::string dump;
  uint64_t stride = 1;
  bool speed = false;
  bool f64 = false;
};

cpu::CompiledFunction CompileUnary(const Options& options, ir::Op op, ir::DType dtype, int lanes) {
  auto f = testing::CompileElementwise(
      testing::CompilerFor(options.cpu),
      absl::StrCat(ir::OpName(op), "_", ir::DTypeName(dtype), "_", lanes), {dtype, dtype}, lanes,
      [&](loop::Builder& b, const std::vector<loop::Value>& x) { return b.Unary(op, x[0]); },
      options.dump);
  if (!f.ok()) {
    std::fprintf(stderr, "%s\n", f.status().ToString().c_str());
    std::exit(2);
  }
  return *std::move(f);
}

template <typename T>
void Run(const cpu::CompiledFunction& f, const std::vector<T>& x, std::vector<T>* y) {
  void* buffers[] = {const_cast<T*>(x.data()), y->data()};
  f.fn(buffers, nullptr, nullptr, 0, static_cast<int64_t>(x.size()));
}

struct Worst {
  double ulp = 0;
  double at = 0;
  double got = 0;
  void Add(double error, double x, double y) {
    if (error > ulp) *this = {error, x, y};
  }
};

Worst ExhaustiveF32(const Options& options, const Function& function) {
  const cpu::CompiledFunction f = CompileUnary(options, function.op, ir::DType::kF32, 16);
  constexpr uint64_t kBlock = 1 << 16;
  const uint64_t total = (uint64_t{1} << 32) / options.stride;
  std::atomic<uint64_t> next{0};
  Worst worst[2];
  auto work = [&](int thread) {
    std::vector<float> x(kBlock), y(kBlock);
    for (uint64_t begin; (begin = next.fetch_add(kBlock)) < total;) {
      for (uint64_t i = 0; i < kBlock; ++i) {
        const uint32_t bits = static_cast<uint32_t>((begin + i) * options.stride);
        std::memcpy(&x[i], &bits, sizeof(bits));
      }
      Run(f, x, &y);
      for (uint64_t i = 0; i < kBlock; ++i) {
        worst[thread].Add(UlpError(y[i], function.f64(x[i])), x[i], y[i]);
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  return worst[0].ulp >= worst[1].ulp ? worst[0] : worst[1];
}

Worst SampledF64(const Options& options, const Function& function) {
  const cpu::CompiledFunction f = CompileUnary(options, function.op, ir::DType::kF64, 8);
  constexpr int kBlock = 1 << 12;
  const int blocks = static_cast<int>(2400 / options.stride) + 1;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> dense(function.low, function.high);
  std::vector<double> x(kBlock), y(kBlock);
  Worst worst;
  for (int block = 0; block < blocks; ++block) {
    for (double& v : x) {
      const uint64_t bits = random();
      // Half of all bit patterns, half where the function lives.
      if (block % 2 == 0) {
        std::memcpy(&v, &bits, sizeof(v));
      } else {
        v = dense(random);
      }
    }
    Run(f, x, &y);
    for (int i = 0; i < kBlock; ++i) worst.Add(UlpError(y[i], function.f80(x[i])), x[i], y[i]);
  }
  return worst;
}

double CompileMilliseconds(const Options& options, const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) CompileUnary(options, function.op, ir::DType::kF32, 16);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  return time.count() / 5;
}

template <typename T>
double NanosecondsPerElement(const Options& options, const Function& function, int lanes) {
  const cpu::CompiledFunction f =
      CompileUnary(options, function.op, sizeof(T) == 4 ? ir::DType::kF32 : ir::DType::kF64, lanes);
  constexpr int kElements = 4096;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> values(function.low, function.high);
  std::vector<T> x(kElements), y(kElements);
  for (T& v : x) v = static_cast<T>(values(random));
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) {
    constexpr int kCalls = 50;
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) Run(f, x, &y);
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    best = std::min(best, time.count() / kCalls / kElements);
  }
  return best;
}

int Main(const Options& options) {
  bool ok = true;
  if (options.speed) {
    std::printf("%-10s %10s %10s %10s %10s %10s   (else ns/element)\n", "", "f32 x16", "f32 x32",
                "f64 x8", "f64 x16", "compile ms");
  }
  for (const Function& function : Functions()) {
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), function.name) == options.only.end()) {
      continue;
    }
    if (options.speed) {
      std::printf("%-10s %10.3f %10.3f %10.3f %10.3f %10.3f\n", function.name,
                  NanosecondsPerElement<float>(options, function, 16),
                  NanosecondsPerElement<float>(options, function, 32),
                  NanosecondsPerElement<double>(options, function, 8),
                  NanosecondsPerElement<double>(options, function, 16),
                  CompileMilliseconds(options, function));
    } else {
      const Worst worst =
          options.f64 ? SampledF64(options, function) : ExhaustiveF32(options, function);
      const double bound = options.f64 ? function.bound_f64 : function.bound_f32;
      ok &= worst.ulp <= bound;
      std::printf("%-10s %8.3f ULP (bound %.1f) at %.17g gives %.17g%s\n", function.name, worst.ulp,
                  bound, worst.at, worst.got, worst.ulp <= bound ? "" : "   OVER");
    }
    std::fflush(stdout);
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace tektite::bench

int main(int argc, char** argv) {
  tektite::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::pair<std::string, std::string> flag =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    if (flag.first == "--cpu") {
      options.cpu = flag.second;
    } else if (flag.first == "--only") {
      options.only = absl::StrSplit(flag.second, ',');
    } else if (flag.first == "--dump") {
      options.dump = flag.second;
    } else if (flag.first == "--stride" && absl::SimpleAtoi(flag.second, &options.stride) &&
               options.stride > 0) {
    } else if (flag.first == "--speed") {
      options.speed = true;
    } else if (flag.first == "--f64") {
      options.f64 = true;
    } else {
      std::fprintf(stderr, "vector_math: unknown flag %s\n", argv[i]);
      return 2;
    }
  }
  return tektite::bench::Main(options);
}
