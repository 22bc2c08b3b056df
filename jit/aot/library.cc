#include "jit/aot/library.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::aot {
namespace {

using runtime::Buffer;
using runtime::Location;
using runtime::Step;

bool IsKeyword(const std::string& text) {
  static const std::set<std::string> words = {
      "alignas", "auto",     "bool",     "break",    "case",    "catch",   "char",   "class",
      "const",   "default",  "delete",   "do",       "double",  "else",    "enum",   "extern",
      "false",   "float",    "for",      "friend",   "goto",    "if",      "inline", "int",
      "long",    "new",      "not",      "or",       "private", "public",  "return", "short",
      "signed",  "sizeof",   "static",   "struct",   "switch",  "this",    "throw",  "true",
      "try",     "typedef",  "union",    "unsigned", "using",   "virtual", "void",   "while",
      "and",     "operator", "register", "template", "volatile"};
  return words.count(text) > 0;
}

// Identifiers of a list, each once.
class Identifiers {
 public:
  std::string Make(const std::string& original, const std::string& otherwise) {
    std::string base = Identifier(original.empty() ? otherwise : original);
    if (IsKeyword(base)) base += "_";
    std::string name = base;
    for (int i = 2; !seen_.insert(name).second; ++i) name = absl::StrCat(base, "_", i);
    return name;
  }

 private:
  std::set<std::string> seen_;
};

// Groups that can be computed now: no weight of the caller's plays a part, and no loop.
std::vector<bool> ComputableGroups(const runtime::StepGraph& graph) {
  std::vector<bool> computable;
  for (const runtime::WeightGroup& group : graph.groups) {
    computable.push_back(group.parameters.empty() &&
                         std::none_of(group.steps.begin(), group.steps.end(),
                                      [&](int s) { return graph.steps[s].IsControl(); }));
  }
  return computable;
}

// Calls `visit` for each step of a call, those of regions too.
void ForEachStep(const runtime::StepGraph& graph, const std::vector<int>& steps,
                 const std::function<void(int)>& visit) {
  for (int s : steps) {
    visit(s);
    for (int r : graph.steps[s].regions) ForEachStep(graph, graph.regions[r].steps, visit);
  }
}

std::string NameOf(const runtime::StepGraph& graph, int step) {
  return graph.names.empty() ? absl::StrCat("step ", step) : graph.names[step];
}

// What calls read of the constants.
absl::Status AddData(Library* library) {
  const runtime::StepGraph& graph = library->graph;
  std::vector<bool> read(graph.buffers.size());
  for (const runtime::GraphOutput& output : graph.outputs) read[output.buffer] = true;
  ForEachStep(graph, library->plan.steps, [&](int s) {
    const Step& step = graph.steps[s];
    for (size_t o = 0; o < step.operands.size(); ++o) {
      if (!library->IsReplaced(s, o)) read[step.operands[o]] = true;
    }
    for (int r : step.regions) {
      for (int b : graph.regions[r].outputs) read[b] = true;
    }
  });
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    const Buffer& buffer = graph.buffers[b];
    if (!read[b] || buffer.kind != Buffer::Kind::kConstant) continue;
    const ir::Literal& constant = graph.constants[buffer.index];
    library->data.constants[buffer.index] = library->data.Add(constant.raw(), constant.num_bytes());
  }
  return absl::OkStatus();
}

void AddTensors(const runtime::OutputRoles& roles, const Names& names, Library* library) {
  const runtime::StepGraph& graph = library->graph;
  Identifiers arguments, results, sizes;
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    Tensor tensor;
    tensor.original = p < names.arguments.size() ? names.arguments[p] : "";
    tensor.name = arguments.Make(tensor.original, absl::StrCat("argument_", p));
    tensor.shape = graph.shapes[graph.parameters[p]];
    library->arguments.push_back(std::move(tensor));
  }
  for (const Buffer& buffer : graph.buffers) {
    if (buffer.kind == Buffer::Kind::kParameter) {
      library->arguments[buffer.index].bytes_place = buffer.place;
    }
  }
  for (int parameter : roles.updated) library->arguments[parameter].is_state = true;
  const size_t num_results = graph.outputs.size() - roles.updated.size() -
                             static_cast<size_t>(roles.num_checks) - roles.counted.size();
  for (size_t k = 0; k < num_results; ++k) {
    Tensor tensor;
    tensor.original = k < names.results.size() ? names.results[k] : "";
    tensor.name = results.Make(tensor.original, absl::StrCat("result_", k));
    tensor.shape = graph.outputs[k].shape;
    tensor.bytes_place = graph.buffers[graph.outputs[k].buffer].place;
    library->results.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < roles.counted.size(); ++i) {
    Tensor tensor;
    const Tensor& counted = library->results[roles.counted[i]];
    tensor.name = results.Make(counted.name + "_rows", "");
    tensor.original = "how many rows of '" + counted.name + "' count";
    tensor.shape = graph.outputs[num_results + i].shape;
    tensor.bytes_place = graph.buffers[graph.outputs[num_results + i].buffer].place;
    library->results.push_back(std::move(tensor));
  }
  for (const std::string& symbol : graph.program.symbols()) {
    library->sizes.push_back(sizes.Make(symbol, symbol));
  }
}

}  // namespace

