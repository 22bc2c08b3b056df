#include "backends/cpu/cpu_backend.h"

#include <utility>

#include "absl/strings/match.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/implementation_list.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

class CpuBackend : public backend::Backend {
 public:
  CpuBackend(std::unique_ptr<KernelCompiler> compiler, bool keeps_images)
      : compiler_(std::move(compiler)), keeps_images_(keeps_images) {}

  absl::string_view name() const override { return "cpu"; }
  const target::TargetInfo& target() const override { return compiler_->target(); }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_ASSIGN_OR_RETURN(const MadeObject made,
                             MakeObject(fusion, options, compiler_->emitter()));
    if (made.ready != nullptr) return made.ready;
    return LinkObject(made.object, *compiler_);
  }

  bool keeps_images() const override { return keeps_images_; }
  absl::StatusOr<std::vector<std::shared_ptr<const backend::Kernel>>> Load(
      absl::Span<const absl::string_view> images) override {
    return LoadKernels(images);
  }

  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts& facts) const override {
    return SchedulesFor(fusion, facts, target());
  }

 private:
  std::unique_ptr<KernelCompiler> compiler_;
  const bool keeps_images_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackend(const Flags& flags) {
  TEKTITE_ASSIGN_OR_RETURN(target::TargetInfo target, DetectTarget(flags.cpu));
  TakePermissions(flags, &target);
  CodeLinker::Options linking;
  linking.gdb = absl::StrContains(flags.jit_names, "gdb");
  linking.perf = absl::StrContains(flags.jit_names, "perf");
  return CreateCpuBackendFor(target, linking);
}

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackendFor(
    const target::TargetInfo& target, const CodeLinker::Options& linking) {
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<KernelCompiler> compiler,
                           KernelCompiler::Create(target, linking));
  // The linker tells debuggers and profilers of code that it links, not of code from the disk.
  const bool keeps_images = !linking.gdb && !linking.perf;
  return std::make_unique<CpuBackend>(std::move(compiler), keeps_images);
}

}  // namespace tektite::cpu
