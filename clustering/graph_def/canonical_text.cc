#include "clustering/graph_def/canonical_text.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/assignments.h"
#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/graph_index.h"
#include "jit/base/hash.h"
#include "jit/base/status.h"

namespace tektite::graph_def {
namespace {

using clustering::OpFacts;

// Notes that the importer reads.
constexpr absl::string_view kReadNotes[] = {"_tektite_updated", "_tektite_without_onednn"};

bool Matters(absl::string_view attr) {
  return !absl::StartsWith(attr, "_") ||
         std::find(std::begin(kReadNotes), std::end(kReadNotes), attr) != std::end(kReadNotes);
}

// The texts of functions, whose names say nothing: TensorFlow numbers them.  A function that
// is missing, does not fit, or runs itself makes the text of the whole impossible.
class FunctionTexts {
 public:
  explicit FunctionTexts(const GraphDef& graph) : graphs_(graph) {}

  const CanonicalText& Get(const FunctionRef& function);
  const absl::Status& status() const { return status_; }

 private:
  struct Text {
    CanonicalText text;
    bool is_written = false;
  };

  absl::StatusOr<CanonicalText> Write(const FunctionRef& function);

  FunctionGraphs graphs_;
  absl::flat_hash_map<std::string, std::unique_ptr<Text>> texts_;
  absl::Status status_;
};

struct ValueText {
  std::string* out;
  FunctionTexts* functions;

  void operator()(std::monostate) const { absl::StrAppend(out, "none"); }
  void operator()(const std::string& v) const { absl::StrAppend(out, v.size(), ":", v); }
  void operator()(int64_t v) const { absl::StrAppend(out, v); }
  void operator()(float v) const {
    absl::StrAppend(out, "f", absl::Hex(absl::bit_cast<uint32_t>(v)));
  }
  void operator()(bool v) const { absl::StrAppend(out, v ? "true" : "false"); }
  void operator()(DataType v) const { absl::StrAppend(out, DataTypeName(v)); }
  void operator()(const PartialShape& v) const { absl::StrAppend(out, v.ToString()); }
  void operator()(const TensorProto& v) const {
    absl::StrAppend(out, DataTypeName(v.dtype), v.shape.ToString(), "#",
                    FingerprintOf(v.serialized.view()).Hex());
  }
  void operator()(const AttrList& v) const {
    absl::StrAppend(out, "[");
    std::visit([this](const auto& list) { Elements(list); }, v);
    absl::StrAppend(out, "]");
  }
  void operator()(const FunctionRef& v) const {
    const std::string& text = functions->Get(v).whole;
    absl::StrAppend(out, "@", text.size(), ":", text);
  }
  void operator()(const Placeholder& v) const {
    absl::StrAppend(out, "$", v.name.size(), ":", v.name);
  }

 private:
  void Elements(std::monostate) const {}
  template <typename T>
  void Elements(const std::vector<T>& list) const {
    for (const T& element : list) {
      (*this)(element);
      absl::StrAppend(out, ",");
    }
  }
};

class Walk {
 public:
  Walk(const GraphIndex& index, FunctionTexts* functions)
      : index_(index), functions_(functions), number_(index.num_nodes(), kUnseen) {}

  CanonicalText Run() {
    std::vector<std::pair<int64_t, int>> results;
    for (int i = 0; i < index_.num_nodes(); ++i) {
      if (index_.node(i).op == "_Retval") {
        results.emplace_back(index_.node(i).attrs.Int("index", -1), i);
      }
    }
    std::sort(results.begin(), results.end());
    constexpr size_t kUsualLine = 64;
    text_.whole.reserve(kUsualLine * index_.num_nodes());
    text_.ops.reserve(kUsualLine / 2 * index_.num_nodes());
    for (const auto& [index, node] : results) Visit(node);
    for (int i = 0; i < index_.num_nodes(); ++i) {
      if (index_.facts(i).Is(OpFacts::kChecks)) Visit(i);
    }
    const std::vector<Access> accesses = Accesses();
    for (const Access& access : accesses) {
      if (WritesVariable(access.node)) Visit(access.node);
    }
    WriteAccesses(accesses);
    return std::move(text_);
  }

 private:
  static constexpr int kUnseen = -2, kOnTheWay = -1;

  // A node that reads or writes a variable.
  struct Access {
    int64_t variable;  // its argument's index
    int position;      // in the order in which the importer takes nodes, which control edges decide
    int node;
  };

  bool WritesVariable(int node) const { return MayAssign(index_, node); }

