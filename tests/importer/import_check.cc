// Imports a closed GraphDef and evaluates it with the reference interpreter: one half of
// test_import_ops.py, TensorFlow being the other.
//
//   import_check graph.pb folder 'f32[2,3]=x.bin' 's32[]=axis.bin'
//
// 'f32[n,3]:f32[2,3]=x.bin' imports with the first type and evaluates with the second.
// Arguments are the _Arg nodes' types in order, each with a file of row-major bytes; the values of
// those that CompileTimeArgs names are given to the importer.  Result i goes to folder/<i>.bin, its
// type to stdout.  A check that fails is said there ("check 0 failed").  With --print instead of a
// folder the IR is printed, and arguments need no files.  A refusal's reason goes to stderr, with
// exit code 3; any other failure is 1.  Each graph is also imported with fewer nodes than it has,
// of any number: every step is one that fails once.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "clustering/graph_def/reader.h"
#include "clustering/importer/importer.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"

namespace tektite {
namespace {

using importer::ArgType;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("cannot read ", path);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// "f32[2,n]"
absl::StatusOr<ir::Shape> ParseShape(absl::string_view text) {
  size_t bracket = text.find('[');
  if (bracket == absl::string_view::npos) return InvalidArgument("not a type: ", text);
  std::optional<ir::DType> dtype = ir::DTypeFromName(text.substr(0, bracket));
  if (!dtype || text.back() != ']') return InvalidArgument("not a type: ", text);
  absl::string_view inside = text.substr(bracket + 1, text.size() - bracket - 2);
  ir::Dims dims;
  for (absl::string_view d : absl::StrSplit(inside, ',', absl::SkipEmpty())) {
    TEKTITE_ASSIGN_OR_RETURN(ir::Dim dim, ir::Dim::Parse(d));
    dims.push_back(dim);
  }
  return ir::Shape(*dtype, dims);
}

struct Argument {
  ArgType type;
  std::optional<ir::Literal> value;
};

absl::StatusOr<Argument> ParseArgument(absl::string_view text) {
  std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  std::vector<std::string> types = absl::StrSplit(parts[0], ':');
  Argument argument;
  TEKTITE_ASSIGN_OR_RETURN(argument.type.shape, ParseShape(types.front()));
  if (parts.size() < 2) return argument;
  TEKTITE_ASSIGN_OR_RETURN(ir::Shape shape, ParseShape(types.back()));
  TEKTITE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(parts[1]));
  if (!shape.is_static() || static_cast<int64_t>(bytes.size()) != shape.num_bytes()) {
    return InvalidArgument(parts[1], " has ", bytes.size(), " bytes for ", types.back());
  }
  argument.value = ir::Literal::CopyOf(shape.dtype(), shape.sizes(), bytes.data());
  return argument;
}

absl::Status Evaluate(const importer::ImportedGraph& imported, absl::Span<const ir::Literal> values,
                      const std::string& folder) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<ir::Literal> results,
                           reference::Evaluate(*imported.graph, values));
  const int num_counts = static_cast<int>(imported.counted.size());
  for (int i = 0; i < imported.num_results; ++i) {
    ir::Shape shape = results[i].shape();
    for (int k = 0; k < num_counts; ++k) {
      if (imported.counted[k] != i) continue;
      shape.set_dim(0, ir::Dim(results[imported.num_results + k].AsInt(0)));
    }
    std::ofstream file(absl::StrCat(folder, "/", i, ".bin"), std::ios::binary);
    file.write(static_cast<const char*>(results[i].raw()), shape.num_bytes());
    std::cout << shape.ToString() << "\n";
  }
  for (int i = 0; i < imported.num_checks; ++i) {
    if (results[imported.num_results + num_counts + i].AsInt(0) == 0)
      std::cout << "check " << i << " failed\n";
  }
  return absl::OkStatus();
}

// Any step may fail, and what follows on its null value must not end the process.
absl::Status RefuseEachStep(const graph_def::GraphDef& graph, absl::Span<const ArgType> args) {
  constexpr int64_t kMostSteps = 300;
  for (int64_t nodes = 0; nodes < kMostSteps; ++nodes) {
    const absl::Status status = importer::ImportGraph(graph, args, nodes).status();
    if (status.ok()) break;
    if (status.message().empty()) return Internal("a refusal without a reason");
  }
  return absl::OkStatus();
}

absl::Status Run(absl::Span<char* const> arguments) {
  TEKTITE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(arguments[0]));
  TEKTITE_ASSIGN_OR_RETURN(graph_def::GraphDef graph, graph_def::ReadGraphDef(bytes));
  std::vector<ArgType> args;
  std::vector<ir::Literal> values;
  std::vector<int> needed = importer::CompileTimeArgs(graph);
  for (size_t i = 2; i < arguments.size(); ++i) {
    TEKTITE_ASSIGN_OR_RETURN(Argument argument, ParseArgument(arguments[i]));
    int index = static_cast<int>(i) - 2;
    if (argument.value) values.push_back(*argument.value);
    if (std::find(needed.begin(), needed.end(), index) != needed.end()) {
      argument.type.value = argument.value;
    }
    args.push_back(argument.type);
  }
  TEKTITE_ASSIGN_OR_RETURN(importer::ImportedGraph imported, importer::ImportGraph(graph, args));
  TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(*imported.graph));
  TEKTITE_RETURN_IF_ERROR(RefuseEachStep(graph, args));
  if (arguments[1] == absl::string_view("--print")) {
    std::cout << ir::Print(*imported.graph);
    return absl::OkStatus();
  }
  return Evaluate(imported, values, arguments[1]);
}

}  // namespace
}  // namespace tektite

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: import_check graph.pb folder|--print [type[=file]]...\n";
    return 1;
  }
  absl::Status status = tektite::Run(absl::MakeConstSpan(argv + 1, argc - 1));
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return absl::IsUnimplemented(status) ? 3 : 1;
}
