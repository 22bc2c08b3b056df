#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/cpu_features.h"
#include "backends/cpu/kernel_emitters.h"
#include "backends/cpu/orc_compiler.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

class CpuKernel : public backend::Kernel {
 public:
  CpuKernel(CompiledFunction function, const EmittedKernel& emitted)
      : function_(std::move(function)),
        plan_{emitted.num_chunks, emitted.kernel->scratch_bytes, emitted.cost_ns},
        in_place_(emitted.in_place) {}

  backend::LaunchPlan Plan(absl::Span<const int64_t>) const override { return plan_; }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    function_.fn(frame.buffers, frame.sizes, frame.scratch, begin, end);
  }

  bool CanRunInPlace(int operand, int result) const override {
    return std::find(in_place_.begin(), in_place_.end(), std::pair(operand, result)) !=
           in_place_.end();
  }

 private:
  CompiledFunction function_;
  backend::LaunchPlan plan_;
  std::vector<std::pair<int, int>> in_place_;
};

class CpuBackend : public backend::Backend {
 public:
  explicit CpuBackend(std::unique_ptr<OrcCompiler> compiler) : compiler_(std::move(compiler)) {}

  absl::string_view name() const override { return "cpu"; }
  const backend::TargetInfo& target() const override { return compiler_->target(); }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_ASSIGN_OR_RETURN(EmittedKernel emitted, EmitKernel(fusion, target(), options.name));
    CompileOptions orc;
    orc.dump_dir = options.dump_dir;
    TEKTITE_ASSIGN_OR_RETURN(CompiledFunction function, compiler_->Compile(*emitted.kernel, orc));
    return std::make_shared<CpuKernel>(std::move(function), emitted);
  }

  int64_t RhsPanelWidth(const ir::Node& contraction) const override {
    return ContractionPanelWidth(contraction, target());
  }

 private:
  std::unique_ptr<OrcCompiler> compiler_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackend(const Flags& flags) {
  TEKTITE_ASSIGN_OR_RETURN(backend::TargetInfo target, DetectTarget(flags.cpu));
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<OrcCompiler> compiler, OrcCompiler::Create(target));
  return std::make_unique<CpuBackend>(std::move(compiler));
}

}  // namespace tektite::cpu
