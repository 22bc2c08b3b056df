#include "clustering/source/graph_def_source.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "clustering/graph_def/canonical_text.h"
#include "clustering/graph_def/reader.h"
#include "clustering/importer/importer.h"
#include "clustering/op_table.h"
#include "jit/base/status.h"
#include "jit/compiler/specialize.h"
#include "jit/ir/symbols.h"

namespace tektite::clustering {
namespace {

using graph_def::DataType;
using graph_def::NodeDef;

// Enough for any graph; bounds what a damaged index can ask for.
constexpr int64_t kMostArgs = 1 << 20;

class FromGraphDef : public serving::GraphSource {
 public:
  static absl::StatusOr<std::unique_ptr<serving::GraphSource>> Create(absl::string_view bytes) {
    auto source = std::make_unique<FromGraphDef>();
    TEKTITE_ASSIGN_OR_RETURN(source->graph_, graph_def::ReadGraphDef(bytes));
    for (const NodeDef& node : source->graph_.nodes) {
      TEKTITE_RETURN_IF_ERROR(source->AddNode(node));
    }
    // Of loops, branches and calls.  A function that two nodes run has equal kernels in both.
    for (const graph_def::FunctionDef& function : source->graph_.functions) {
      for (const NodeDef& node : function.nodes) source->CountOp(node);
    }
    source->compile_time_args_ = importer::CompileTimeArgs(source->graph_);
    for (int arg : source->compile_time_args_) {
      if (arg < 0 || arg >= source->num_args_) return Internal("no argument ", arg);
    }
    return source;
  }

  absl::StatusOr<serving::SourceGraph> Specialize(
      absl::Span<const serving::ArgInfo> args) const override {
    std::vector<importer::ArgType> types(args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      types[i].shape = args[i].shape;
      types[i].weight = IsVariable(static_cast<int>(i)) || args[i].versioned;
      types[i].value = args[i].value;
      types[i].elements = args[i].elements;
    }
    TEKTITE_ASSIGN_OR_RETURN(importer::ImportedGraph imported,
                             importer::ImportGraph(graph_, types));
    if (!ir::HasSymbols(*imported.graph)) {
      TEKTITE_RETURN_IF_ERROR(compiler::CheckGuards(*imported.graph));
    }
    return serving::SourceGraph{
        std::move(imported.graph),
        {std::move(imported.counted), imported.num_checks, std::move(imported.updated)}};
  }

  absl::StatusOr<Text> CanonicalText() const override {
    TEKTITE_ASSIGN_OR_RETURN(graph_def::CanonicalText text, graph_def::WriteCanonicalText(graph_));
    return Text{std::move(text.ops), std::move(text.whole)};
  }

 private:
  // A known size is no promise: code for other sizes may be asked for all the same.
  static std::vector<Size> KnownSizes(const NodeDef& arg) {
    std::vector<Size> sizes;
    const graph_def::AttrValue* value = arg.attrs.Find("_output_shapes");
    const auto* shapes = value == nullptr ? nullptr : value->AsListOf<graph_def::PartialShape>();
    if (shapes == nullptr || shapes->size() != 1 || shapes->front().unknown_rank) return sizes;
    for (int64_t size : shapes->front().dims) {
      sizes.push_back(size < 0 ? Size::kVaries : Size::kAnything);
    }
    return sizes;
  }

  void CountOp(const NodeDef& node) {
    if (node.op != "Const") ++num_ops_;
    const OpFacts& facts = FactsOf(node.op);
    if (facts.work == OpFacts::Work::kConvolution) ++num_convolutions_;
    // The state of a generator is no weight.
    updates_variables_ |= facts.Is(OpFacts::kWritesVariable) && !facts.Is(OpFacts::kRandom);
  }

  absl::Status AddNode(const NodeDef& node) {
    const bool is_arg = node.op == "_Arg";
    if (!is_arg && node.op != "_Retval") {
      CountOp(node);
      return absl::OkStatus();
    }
    const int64_t index = node.attrs.Int("index", -1);
    if (index < 0 || index >= kMostArgs) {
      return InvalidArgument(node.op, " '", node.name, "': bad index ", index);
    }
    int& count = is_arg ? num_args_ : num_results_;
    count = std::max(count, static_cast<int>(index) + 1);
    if (is_arg) {
      variables_.resize(num_args_);
      variables_[index] = node.attrs.Type("T") == DataType::kResource;
      sizes_.resize(num_args_);
      sizes_[index] = KnownSizes(node);
    } else {
      complex_results_.resize(num_results_);
      complex_results_[index] = graph_def::PartType(node.attrs.Type("T")).has_value();
    }
    return absl::OkStatus();
  }

  graph_def::GraphDef graph_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<serving::GraphSource>> GraphDefSource(absl::string_view bytes) {
  return FromGraphDef::Create(bytes);
}

}  // namespace tektite::clustering
