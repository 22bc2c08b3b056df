#include "clustering/source/library_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clustering/extract_cluster.h"
#include "clustering/graph_def/data_type.h"
#include "clustering/graph_def/output_type.h"
#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/tensor.h"
#include "clustering/importer/importer.h"
#include "clustering/load_model.h"
#include "jit/base/status.h"
#include "jit/compiler/specialize.h"
#include "jit/ir/symbols.h"
#include "jit/ir/text/value_parser.h"

namespace tektite::clustering {
namespace {

using graph_def::DataType;
using graph_def::NodeDef;

// "x" of "x:0".
std::string WithoutOutput(const std::string& tensor) {
  return std::string(absl::StripSuffix(tensor, ":0"));
}

absl::StatusOr<std::map<std::string, ir::Shape>> ParseInputs(absl::string_view text) {
  std::map<std::string, ir::Shape> inputs;
  for (absl::string_view part : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> both =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    ir::ValueParser parser(both.second);
    absl::StatusOr<ir::Shape> shape = parser.ParseShape();
    if (both.first.empty() || !shape.ok()) {
      return InvalidArgument("not an input: '", part,
                             "'; write NAME=TYPE[SIZES], such as x=f32[n,8]");
    }
    inputs[WithoutOutput(std::string(absl::StripAsciiWhitespace(both.first)))] = *shape;
  }
  return inputs;
}

class GraphDefLibrary {
 public:
  explicit GraphDefLibrary(std::map<std::string, ir::Shape> given) : given_(std::move(given)) {}

  absl::StatusOr<LibrarySource> Load(absl::string_view model, absl::string_view outputs) {
    TEKTITE_ASSIGN_OR_RETURN(const auto graph, LoadModel(model));
    const std::vector<std::string> names = absl::StrSplit(outputs, ',', absl::SkipWhitespace());
    TEKTITE_ASSIGN_OR_RETURN(const ClosedGraph closed, CloseGraph(graph, names));
    return Load(closed);
  }

  // Arguments and results have the names of their nodes.
  absl::StatusOr<LibrarySource> LoadCluster(absl::string_view bytes) {
    ClosedGraph closed;
    TEKTITE_ASSIGN_OR_RETURN(closed.graph, graph_def::ReadGraphDef(bytes));
    for (const NodeDef& node : closed.graph.nodes) {
      if (node.op != "_Arg" && node.op != "_Retval") continue;
      std::vector<std::string>& names = node.op == "_Arg" ? closed.inputs : closed.outputs;
      const int64_t index = node.attrs.Int("index", -1);
      if (index < 0 || index > kMostArgs) return InvalidArgument(node.name, ": bad index ", index);
      if (names.size() <= static_cast<size_t>(index)) names.resize(static_cast<size_t>(index) + 1);
      names[index] = node.name;
    }
    return Load(closed);
  }

 private:
  static constexpr int64_t kMostArgs = 1 << 20;

  absl::StatusOr<LibrarySource> Load(const ClosedGraph& closed) {
    std::vector<importer::ArgType> args(closed.inputs.size());
    for (const NodeDef& node : closed.graph.nodes) {
      const int64_t i = node.attrs.Int("index", -1);
      if (node.op != "_Arg" || i < 0 || i >= static_cast<int64_t>(args.size())) continue;
      TEKTITE_ASSIGN_OR_RETURN(args[i].shape, TypeOf(closed.inputs[i], node));
      args[i].weight = node.attrs.Type("T") == DataType::kResource;
    }
    for (const auto& [name, shape] : given_) {
      if (used_.count(name) == 0) return InvalidArgument("the graph has no input '", name, "'");
    }
    for (int arg : importer::CompileTimeArgs(closed.graph)) {
      return Unimplemented("the values of '", closed.inputs[arg],
                           "' decide what code is made; make it a constant of the model");
    }
    TEKTITE_ASSIGN_OR_RETURN(importer::ImportedGraph imported,
                             importer::ImportGraph(closed.graph, args));
    LibrarySource source;
    source.graph = std::move(imported.graph);
    source.roles = {std::move(imported.counted), imported.num_checks, std::move(imported.updated)};
    for (const std::string& name : closed.inputs) {
      source.names.arguments.push_back(WithoutOutput(name));
    }
    TEKTITE_RETURN_IF_ERROR(FindValues(closed, &source));
    for (const std::string& name : closed.outputs) {
      source.names.results.push_back(WithoutOutput(name));
    }
    return source;
  }

