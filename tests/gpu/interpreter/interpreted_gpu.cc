#include "tests/gpu/interpreter/interpreted_gpu.h"

#include <utility>
#include <vector>

#include "backends/gpu/emit/contraction/byte_ways.h"
#include "backends/gpu/emit/emitter.h"
#include "jit/base/status.h"
#include "tests/gpu/interpreter/interpreted_device.h"

namespace tektite::gpu {
namespace {

class InterpretedGpu final : public backend::Backend {
 public:
  InterpretedGpu(HostCompiler compile, KernelCheck check, const EmitOptions& options)
      : functions_(std::move(compile)), check_(std::move(check)), options_(options) {
    DescribeKernels(&target_);
    target_.cpu = "interpreted gpu";
  }

  absl::string_view name() const override { return "gpu"; }
  const target::TargetInfo& target() const override { return target_; }
  std::shared_ptr<backend::Device> device() const override { return device_; }

  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts&) const override {
    return OwnOffers(fusion);
  }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_ASSIGN_OR_RETURN(EmittedKernel emitted, EmitKernel(fusion, options.name, options_));
    std::vector<std::unique_ptr<loop::Kernel>> launches = std::move(emitted.then);
    launches.insert(launches.begin(), std::move(emitted.kernel));
    for (const auto& kernel : launches) {
      if (check_ != nullptr) TEKTITE_RETURN_IF_ERROR(check_(fusion, *kernel));
    }
    TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<InterpretedKernel> kernel,
                             InterpretedKernel::Create(std::move(launches), &functions_));
    return std::make_shared<const LaunchableKernel>(fusion.region(), std::move(kernel),
                                                    std::move(emitted.in_place));
  }

 private:
  LaneFunctions functions_;
  const KernelCheck check_;
  const EmitOptions options_;
  target::TargetInfo target_;
  const std::shared_ptr<InterpretedDevice> device_ = std::make_shared<InterpretedDevice>();
};

}  // namespace

std::unique_ptr<backend::Backend> CreateInterpretedGpu(HostCompiler compile, KernelCheck check,
                                                       const EmitOptions& options) {
  return std::make_unique<InterpretedGpu>(std::move(compile), std::move(check), options);
}

}  // namespace tektite::gpu
