#include "jit/serving/graph_source.h"

#include <utility>

#include "jit/base/status.h"
#include "jit/cache/key.h"
#include "jit/compiler/specialize.h"
#include "jit/ir/symbols.h"

namespace tektite::serving {
namespace {

// Those of regions, too.
int CountOps(const ir::Graph& graph) {
  int count = static_cast<int>(graph.num_nodes()) - graph.num_parameters();
  for (const auto& node : graph.nodes()) {
    for (int i = 0; i < node->num_regions(); ++i) count += CountOps(node->region(i));
  }
  return count;
}

class FromIr : public GraphSource {
 public:
  explicit FromIr(std::unique_ptr<ir::Graph> graph) : graph_(std::move(graph)) {
    num_args_ = graph_->num_parameters();
    num_results_ = static_cast<int>(graph_->outputs().size());
    num_ops_ = CountOps(*graph_);
    for (const ir::Node* parameter : graph_->parameters()) {
      sizes_.emplace_back();
      for (const ir::Dim& d : parameter->shape().dims()) {
        sizes_.back().push_back(d.is_constant() ? Size::kFixed : Size::kAnything);
      }
    }
  }

  absl::StatusOr<SourceGraph> Specialize(absl::Span<const ArgInfo> args) const override {
    std::unique_ptr<ir::Graph> graph = graph_->Clone();
    std::vector<ir::Shape> shapes;
    for (const ArgInfo& arg : args) shapes.push_back(arg.shape);
    TEKTITE_RETURN_IF_ERROR(compiler::Specialize(*graph, shapes));
    return SourceGraph{std::move(graph), {}};
  }

  absl::StatusOr<Text> CanonicalText() const override {
    const std::unique_ptr<ir::Graph> renamed = ir::WithCanonicalSymbols(*graph_);
    const std::string whole = ir::PrintCanonical(renamed != nullptr ? *renamed : *graph_);
    return Text{cache::OpsOf(*graph_), whole};
  }

 private:
  const std::unique_ptr<const ir::Graph> graph_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GraphSource>> IrSource(absl::string_view text) {
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<ir::Graph> graph, compiler::ParseGraph(text));
  return std::make_unique<FromIr>(std::move(graph));
}

}  // namespace tektite::serving
