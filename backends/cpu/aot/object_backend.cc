#include "backends/cpu/aot/object_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/implementation_list.h"
#include "jit/aot/object_kernel.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// The operand that is the weights of a product whose last operand are their panels; -1 where there
// are none, or the weights are read otherwise, too.
int OperandReplacedByPanels(const ir::Node& fusion) {
  if (!fusion.attrs().Has(ir::Attr::rhs_panels)) return -1;
  const ir::Node* const root = ops::FindContraction(fusion.region());
  if (root == nullptr || root->operand(1).node->op() != ir::Op::kParameter) return -1;
  const ir::Node* const weights = root->operand(1).node;
  int readers = 0;
  for (const auto& node : fusion.region().nodes()) {
    for (int i = 0; i < node->num_operands(); ++i) readers += node->operand(i).node == weights;
  }
  for (const ir::Value output : fusion.region().outputs()) readers += output.node == weights;
  const auto operand = static_cast<int>(weights->Int(ir::Attr::index));
  for (int i = 0; i < fusion.num_operands(); ++i) {
    if (i != operand && fusion.operand(i) == fusion.operand(operand)) return -1;
  }
  return readers == 1 ? operand : -1;
}

class CpuObjectKernel : public aot::ObjectKernel {
 public:
  CpuObjectKernel(Object object, int replaced, std::shared_ptr<KernelCompiler> linker)
      : object_(std::move(object)), replaced_(replaced), linker_(std::move(linker)) {}

  backend::LaunchPlan Plan(absl::Span<const int64_t> sizes) const override {
    return object_.facts.Plan(sizes.data());
  }
  bool CanRunInPlace(int operand, int result) const override {
    return object_.facts.CanRunInPlace(operand, result);
  }
  const std::string& symbol() const override { return object_.symbol; }
  absl::string_view object() const override { return object_.code; }
  const backend::LaunchFacts& facts() const override { return object_.facts; }
  int operand_replaced_by_panels() const override { return replaced_; }
  absl::StatusOr<std::shared_ptr<const backend::HostKernel>> Link() const override {
    if (linker_ == nullptr) {
      return Unimplemented("weights are packed by kernels for ", object_.symbol,
                           "'s CPU, which this machine cannot run");
    }
    return LinkObject(object_, *linker_);
  }

 private:
  const Object object_;
  const int replaced_;
  const std::shared_ptr<KernelCompiler> linker_;  // null: the kernel cannot run here
};

class ObjectBackend : public backend::Backend {
 public:
  ObjectBackend(std::shared_ptr<KernelCompiler> compiler, std::string prefix, bool runs_here)
      : compiler_(std::move(compiler)), prefix_(std::move(prefix)), runs_here_(runs_here) {}

  absl::string_view name() const override { return "cpu"; }
  const target::TargetInfo& target() const override { return compiler_->target(); }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    backend::CompileOptions named = options;
    named.name = absl::StrCat(prefix_, options.name);
    TEKTITE_ASSIGN_OR_RETURN(MadeObject made, MakeObject(fusion, named, *compiler_));
    if (made.ready != nullptr) return made.ready;
    return std::make_shared<CpuObjectKernel>(
        std::move(made.object), OperandReplacedByPanels(fusion), runs_here_ ? compiler_ : nullptr);
  }
  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts& facts) const override {
    return SchedulesFor(fusion, facts, target(), /*emitted_only=*/true);
  }

 private:
  const std::shared_ptr<KernelCompiler> compiler_;
  const std::string prefix_;
  const bool runs_here_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> MakeObjectBackend(
    const target::TargetInfo& target, const std::string& prefix, bool runs_here) {
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<KernelCompiler> compiler,
                           KernelCompiler::Create(target));
  return std::make_unique<ObjectBackend>(std::move(compiler), prefix, runs_here);
}

}  // namespace tektite::cpu
