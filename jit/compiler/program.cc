#include "jit/compiler/program.h"

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
         roles.num_checks >= 0 && results >= 0 &&
         std::all_of(roles.counted.begin(), roles.counted.end(), [&](int result) {
           return result >= 0 && result < results && outputs[result].shape.rank() > 0;
         });
}

bool FitKernels(const Program& program) {
  const std::vector<runtime::Step>& steps = program.steps.steps;
  return std::equal(steps.begin(), steps.end(), program.kernel_of_step.begin(),
                    program.kernel_of_step.end(), [](const runtime::Step& step, int kernel) {
                      return (step.kind == runtime::Step::Kind::kKernel) ==
                             (kernel != Program::kNoKernel);
                    });
}

}  // namespace

std::string WriteProgram(const Program& program, const runtime::StepGraph& steps) {
  ByteWriter out;
  out.String(program.note);
  out.String("");
  out.U32(static_cast<uint32_t>(program.roles.num_checks));
  out.U64(program.roles.counted.size());
  for (int result : program.roles.counted) out.U32(static_cast<uint32_t>(result));
  out.U64(program.roles.updated.size());
  for (int parameter : program.roles.updated) out.U32(static_cast<uint32_t>(parameter));
  out.U64(program.kernels.size());
  for (const ProgramKernel& kernel : program.kernels) {
    out.String(kernel.name);
    out.Raw(kernel.key.bytes.data(), kernel.key.bytes.size());
    out.String(kernel.image);
    out.String(kernel.fusion);
  }
  out.U64(program.kernel_of_step.size());
  for (int kernel : program.kernel_of_step) {
    out.U32(static_cast<uint32_t>(kernel - Program::kNoKernel));
  }
  runtime::WriteStepGraph(steps, &out);
  return out.Take();
}

std::string WriteRefusal(absl::string_view note, absl::string_view reason) {
  ByteWriter out;
  out.String(note);
  out.String(reason);
  return out.Take();
}

bool ReadProgram(std::string bytes, Program* program) {
  program->bytes = std::make_shared<const std::string>(std::move(bytes));
  ByteReader in(*program->bytes);
  program->note = std::string(in.String());
  program->refusal = std::string(in.String());
  if (!program->refusal.empty()) return in.AtEnd();
  program->roles.num_checks = static_cast<int>(in.U32());
  program->roles.counted.resize(in.Count(sizeof(uint32_t)));
  for (int& result : program->roles.counted) result = static_cast<int>(in.U32());
  program->roles.updated.resize(in.Count(sizeof(uint32_t)));
  for (int& parameter : program->roles.updated) parameter = static_cast<int>(in.U32());
  program->kernels.resize(in.Count(3 * sizeof(uint64_t) + sizeof(Fingerprint::bytes)));
  for (ProgramKernel& kernel : program->kernels) {
    kernel.name = std::string(in.String());
    const absl::string_view key = in.Raw(kernel.key.bytes.size());
    if (!in.ok()) return false;
    std::memcpy(kernel.key.bytes.data(), key.data(), key.size());
    kernel.image = in.String();
    kernel.fusion = std::string(in.String());
  }
  program->kernel_of_step.resize(in.Count(sizeof(uint32_t)));
  for (int& kernel : program->kernel_of_step) {
    const uint32_t number = in.U32();
    if (number > program->kernels.size()) return false;
    kernel = static_cast<int>(number) + Program::kNoKernel;
  }
  return runtime::ReadStepGraph(&in, &program->steps) && in.AtEnd() && FitKernels(*program) &&
         FitOutputs(program->roles, program->steps);
}

std::string FusionText(const ir::Node& fusion) {
  ir::Graph graph("fusion");
  std::vector<ir::Value> operands;
  for (int i = 0; i < fusion.num_operands(); ++i) {
    operands.push_back(graph.AddParameter(fusion.operand_shape(i)));
  }
  const std::vector<ir::Shape> shapes(fusion.shapes().begin(), fusion.shapes().end());
  ir::Node* const copy = graph.Append(fusion.op(), operands, fusion.attrs(), shapes);
  for (int r = 0; r < fusion.num_regions(); ++r) copy->AddRegion(fusion.region(r).Clone());
  std::vector<ir::Value> results;
  for (int r = 0; r < copy->num_results(); ++r) results.push_back(copy->result(r));
  graph.SetOutputs(results);
  return ir::Print(graph);
}

}  // namespace tektite::compiler