int Library::Error(ErrorKind kind, std::string sentence) {
  const auto found = std::find(sentences.begin(), sentences.end(), sentence);
  const auto number = static_cast<int>(found - sentences.begin());
  if (found == sentences.end()) sentences.push_back(std::move(sentence));
  return number << 8 | kind;
}

bool Library::IsReplaced(int step, size_t o) const {
  const Step& s = graph.steps[step];
  if (s.kernel == nullptr || KernelOf(step).operand_replaced_by_panels() != static_cast<int>(o)) {
    return false;
  }
  const int group = graph.buffers[s.operands.back()].kind == Buffer::Kind::kComputed
                        ? graph.steps[graph.buffers[s.operands.back()].index].group
                        : -1;
  return group >= 0 && data.groups[group] != DataImage::kAbsent;
}

absl::StatusOr<Library> MakeLibrary(const runtime::StepGraph& graph,
                                    const runtime::OutputRoles& roles, const Names& names,
                                    Library* before) {
  Library library;
  library.name = names.library;
  library.prefix = names.library + names.variant;
  if (before != nullptr) {
    library.data = std::move(before->data);
    library.sentences = before->sentences;
    before->data.constants = library.data.constants;
    before->data.groups = library.data.groups;
  }
  library.graph = graph;
  for (const runtime::SymbolSource& source : graph.sources) {
    if (source.dimension >= 0) continue;
    return Unimplemented("a size is an element of argument ", source.parameter,
                         ", which a library does not read before it runs; make it constant");
  }
  const std::vector<bool> kept = ComputableGroups(graph);
  for (size_t g = 0; g < graph.groups.size(); ++g) {
    // Calls do not run these, and read what they are computed from.
    if (!kept[g]) library.graph.groups[g].deferred = false;
  }
  library.plan = runtime::AssignBuffers(library.graph, kept, roles);
  absl::Status refused;
  library.runs.resize(graph.steps.size());
  ForEachStep(library.graph, library.plan.steps, [&](int s) {
    const Step& step = library.graph.steps[s];
    library.runs[s] = true;
    if (step.kernel == nullptr || !refused.ok()) return;
    if (dynamic_cast<const ObjectKernel*>(step.kernel.get()) != nullptr) return;
    refused = Unimplemented(NameOf(library.graph, s),
                            ": its kernel is compiled with Tektite, and libraries do not have it");
  });
  TEKTITE_RETURN_IF_ERROR(refused);
  library.data.constants.assign(graph.constants.size(), DataImage::kAbsent);
  library.data.groups.assign(graph.groups.size(), DataImage::kAbsent);
  for (size_t g = 0; g < graph.groups.size(); ++g) {
    if (!kept[g]) continue;
    TEKTITE_RETURN_IF_ERROR(AddGroup(library.graph, static_cast<int>(g), &library.data));
  }
  TEKTITE_RETURN_IF_ERROR(AddData(&library));
  AddTensors(roles, names, &library);
  return library;
}

std::string Identifier(const std::string& text) {
  std::string name = text;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
  return name;
}

absl::StatusOr<WeightsPlace> PlaceOf(absl::string_view word) {
  if (word.empty() || word == "inside") return WeightsPlace::kInside;
  if (word == "file") return WeightsPlace::kFile;
  if (word == "caller") return WeightsPlace::kCaller;
  return InvalidArgument("weights are inside, file or caller, not '", word, "'");
}

bool IsIdentifier(const std::string& text) {
  return !text.empty() && Identifier(text) == text && !IsKeyword(text);
}

}  // namespace tektite::aot
