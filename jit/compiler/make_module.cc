#include "jit/compiler/make_module.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/compiler/kernel_names.h"
#include "jit/ir/control.h"
#include "jit/passes/fusion/fuse_leftovers.h"
#include "jit/passes/pipeline.h"
#include "jit/runtime/step_graph.h"
#include "jit/target/schedules.h"

namespace tektite::compiler {
namespace {

using ir::Graph;
using ir::Node;

// ", bf16 summed in f32"
std::string NarrowTypes(const Graph& region) {
  const Node* const root = NarrowProduct(region);
  if (root == nullptr) return "";
  return absl::StrCat(", ", ir::DTypeName(NarrowTypeOf(*root)), " summed in ",
                      ir::DTypeName(root->shape().dtype()));
}

// "  kernel 'dense: matmul': contraction", and a line for each implementation, the chosen one last.
void AppendAnswers(const Node& fusion, const std::vector<target::Offer>& offers,
                   std::string* text) {
  absl::StrAppend(text, "  kernel '", LayerOf(fusion.name()), ": ", DescribeFusion(fusion),
                  "': ", ir::FusionKindName(fusion.fusion_kind()), " of ", HeadOp(fusion.region()),
                  NarrowTypes(fusion.region()), "\n");
  for (const target::Offer& offer : offers) {
    absl::StrAppend(text, "    ", offer.implementation, ": ",
                    offer.schedule.ok() ? absl::StrCat("chosen as ", offer.schedule->Print())
                                        : offer.schedule.status().message(),
                    "\n");
    if (offer.schedule.ok()) break;
  }
}

absl::Status RunPasses(Graph& graph, const ModuleOptions& options) {
  passes::PassContext& context = *options.passes;
  if (options.schedules != nullptr) {
    context.schedules = [ask = context.schedules, text = options.schedules](
                            const Node& fusion, const target::Facts& facts) {
      std::vector<target::Offer> offers = ask(fusion, facts);
      if (!facts.is_supposed) AppendAnswers(fusion, offers, text);
      return offers;
    };
  }
  return passes::RunPipeline(graph, context);
}

// Makes the kernels of a graph after the passes.
class KernelMaker {
 public:
  explicit KernelMaker(const ModuleOptions& options) : options_(options) {}

  absl::Status MakeAll(Graph& graph) {
    for (Node* node : graph.NodeList()) {
      if (ir::IsControl(*node)) {
        for (int r = 0; r < node->num_regions(); ++r) {
          TEKTITE_RETURN_IF_ERROR(MakeAll(node->region(r)));
        }
      }
      if (node->op() != ir::Op::kFusion) continue;
      const absl::Status status = Make(node, /*primary_only=*/true);
      if (absl::IsUnimplemented(status)) {
        TEKTITE_RETURN_IF_ERROR(MakeParts(graph, node));
      } else if (!status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  const runtime::KernelMap& kernels() const { return kernels_; }
  const ModuleKernel& Describe(const backend::Kernel* kernel) const { return made_.at(kernel); }

 private:
  // Op by op there may be a kernel for all of it.
  absl::Status MakeParts(Graph& graph, Node* fusion) {
    const std::vector<Node*> parts =
        passes::SplitFusion(graph, fusion, options_.passes->target.operand_alignment);
    if (parts.empty()) return Make(fusion, /*primary_only=*/false);
    if (options_.split_fusions != nullptr) ++*options_.split_fusions;
    for (Node* part : parts) TEKTITE_RETURN_IF_ERROR(Make(part, /*primary_only=*/false));
    return absl::OkStatus();
  }

  absl::Status Make(Node* node, bool primary_only) {
    if (options_.passes->checkpoint) TEKTITE_RETURN_IF_ERROR(options_.passes->checkpoint());
    const KernelName name = NameOfKernel(*node, kernels_.size());
    ModuleKernel made;
    made.name = name.symbol;
    TEKTITE_ASSIGN_OR_RETURN(
        made.kernel,
        options_.make_kernel(*node, {made.name, options_.dump_dir}, primary_only, &made.key));
    const bool is_on_host = made.kernel->is_host_side();
    kernels_[node] = made.kernel;
    if (made_.find(made.kernel.get()) == made_.end()) {
      if (options_.is_written && made.kernel->Image().empty()) made.fusion = FusionText(*node);
      made_.emplace(kernels_[node].get(), std::move(made));
    }
    node->set_name(absl::StrCat(name.shown, is_on_host ? " on the host" : ""));
    return absl::OkStatus();
  }

  const ModuleOptions& options_;
  runtime::KernelMap kernels_;
  absl::flat_hash_map<const backend::Kernel*, ModuleKernel> made_;
};

}  // namespace

absl::StatusOr<Module> MakeModule(Graph& graph, const ModuleOptions& options) {
  TEKTITE_RETURN_IF_ERROR(RunPasses(graph, options));
  KernelMaker maker(options);
  TEKTITE_RETURN_IF_ERROR(maker.MakeAll(graph));
  Module module;
  module.roles = options.roles;
  module.roles.num_checks += options.passes->added_checks;
  module.roles.num_added_checks = options.passes->added_checks;
  TEKTITE_ASSIGN_OR_RETURN(
      module.steps, runtime::StepGraph::Create(graph, maker.kernels(), options.typical_sizes));
  // Equal kernels are one, which the first step that runs it names.
  absl::flat_hash_map<const backend::Kernel*, int> numbers;
  for (const runtime::Step& step : module.steps.steps) {
    if (step.kernel == nullptr) {
      module.kernel_of_step.push_back(Module::kNoKernel);
      continue;
    }
    const auto [it, added] =
        numbers.try_emplace(step.kernel.get(), static_cast<int>(module.kernels.size()));
    if (added) module.kernels.push_back(maker.Describe(step.kernel.get()));
    module.kernel_of_step.push_back(it->second);
  }
  return module;
}

}  // namespace tektite::compiler
