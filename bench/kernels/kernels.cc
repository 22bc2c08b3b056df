// bench/kernels: single kernels against the roofline of the machine, on one thread.
//
//   build/bin/kernels --benchmark_filter=gemm
//
// A row /any_rows is code for every number of rows, which code for this one number is compared
// with. Every row shows time, GFLOP/s or GB/s, and the share of the roofline measured at the start.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "bench/kernels/fused_program.h"
#include "bench/kernels/roofline.h"
#include "bench/kernels/workloads.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/compiler/compiler.h"
#include "jit/runtime/executable.h"
#include "runtime_hooks/c_api/backend_list.h"

namespace tektite::bench {
namespace {

struct Memory {
  explicit Memory(int64_t bytes)
      : data(std::aligned_alloc(64, static_cast<size_t>(bytes + 127) / 64 * 64), std::free) {}
  std::unique_ptr<void, void (*)(void*)> data;
};

// Runs on the calling thread and hands out the same memory for each result in every call.
class SerialHost : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    while (static_cast<int>(results_.size()) <= result) results_.emplace_back(nullptr);
    if (!results_[result])
      results_[result] =
          std::make_unique<Memory>(ir::Product(type.dims) * ir::DTypeBytes(type.dtype));
    return results_[result]->data.get();
  }

 private:
  std::vector<std::unique_ptr<Memory>> results_;
};

compiler::CompileJob MakeJob(const std::string& name) {
  compiler::CompileJob job;
  job.cluster = name;
  job.variant = "bench";
  return job;
}

void RunWorkload(benchmark::State& state, const Workload& work, const Roofline& roofline,
                 compiler::Compiler& compiler) {
  auto graph = ir::Parse(work.text);
  if (!graph.ok()) return state.SkipWithError(graph.status().ToString().c_str());
  std::mt19937 random(1);
  std::vector<std::unique_ptr<Memory>> inputs;
  std::vector<runtime::Argument> arguments;
  for (const ir::Node* p : (*graph)->parameters()) {
    inputs.push_back(std::make_unique<Memory>(p->shape().num_bytes()));
    void* const data = inputs.back()->data.get();
    FillWithNoise(p->shape().dtype(), p->shape().num_elements(), &random, data);
    arguments.push_back({data, p->Bool(ir::Attr::weight) ? 1u : 0u});
  }
  auto executable = compiler.Compile(std::move(graph).value(), MakeJob(work.name));
  if (!executable.ok()) return state.SkipWithError(executable.status().ToString().c_str());
  SerialHost host;
  double best = 1e9;
  for (auto _ : state) {
    Stopwatch watch;
    absl::Status status = (*executable)->Run(arguments, host);
    best = std::min(best, watch.Seconds());
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.counters["best_us"] = best * 1e6;
  if (work.flops > 0) {
    state.counters["GFLOP/s"] =
        benchmark::Counter(work.flops / 1e9, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["of_peak"] = benchmark::Counter(work.flops / roofline.flops_per_second,
                                                   benchmark::Counter::kIsIterationInvariantRate);
  } else {
    state.counters["GB/s"] =
        benchmark::Counter(work.bytes / 1e9, benchmark::Counter::kIsIterationInvariantRate);
  }
}

// Code for every number of rows against code for this one.  They take turns, so that a machine
// whose speed changes does not decide; `of_static` compares the best runs.
void RunAnyRows(benchmark::State& state, const Workload& work, compiler::Compiler& compiler) {
  auto fixed = ir::Parse(work.text), any = ir::Parse(work.any_rows);
  if (!fixed.ok() || !any.ok()) return state.SkipWithError("the text is no graph");
  Stopwatch compiling;
  auto one = FusedProgram::Create(**fixed, {}, compiler);
  const double compile_one = compiling.Seconds();
  auto every = FusedProgram::Create(**any, {{"n", work.rows}}, compiler);
  const double compile_every = compiling.Seconds() - compile_one;
  for (const auto* program : {&one, &every}) {
    if (!program->ok()) return state.SkipWithError(program->status().ToString().c_str());
  }
  double best_one = 1e9, best_every = 1e9;
  for (auto _ : state) {
    Stopwatch watch;
    (*one)->Run();
    const double first = watch.Seconds();
    (*every)->Run();
    const double second = watch.Seconds() - first;
    best_one = std::min(best_one, first);
    best_every = std::min(best_every, second);
    state.SetIterationTime(second);
  }
  state.counters["best_us"] = best_every * 1e6;
  state.counters["of_static"] = best_one / best_every;
  state.counters["plan_ns"] = (*every)->PlanNs();
  state.counters["made_ms"] = compile_every * 1e3;
  state.counters["static_made_ms"] = compile_one * 1e3;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  compiler::CompilerOptions options;
  options.backends = tektite::c_api::AllBackends();
  options.backend = "cpu";
  auto compiler = compiler::Compiler::Create(std::move(options));
  if (!compiler.ok()) {
    std::fprintf(stderr, "kernels: %s\n", compiler.status().ToString().c_str());
    return 1;
  }
  auto roofline = MeasureRoofline((*compiler)->primary().target());
  if (!roofline.ok()) {
    std::fprintf(stderr, "kernels: %s\n", roofline.status().ToString().c_str());
    return 1;
  }
  std::printf(
      "one core: %.0f GFLOP/s f32, %.0f GB/s in L2, %.0f GB/s in L3, %.0f GB/s from memory\n",
      roofline->flops_per_second / 1e9, roofline->cache_bytes_per_second / 1e9,
      roofline->shared_bytes_per_second / 1e9, roofline->memory_bytes_per_second / 1e9);
  std::printf("one core reads, again and again:");
  for (const Reading& reading : roofline->readings) {
    std::printf(" %lld MB at %.0f GB/s%s", static_cast<long long>(reading.bytes >> 20),
                reading.bytes_per_second / 1e9,
                &reading == &roofline->readings.back() ? "\n" : ",");
  }
  const std::vector<Workload> workloads = AllWorkloads();
  for (const Workload& work : workloads) {
    benchmark::RegisterBenchmark(work.name.c_str(), [&](benchmark::State& state) {
      RunWorkload(state, work, *roofline, **compiler);
    })->Unit(benchmark::kMicrosecond);
    if (work.any_rows.empty()) continue;
    benchmark::RegisterBenchmark(
        (work.name + "/any_rows").c_str(),
        [&](benchmark::State& state) { RunAnyRows(state, work, **compiler); })
        ->Unit(benchmark::kMicrosecond)
        ->UseManualTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace tektite::bench

int main(int argc, char** argv) { return tektite::bench::Main(argc, argv); }
