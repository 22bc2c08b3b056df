// The suite's targets in Tektite's own tests: each back end of the list, the CPU as the machine is
// and, where it has more, with --cpu=avx2, the island, the interpreted GPU, and a card.
#include <map>
#include <string>

#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/cpu_backend.h"
#include "gtest/gtest.h"
#include "jit/reference/reference_backend.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/conformance/gpu_targets.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/targets.h"
#include "tests/island/island.h"
#include "tests/long_tests.h"

namespace tektite::testing {

const std::vector<ConformanceTarget>& ConformanceTargets() {
  static const auto& targets = *[] {
    auto* const all = new std::vector<ConformanceTarget>{
        {"cpu", "cpu", "native"},
        {std::string(compiler::kReference), std::string(compiler::kReference)},
        {kIsland, kIsland, "native", /*is_device=*/true},
        {kGpu, kGpu, "native", /*is_device=*/true, /*may_refuse=*/true},
        {kGpuCard, kGpuCard, "native", /*is_device=*/true, /*may_refuse=*/true}};
    const int native = cpu::DetectTarget("native")->vector_bytes;
    if (native > cpu::DetectTarget("avx2")->vector_bytes) {
      all->push_back({"cpu_avx2", "cpu", "avx2"});
    }
    return all;
  }();
  return targets;
}

std::unique_ptr<backend::Backend> CreateTested(const ConformanceTarget& target,
                                               const TestedOptions& options) {
  if (target.backend == kIsland) return std::make_unique<IslandBackend>();
  if (target.backend == kGpu) return CreateCheckedGpu(options.rounds_f32, options.warpgroups);
  if (target.backend == kGpuCard)
    return CreateBackendOfCard(options.rounds_f32, options.warpgroups);
  if (target.backend != "cpu") return *reference::ReferenceBackend::Create({});
  // Winograd's algorithm takes convolutions of few channels, too, so that small cases reach it.
  target::TargetInfo info = *cpu::DetectTarget(target.cpu);
  info.winograd_channels = 1;
  // Where it is slower than f32, too.
  if (target.cpu == "avx512") info.has_bf16_dot = __builtin_cpu_supports("avx512bf16");
  info.splits_f32 = options.rounds_f32 && info.has_bf16_tiles;
  return *cpu::CreateCpuBackendFor(info);
}

compiler::BackendList BackendsBehind() { return c_api::AllBackends(); }

void NoteRefusals(const ConformanceTarget& target, const std::string& test, int graphs) {
  static const auto& expected = *new std::map<std::string, int>{
#define TEKTITE_GPU_REFUSED(test, graphs) {#test, graphs},
#include "tests/conformance/gpu_refusal_list.inc"
#undef TEKTITE_GPU_REFUSED
  };
  const auto row = expected.find(test);
  const int most = row == expected.end() ? 0 : row->second;
  // Code for every size may be all that is refused of a graph, and half of all graphs have it.
  EXPECT_TRUE(graphs == most || (!TestsAreLong() && graphs < most))
      << "graphs without a kernel for GPUs: gpu_refusal_list.inc should have\n"
      << "TEKTITE_GPU_REFUSED(" << test << ", " << graphs << ")";
}

}  // namespace tektite::testing
