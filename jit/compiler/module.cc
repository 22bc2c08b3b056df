#include "jit/compiler/module.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jit/base/bytes.h"
#include "jit/runtime/step_graph_bytes.h"

namespace tektite::compiler {

namespace {

bool FitOutputs(const runtime::OutputRoles& roles, const runtime::StepGraph& steps) {
  const std::vector<runtime::GraphOutput>& outputs = steps.outputs;
  const int parameters = static_cast<int>(steps.parameters.size());
  const int64_t results = static_cast<int64_t>(outputs.size() - roles.updated.size()) -
                          roles.num_checks - static_cast<int64_t>(roles.counted.size());
  return roles.updated.size() <= outputs.size() &&
         std::all_of(roles.updated.begin(), roles.updated.end(),
                     [&](int parameter) { return parameter >= 0 && parameter < parameters; }) &&
         roles.num_checks >= 0 && results >= 0 && roles.num_added_checks >= 0 &&
         roles.num_added_checks <= roles.num_checks &&
         std::all_of(roles.counted.begin(), roles.counted.end(), [&](int result) {
           return result >= 0 && result < results && outputs[result].shape.rank() > 0;
         });
}

bool FitKernels(const Module& module) {
  const std::vector<runtime::Step>& steps = module.steps.steps;
  return std::equal(steps.begin(), steps.end(), module.kernel_of_step.begin(),
                    module.kernel_of_step.end(), [](const runtime::Step& step, int kernel) {
                      return (step.kind == runtime::Step::Kind::kKernel) ==
                             (kernel != Module::kNoKernel);
                    });
}

}  // namespace

std::string WriteModule(const Module& module) {
  ByteWriter out;
  out.String(module.note);
  out.String("");
  out.U32(static_cast<uint32_t>(module.roles.num_checks));
  out.U32(static_cast<uint32_t>(module.roles.num_added_checks));
  out.U32(module.bf16_products);
  out.U32(module.byte_products);
  out.U64(module.roles.counted.size());
  for (int result : module.roles.counted) out.U32(static_cast<uint32_t>(result));
  out.U64(module.roles.updated.size());
  for (int parameter : module.roles.updated) out.U32(static_cast<uint32_t>(parameter));
  out.U64(module.kernels.size());
  for (const ModuleKernel& kernel : module.kernels) {
    out.String(kernel.name);
    out.Raw(kernel.key.bytes.data(), kernel.key.bytes.size());
    const bool is_loaded = kernel.kernel != nullptr && kernel.fusion.empty();
    out.String(is_loaded ? kernel.kernel->Image() : kernel.image);
    out.String(kernel.fusion);
  }
  out.U64(module.kernel_of_step.size());
  for (int kernel : module.kernel_of_step) {
    out.U32(static_cast<uint32_t>(kernel - Module::kNoKernel));
  }
  runtime::WriteStepGraph(module.steps, &out);
  return out.Take();
}

std::string WriteRefusal(absl::string_view note, absl::string_view reason) {
  ByteWriter out;
  out.String(note);
  out.String(reason);
  return out.Take();
}

bool ReadModule(std::string bytes, Module* module) {
  module->bytes = std::make_shared<const std::string>(std::move(bytes));
  ByteReader in(*module->bytes);
  module->note = std::string(in.String());
  module->refusal = std::string(in.String());
  if (!module->refusal.empty()) return in.AtEnd();
  module->roles.num_checks = static_cast<int>(in.U32());
  module->roles.num_added_checks = static_cast<int>(in.U32());
  module->bf16_products = in.U32();
  module->byte_products = in.U32();
  module->roles.counted.resize(in.Count(sizeof(uint32_t)));
  for (int& result : module->roles.counted) result = static_cast<int>(in.U32());
  module->roles.updated.resize(in.Count(sizeof(uint32_t)));
  for (int& parameter : module->roles.updated) parameter = static_cast<int>(in.U32());
  module->kernels.resize(in.Count(3 * sizeof(uint64_t) + sizeof(Fingerprint::bytes)));
  for (ModuleKernel& kernel : module->kernels) {
    kernel.name = std::string(in.String());
    const absl::string_view key = in.Raw(kernel.key.bytes.size());
    if (!in.ok()) return false;
    std::memcpy(kernel.key.bytes.data(), key.data(), key.size());
    kernel.image = in.String();
    kernel.fusion = std::string(in.String());
  }
  module->kernel_of_step.resize(in.Count(sizeof(uint32_t)));
  for (int& kernel : module->kernel_of_step) {
    const uint32_t number = in.U32();
    if (number > module->kernels.size()) return false;
    kernel = static_cast<int>(number) + Module::kNoKernel;
  }
  return runtime::ReadStepGraph(&in, &module->steps) && in.AtEnd() && FitKernels(*module) &&
         FitOutputs(module->roles, module->steps);
}

std::string FusionText(const ir::Node& fusion) {
  return ir::Print(*ir::Isolated(fusion, "fusion"));
}

}  // namespace tektite::compiler
