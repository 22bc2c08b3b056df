#include "tests/conformance/gpu_targets.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/card_backend.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "gtest/gtest.h"
#include "tests/conformance/harness.h"
#include "tests/gpu/assembly_check.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/gpu/interpreter/interpreted_gpu.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

// Of all kernels for GPUs; says at the end what it has seen.
AssemblyCheck& SharedAssemblyCheck() {
  static auto& check = *new AssemblyCheck(gpu::Assembler::OfThisMachine());
  return check;
}
class AssemblySummary final : public ::testing::Environment {
  void TearDown() override { std::fputs(SharedAssemblyCheck().Summary().c_str(), stdout); }
};
const auto* const kAssemblySummary = ::testing::AddGlobalTestEnvironment(new AssemblySummary);

}  // namespace

std::unique_ptr<backend::Backend> CreateCheckedGpu(bool tf32, bool warpgroups) {
  gpu::EmitOptions options;
  options.tf32 = tf32;
  if (warpgroups) {
    options.warpgroups = gpu::Warpgroups::kAlways;
    options.shared_bytes = gpu::MostSharedBytes("sm_90a");
    options.multiprocessors = 3;  // a block has several tiles
  }
  return gpu::CreateInterpretedGpu(CompileForHost, SharedAssemblyCheck().function(), options);
}

std::unique_ptr<backend::Backend> CreateBackendOfCard(bool tf32, bool warpgroups) {
  gpu::CardOptions options;
  options.tf32 = tf32;
  if (warpgroups) options.warpgroups = gpu::Warpgroups::kAlways;
  if (const char* number = std::getenv(kCardVariable)) {
    if (warpgroups) {
      auto card = *gpu::Card::Open(*gpu::Driver::OfThisMachine(), std::atoi(number));
      return *gpu::CreateCardBackend(card, gpu::Assembler::OfThisMachine(), std::move(options));
    }
    Flags flags;
    flags.device = absl::StrCat("gpu:", number);
    if (tf32) flags.f32_products = "tf32";
    return *gpu::CreateGpuBackend(flags);
  }
  // Without an assembler: that kernels assemble is seen on the interpreted GPU.
  static auto& card =
      *new std::shared_ptr<gpu::Card>(*gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0));
  options.hook = InterpretOnFakeDriver();
  return *gpu::CreateCardBackend(card, /*assembler=*/nullptr, std::move(options));
}

}  // namespace tektite::testing