  // Of variables that are written, variable by variable and in order: no data edge says which value
  // a read returns, or which write is the last one.
  std::vector<Access> Accesses() const {
    std::vector<Access> accesses;
    std::vector<int> position(index_.num_nodes());
    for (int i = 0; i < index_.num_nodes(); ++i) position[index_.order()[i]] = i;
    for (int arg = 0; arg < index_.num_nodes(); ++arg) {
      const auto uses = index_.uses(arg);
      if (index_.node(arg).op != "_Arg" ||
          std::none_of(uses.begin(), uses.end(),
                       [&](const GraphIndex::Use& use) { return WritesVariable(use.node); })) {
        continue;
      }
      for (const GraphIndex::Use& use : uses) {
        accesses.push_back({index_.node(arg).attrs.Int("index", -1), position[use.node], use.node});
      }
    }
    std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
      return std::tie(a.variable, a.position) < std::tie(b.variable, b.position);
    });
    return accesses;
  }

  void WriteAccesses(const std::vector<Access>& accesses) {
    for (const Access& access : accesses) {
      if (number_[access.node] < 0) continue;  // nothing needs the value it reads
      absl::StrAppend(&text_.whole, "variable ", access.variable, " in ", number_[access.node],
                      "\n");
    }
  }

  // Inputs first.
  void Visit(int root) {
    std::vector<int> waiting = {root};
    while (!waiting.empty()) {
      const int node = waiting.back();
      if (number_[node] == kUnseen) {
        number_[node] = kOnTheWay;
        const auto inputs = index_.inputs(node);
        for (auto it = inputs.rbegin(); it != inputs.rend(); ++it) {
          if (!it->is_control() && number_[it->node] == kUnseen) waiting.push_back(it->node);
        }
        continue;
      }
      waiting.pop_back();
      if (number_[node] != kOnTheWay) continue;
      number_[node] = count_++;
      Write(node);
    }
  }

  void Write(int number) {
    const NodeDef& node = index_.node(number);
    const size_t begin = text_.whole.size();
    text_.whole += node.op;
    for (const GraphIndex::Edge& edge : index_.inputs(number)) {
      if (edge.is_control()) continue;
      absl::StrAppend(&text_.whole, " ", number_[edge.node], "#", edge.output);
    }
    absl::StrAppend(&text_.ops, absl::string_view(text_.whole).substr(begin), "\n");
    for (const Attr& attr : node.attrs.entries()) {
      if (!Matters(attr.name)) continue;
      absl::StrAppend(&text_.whole, " ", attr.name, "=");
      std::visit(ValueText{&text_.whole, functions_}, attr.value.value);
    }
    text_.whole += '\n';
    for (const FunctionRef& function : FunctionsOf(node)) {
      text_.ops += functions_->Get(function).ops;
    }
  }

  const GraphIndex& index_;
  FunctionTexts* const functions_;
  std::vector<int> number_;  // by node
  int count_ = 0;
  CanonicalText text_;
};

absl::StatusOr<CanonicalText> WriteText(const GraphDef& graph, FunctionTexts* functions) {
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Create(graph));
  for (int i = 0; i < index.num_nodes(); ++i) {
    if (index.facts(i).Is(OpFacts::kNextIteration)) {
      return Unimplemented("the text of a graph with a loop of Switch and Merge nodes");
    }
  }
  return Walk(index, functions).Run();
}

const CanonicalText& FunctionTexts::Get(const FunctionRef& function) {
  auto [it, is_new] = texts_.emplace(function.name, nullptr);
  if (is_new) it->second = std::make_unique<Text>();
  Text* const text = it->second.get();  // stays where it is while the table grows
  if (is_new) {
    absl::StatusOr<CanonicalText> written = Write(function);
    if (written.ok()) text->text = *std::move(written);
    status_.Update(written.status());
    text->is_written = true;
  } else if (!text->is_written) {
    status_.Update(Unimplemented("the text of function '", function.name, "', which runs itself"));
  }
  return text->text;
}

absl::StatusOr<CanonicalText> FunctionTexts::Write(const FunctionRef& function) {
  TEKTITE_ASSIGN_OR_RETURN(const GraphDef* graph, graphs_.Get(function));
  return WriteText(*graph, this);
}

}  // namespace

absl::StatusOr<CanonicalText> WriteCanonicalText(const GraphDef& graph) {
  FunctionTexts functions(graph);
  TEKTITE_ASSIGN_OR_RETURN(CanonicalText text, WriteText(graph, &functions));
  TEKTITE_RETURN_IF_ERROR(functions.status());
  return text;
}

}  // namespace tektite::graph_def
