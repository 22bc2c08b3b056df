// narrow_stores: with --f32_products=bf16_stored, kernels hand each other bf16 where products are
// of bf16.
//
//   before  %1:2 : (bf16, f32) = fusion(...) {kind = contraction} of { ... return convert(%x), %x }
//           %2 = fusion(%1#1, ...) of { add(%p, ...) }
//   after   %1 : (bf16) = fusion(...) {kind = contraction} of { ... return convert(%x) }
//           %2 = fusion(%1, ...) of { add(convert(%p), ...) }
//
// A residual network's sums are read by a product, in bf16, and by the next sum, in f32: memory
// held both.  Concerns f32 results of kernels that multiply bf16, and those that such a product
// reads in bf16, too; what one kernel does with them is f32 as before.
//
// Limits: outputs of the graph, what weights alone decide, results of fewer than 16K elements
// (statistics, scales), and results that a loop, a choice or a product of f32 reads stay f32.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/names.h"
#include "jit/passes/narrow_types.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

constexpr int64_t kFewestElements = 16 << 10;

Node* ParameterOf(const Node& fusion, int operand) { return fusion.region().parameter(operand); }

// Which output of the fusion is the given one in bf16; -1: none.
int TwinOf(const Node& fusion, int output) {
  const auto outputs = fusion.region().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Node& node = *outputs[i].node;
    if (node.op() == Op::kConvert && node.shape().dtype() == DType::kBF16 &&
        node.operand(0) == outputs[output]) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

bool MultipliesBF16(const Node& fusion) {
  if (!fusion.IsFusion(FusionKind::kContraction)) return false;
  const auto& nodes = fusion.region().nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return IsProduct(*node) && node->operand(0).dtype() == DType::kBF16;
  });
}

// Whether the reader's kernel may convert what it reads there.
bool MayConvert(const ir::Use& use) {
  const Node& reader = *use.user;
  if (reader.op() != Op::kFusion || reader.IsFusion(FusionKind::kSingle) ||
      reader.IsFusion(FusionKind::kAttention)) {
    return false;
  }
  const Node& parameter = *ParameterOf(reader, use.operand);
  return !parameter.IsOutput() &&
         std::all_of(parameter.uses().begin(), parameter.uses().end(), [](const ir::Use& inside) {
           const Op op = inside.user->op();
           return ir::IsElementwise(op) || op == Op::kSlice || op == Op::kReduce ||
                  op == Op::kReduceWindow;
         });
}

class StoreNarrower {
 public:
  explicit StoreNarrower(Graph& graph) : graph_(graph), stable_(StableNodes(graph)) {}

  bool Run() {
    bool changed = false;
    for (Node* node : graph_.NodeList()) {
      if (node->op() != Op::kFusion || stable_.contains(node)) continue;
      for (int i = 0; i < node->num_results(); ++i) {
        if (!Fits(*node, i)) continue;
        node = Narrow(node, i);
        changed = true;
        i = -1;  // the results have other places now
      }
    }
    return changed;
  }

 private:
  static bool Fits(const Node& fusion, int result) {
    const Shape& shape = fusion.shape(result);
    const auto& uses = fusion.uses(result);
    return shape.dtype() == DType::kF32 && !fusion.IsOutput(result) && !uses.empty() &&
           ElementsOf(shape.dims()) >= kFewestElements &&
           (MultipliesBF16(fusion) || TwinOf(fusion, result) >= 0) &&
           std::all_of(uses.begin(), uses.end(), MayConvert);
  }

  // Returns the fusion that writes bf16 instead.
  Node* Narrow(Node* fusion, int result) {
    std::unique_ptr<Graph> region = fusion->region().Clone();
    std::vector<Value> outputs(region->outputs().begin(), region->outputs().end());
    int place = TwinOf(*fusion, result);
    if (place >= 0) {
      outputs.erase(outputs.begin() + result);
    } else {
      place = result;
      outputs[result] = FuncBuilder(region.get(), nullptr).Convert(outputs[result], DType::kBF16);
    }
    region->SetOutputs(outputs);
    Node* const made =
        graph_.AppendFusion(fusion->operands(), fusion->attrs(), std::move(region), fusion);
    made->set_name(fusion->name());
    for (const ir::Use& use : fusion->uses(result)) ConvertInside(use);
    for (int i = 0; i < fusion->num_results(); ++i) {
      const int of = i == result ? place : i;
      graph_.ReplaceAllUses(fusion->result(i), made->result(of - (place != result && of > result)));
    }
    graph_.Erase(fusion);
    return made;
  }

  // The reader takes bf16 and converts it.
  static void ConvertInside(const ir::Use& use) {
    Graph& region = use.user->region();
    Node* const parameter = ParameterOf(*use.user, use.operand);
    Node* first = nullptr;  // behind the parameters
    for (const auto& node : region.nodes()) {
      if (node->op() != Op::kParameter) {
        first = node.get();
        break;
      }
    }
    Node* const convert = region.Append(Op::kConvert, {}, {}, {parameter->shape()}, first);
    convert->attrs().Set(Attr::dtype, DType::kF32);
    region.ReplaceAllUses(parameter->result(), convert->result());
    parameter->set_shape(0, parameter->shape().WithDType(DType::kBF16));
    convert->AddOperand(parameter->result());
  }

  Graph& graph_;
  const absl::flat_hash_set<const Node*> stable_;
};

}  // namespace

absl::StatusOr<bool> NarrowStores(Graph& graph, PassContext& context) {
  if (context.flags.f32_products != "bf16_stored") return false;
  return StoreNarrower(graph).Run();
}

}  // namespace tektite::passes
