#include "backends/cpu/aot/object_backend.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/library_object.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/implementation_list.h"
#include "backends/cpu/library/library_kernels.h"
#include "jit/aot/object_kernel.h"
#include "jit/base/status.h"
#include "jit/llvm/instr.h"
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

// By operand: whether nothing but gathers read it, as their table.
std::vector<bool> LookedUpOperands(const ir::Node& fusion) {
  std::vector<bool> is_looked_up(fusion.num_operands());
  for (int i = 0; i < fusion.region().num_parameters(); ++i) is_looked_up[i] = true;
  const auto reads = [&](ir::Value value) {
    if (value.node->op() == ir::Op::kParameter) {
      is_looked_up[value.node->Int(ir::Attr::index)] = false;
    }
  };
  for (const auto& node : fusion.region().nodes()) {
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->op() != ir::Op::kGather || i > 0) reads(node->operand(i));
    }
  }
  for (const ir::Value output : fusion.region().outputs()) reads(output);
  return is_looked_up;
}

bool UsesTiles(const loop::Kernel& kernel) {
  const auto& instrs = kernel.body().arena->instrs;
  return std::any_of(instrs.begin(), instrs.end(), [](const loop::Instr& instr) {
    return instr.code == loop::Code::kTileConfigure;
  });
}

class CpuObjectKernel : public aot::ObjectKernel {
 public:
  CpuObjectKernel(MadeObject made, const ir::Node& fusion, std::shared_ptr<KernelCompiler> linker,
                  bool is_foreign)
      : object_(std::move(made.object)),
        uses_tiles_(UsesTiles(*made.kernel)),
        kernel_(is_foreign ? std::move(made.kernel) : nullptr),
        replaced_(OperandReplacedByPanels(fusion)),
        looked_up_(LookedUpOperands(fusion)),
        linker_(std::move(linker)) {}

  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    return object_.facts.Configure(sizes.data());
  }
  bool CanRunInPlace(int operand, int result) const override {
    return object_.facts.CanRunInPlace(operand, result);
  }
  const std::string& symbol() const override { return object_.symbol; }
  absl::string_view object() const override { return object_.code; }
  const backend::LaunchFacts& facts() const override { return object_.facts; }
  int operand_replaced_by_panels() const override { return replaced_; }
  bool IsLookedUp(int operand) const override { return looked_up_[operand]; }
  bool uses_tiles() const override { return uses_tiles_; }
  absl::StatusOr<std::shared_ptr<const backend::HostKernel>> Link() const override {
    if (linker_ == nullptr) {
      return Unimplemented("weights are packed by kernels for ", object_.symbol,
                           "'s CPU, which this machine cannot run");
    }
    if (kernel_ == nullptr) return LinkObject(object_, *linker_);
    Object here = {object_.symbol, "", object_.facts};
    TEKTITE_ASSIGN_OR_RETURN(here.code, linker_->EmitObject(*kernel_));
    return LinkObject(here, *linker_);
  }

 private:
  const Object object_;
  const bool uses_tiles_;
  const std::unique_ptr<const loop::Kernel> kernel_;  // null: the object is for this machine's kind
  const int replaced_;
  const std::vector<bool> looked_up_;
  const std::shared_ptr<KernelCompiler> linker_;  // null: the kernel cannot run here
};

class ObjectBackend : public backend::Backend {
 public:
  ObjectBackend(const NamedTarget& target, std::shared_ptr<KernelCompiler> linker,
                std::string prefix)
      : emitter_(target.info, TripleOf(target)),
        linker_(std::move(linker)),
        prefix_(std::move(prefix)),
        is_foreign_(target.is_aarch64) {}

  absl::string_view name() const override { return "cpu"; }
  const target::TargetInfo& target() const override { return emitter_.target(); }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    backend::CompileOptions named = options;
    named.name = absl::StrCat(prefix_, options.name);
    TEKTITE_ASSIGN_OR_RETURN(
        MadeObject made, MakeObject(fusion, named, emitter_, /*emits_packing=*/linker_ != nullptr));
    if (made.ready != nullptr) return ReadyKernel(fusion, std::move(made.ready), named.name);
    return std::make_shared<CpuObjectKernel>(std::move(made), fusion, linker_, is_foreign_);
  }
  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts& facts) const override {
    return SchedulesFor(fusion, facts, target(), /*emitted_only=*/true);
  }

 private:
  // Of a library kernel an object that calls it.
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> ReadyKernel(
      const ir::Node& fusion, std::shared_ptr<const backend::Kernel> ready,
      const std::string& symbol) {
    auto host = std::dynamic_pointer_cast<const backend::HostKernel>(ready);
    if (host == nullptr || !CheckLibraryKernel(fusion).ok()) return ready;
    return MakeLibraryObject(fusion, symbol, std::move(host), &emitter_);
  }

  ObjectEmitter emitter_;
  const std::shared_ptr<KernelCompiler> linker_;  // null: this machine cannot run the kernels
  const std::string prefix_;
  const bool is_foreign_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> MakeObjectBackend(const NamedTarget& target,
                                                                    const std::string& prefix) {
  target::TargetInfo here = target.info;
  if (target.is_aarch64) {
    // Vectors of 16 bytes as AArch64 has them: what is packed does not depend on the machine.
    here.cpu = "x86-64-v3";
    here.features = "";
  }
  std::unique_ptr<KernelCompiler> linker;
  if (target.runs_here || target.is_aarch64) {
    TEKTITE_ASSIGN_OR_RETURN(linker, KernelCompiler::Create(here));
  }
  return std::make_unique<ObjectBackend>(target, std::move(linker), prefix);
}

std::string TripleOf(const NamedTarget& target) {
  return target.is_aarch64 ? "aarch64-unknown-linux-gnu" : "";
}

}  // namespace tektite::cpu