  // Of arguments whose values the graph brings along, as of variables that it does not change.
  static absl::Status FindValues(const ClosedGraph& closed, LibrarySource* source) {
    const std::vector<int>& updated = source->roles.updated;
    for (const NodeDef& node : closed.graph.nodes) {
      const graph_def::AttrValue* found = node.attrs.Find("_tektite_value");
      if (node.op != "_Arg" || found == nullptr) continue;
      const auto p = static_cast<int>(node.attrs.Int("index", -1));
      const auto* proto = found->As<graph_def::TensorProto>();
      if (proto == nullptr || std::count(updated.begin(), updated.end(), p) > 0) continue;
      TEKTITE_ASSIGN_OR_RETURN(const graph_def::TensorValue value,
                               graph_def::MaterializeTensor(*proto));
      const ir::Shape shape = source->graph->parameter(p)->shape();
      if (!shape.is_static() ||
          static_cast<int64_t>(value.bytes.view().size()) != shape.num_bytes()) {
        return InvalidArgument("the value of '", closed.inputs[p], "' is no ", shape.ToString());
      }
      source->values.insert_or_assign(
          p, ir::Literal::CopyOf(shape.dtype(), shape.sizes(), value.bytes.view().data()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ir::Shape> TypeOf(const std::string& tensor, const NodeDef& arg) {
    const auto [type, shape] = graph_def::ArgType(arg);
    const std::string name = WithoutOutput(tensor);
    const bool is_complex = graph_def::PartType(type).has_value();
    const std::optional<ir::DType> dtype =
        graph_def::DTypeOf(graph_def::PartType(type).value_or(type));
    if (!dtype) {
      return Unimplemented("'", tensor, "' is of type ", graph_def::DataTypeName(type),
                           "; cut the graph behind it with --outputs");
    }
    ir::Dims dims;
    if (const auto it = given_.find(name); it != given_.end()) {
      used_.insert(name);
      if (it->second.dtype() != *dtype) {
        return InvalidArgument("'", name, "' is of type ", ir::DTypeName(*dtype), ", not ",
                               ir::DTypeName(it->second.dtype()));
      }
      dims = it->second.dims();
    } else {
      if (shape == nullptr || shape->unknown_rank) {
        return Unimplemented("the shape of '", tensor, "' is unknown; say it with --input ", name,
                             "=", ir::DTypeName(*dtype), "[...]");
      }
      for (size_t i = 0; i < shape->dims.size(); ++i) {
        const int64_t size = shape->dims[i];
        dims.push_back(size >= 0 ? ir::Dim(size)
                                 : ir::Dim::Symbol(absl::StrCat(aot::Identifier(name), "_", i)));
      }
    }
    if (is_complex) dims.push_back(ir::Dim(2));
    return ir::Shape(*dtype, dims);
  }

  const std::map<std::string, ir::Shape> given_;
  std::set<std::string> used_;
};

absl::StatusOr<LibrarySource> LoadIr(absl::string_view text,
                                     const std::map<std::string, ir::Shape>& given) {
  LibrarySource source;
  TEKTITE_ASSIGN_OR_RETURN(source.graph, compiler::ParseGraph(text));
  std::vector<ir::Shape> shapes;
  size_t used = 0;
  for (const ir::Node* parameter : source.graph->parameters()) {
    const auto it = given.find(parameter->name());
    used += it != given.end();
    shapes.push_back(it == given.end() ? parameter->shape() : it->second);
    source.names.arguments.push_back(parameter->name());
  }
  if (used != given.size()) return InvalidArgument("--input names no parameter of the graph");
  for (const ir::Value output : source.graph->outputs()) {
    source.names.results.push_back(output.node->name());
  }
  if (!given.empty()) TEKTITE_RETURN_IF_ERROR(compiler::Specialize(*source.graph, shapes));
  return source;
}

}  // namespace

absl::StatusOr<LibrarySource> LoadLibrarySource(absl::string_view model,
                                                const LibraryOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(auto given, ParseInputs(options.inputs));
  TEKTITE_ASSIGN_OR_RETURN(const auto typical, compiler::ParseSizes(options.typical));
  absl::StatusOr<LibrarySource> source =
      options.form == ModelForm::kIr ? LoadIr(model, given)
      : options.form == ModelForm::kCluster
          ? GraphDefLibrary(std::move(given)).LoadCluster(model)
          : GraphDefLibrary(std::move(given)).Load(model, options.outputs);
  TEKTITE_RETURN_IF_ERROR(source.status());
  source->typical_sizes = compiler::TypicalSizes(*source->graph, typical);
  for (const auto& [name, size] : typical) {
    if (source->typical_sizes.count(name) == 0) {
      return InvalidArgument("no open size is called '", name, "'");
    }
  }
  compiler::UnifySymbols(*source->graph, &source->typical_sizes);
  if (!ir::HasSymbols(*source->graph)) {
    TEKTITE_RETURN_IF_ERROR(compiler::CheckGuards(*source->graph));
  }
  return source;
}

}  // namespace tektite::clustering
