#include "clustering/graph_def/inline_functions.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/op_outputs.h"
#include "clustering/graph_def/writer.h"

namespace tektite::graph_def {
namespace {

// A result may be handed through this many calls; more is a cycle of calls that hand results round.
constexpr int kMaxForwards = 1000;

struct Call {
  NodeDef node;
  int depth = 0;
};

// The body of one call, ready to be put in.
struct Body {
  std::vector<NodeDef> nodes;
  std::vector<NodeInput> results;
  std::vector<NodeInput> done;  // control inputs of what waits for the call
};

class Inliner {
 public:
  Inliner(absl::Span<const OpDef> ops, const InlineLimits& limits, GraphDef* graph)
      : limits_(limits), graph_(graph), outputs_(ops, graph->functions) {
    for (const FunctionDef& f : graph->functions) functions_.emplace(f.signature.name, &f);
  }

  int Run() {
    std::deque<Call> work;
    for (NodeDef& node : graph_->nodes) work.push_back({std::move(node), 0});
    nodes_ = static_cast<int64_t>(work.size());
    std::vector<NodeDef> done;
    while (!work.empty()) {
      Call call = std::move(work.front());
      work.pop_front();
      std::optional<Body> body = Expand(call);
      if (!body.has_value()) {
        done.push_back(std::move(call.node));
        continue;
      }
      ++calls_;
      NodeDef barrier;
      barrier.name = call.node.name;
      barrier.op = "NoOp";
      barrier.device = call.node.device;
      barrier.inputs = std::move(body->done);
      results_.emplace(call.node.name, std::move(body->results));
      // In place, so that the nodes stay in the order of the program.
      for (auto it = body->nodes.rbegin(); it != body->nodes.rend(); ++it) {
        work.push_front({std::move(*it), call.depth + 1});
      }
      done.push_back(std::move(barrier));
    }
    graph_->nodes = std::move(done);
    Reconnect();
    return calls_;
  }

 private:
  const FunctionDef* Called(const NodeDef& node, const AttrMap** attrs) const {
    absl::string_view name = node.op;
    *attrs = &node.attrs;
    if (node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall") {
      const AttrValue* f = node.attrs.Find("f");
      const FunctionRef* ref = f == nullptr ? nullptr : f->As<FunctionRef>();
      if (ref == nullptr) return nullptr;
      name = ref->name;
      *attrs = &ref->attrs;
    }
    auto it = functions_.find(name);
    return it == functions_.end() ? nullptr : it->second;
  }

  int64_t SizeOf(const FunctionDef& f) {
    auto [it, is_new] = sizes_.emplace(&f, 0);
    if (is_new) {
      for (const NodeDef& node : f.nodes) it->second += SerializeNode(node).size();
    }
    return it->second;
  }

  // Whether the limits allow one more body, and counts it if so.
  bool Afford(const FunctionDef& f, const Call& call) {
    const int64_t nodes = nodes_ + static_cast<int64_t>(f.nodes.size()) + 1;
    if (call.depth >= limits_.depth || nodes > limits_.nodes) return false;
    const int64_t prefix = static_cast<int64_t>(call.node.name.size() + 1);
    int64_t inputs = 1;
    for (const NodeDef& node : f.nodes) inputs += 1 + static_cast<int64_t>(node.inputs.size());
    const int64_t bytes = bytes_ + SizeOf(f) + prefix * inputs;
    if (bytes > limits_.bytes) return false;
    nodes_ = nodes;
    bytes_ = bytes;
    return true;
  }

  std::optional<Body> Expand(const Call& call) {
    const AttrMap* attrs = nullptr;
    const FunctionDef* f = Called(call.node, &attrs);
    if (!limits_.xla_calls && call.node.attrs.Bool("_XlaMustCompile", false)) return std::nullopt;
    if (f == nullptr || !Afford(*f, call)) return std::nullopt;

    // Where each argument starts among the call's inputs.
    absl::flat_hash_map<absl::string_view, std::pair<int64_t, int64_t>> arguments;
    int64_t next = 0;
    for (const ArgDef& arg : f->signature.inputs) {
      const int64_t length = ArgLength(arg, *attrs);
      arguments.emplace(arg.name, std::make_pair(next, length));
      if (__builtin_add_overflow(next, length, &next)) return std::nullopt;
    }
    if (next != call.node.NumDataInputs()) return std::nullopt;

    absl::flat_hash_map<absl::string_view, const NodeDef*> body_nodes;
    for (const NodeDef& node : f->nodes) body_nodes.emplace(node.name, &node);

    auto translate = [&](const NodeInput& input) -> std::optional<NodeInput> {
      if (!input.is_control()) {
        auto arg = arguments.find(input.node);
        if (arg != arguments.end() && input.output.empty()) {
          const auto [start, length] = arg->second;
          if (input.index >= length) return std::nullopt;
          return call.node.inputs[start + input.index];
        }
      }
      auto node = body_nodes.find(input.node);
      if (node == body_nodes.end()) return std::nullopt;
      NodeInput out;
      out.node = absl::StrCat(call.node.name, "/", input.node);
      out.index = input.index;
      if (!input.is_control() && !input.output.empty()) {
        out.index = outputs_.FlatIndex(*node->second, input.output, input.index);
        if (out.index < 0) return std::nullopt;
      }
      return out;
    };

    std::vector<NodeInput> waits;
    for (const NodeInput& input : call.node.inputs) {
      if (input.is_control()) waits.push_back(input);
    }
    Body body;
    for (const NodeDef& node : f->nodes) {
      NodeDef copy = node;
      copy.name = absl::StrCat(call.node.name, "/", node.name);
      if (copy.device.empty()) copy.device = call.node.device;
      bool from_body = false;
      for (NodeInput& input : copy.inputs) {
        std::optional<NodeInput> translated = translate(input);
        if (!translated.has_value()) return std::nullopt;
        from_body = from_body || body_nodes.contains(input.node);
        input = std::move(*translated);
      }
      // The first nodes of the body wait for the call's control inputs.
      if (!from_body) copy.inputs.insert(copy.inputs.end(), waits.begin(), waits.end());
      Substitute(*attrs, &copy.attrs);
      body.nodes.push_back(std::move(copy));
    }
    for (const ArgDef& result : f->signature.outputs) {
      auto ret = std::find_if(f->ret.begin(), f->ret.end(),
                              [&](const auto& entry) { return entry.first == result.name; });
      // Results that are lists come from functions of another age.
      if (ret == f->ret.end() || ArgLength(result, *attrs) != 1) return std::nullopt;
      std::optional<NodeInput> tensor = translate(NodeInput::Parse(ret->second));
      if (!tensor.has_value()) return std::nullopt;
      body.done.push_back({tensor->node, NodeInput::kControl, ""});
      body.results.push_back(std::move(*tensor));
    }
    for (const auto& entry : f->control_ret) {
      std::optional<NodeInput> node = translate({entry.second, NodeInput::kControl, ""});
      if (!node.has_value()) return std::nullopt;
      body.done.push_back(std::move(*node));
    }
    return body;
  }

  // Attributes that stand for parameters of the function get the call's values.
  static void Substitute(const AttrMap& parameters, AttrMap* attrs) {
    std::vector<std::pair<std::string, AttrValue>> changed;
    for (const Attr& attr : attrs->entries()) {
      const Placeholder* placeholder = attr.value.As<Placeholder>();
      const AttrValue* value =
          placeholder == nullptr ? nullptr : parameters.Find(placeholder->name);
      if (value != nullptr) changed.emplace_back(attr.name, *value);
    }
    for (auto& [name, value] : changed) attrs->Set(name, std::move(value));
  }

  // Results of calls that are gone -> what computes them.
  void Reconnect() {
    for (NodeDef& node : graph_->nodes) {
      for (NodeInput& input : node.inputs) {
        for (int i = 0; i < kMaxForwards && !input.is_control(); ++i) {
          auto call = results_.find(input.node);
          if (call == results_.end() || input.index >= static_cast<int>(call->second.size())) {
            break;
          }
          input = call->second[input.index];
        }
      }
      RemoveDoubleControls(&node);
    }
  }

  static void RemoveDoubleControls(NodeDef* node) {
    absl::flat_hash_set<std::string> seen;
    std::vector<NodeInput> inputs;
    for (NodeInput& input : node->inputs) {
      // A NoOp named after a call would wait for itself where a result is handed through.
      if (input.is_control() && (input.node == node->name || !seen.insert(input.node).second)) {
        continue;
      }
      inputs.push_back(std::move(input));
    }
    node->inputs = std::move(inputs);
  }

  const InlineLimits limits_;
  GraphDef* const graph_;
  const OpOutputs outputs_;
  absl::flat_hash_map<absl::string_view, const FunctionDef*> functions_;
  absl::flat_hash_map<const FunctionDef*, int64_t> sizes_;
  absl::flat_hash_map<std::string, std::vector<NodeInput>> results_;
  int64_t nodes_ = 0;
  int64_t bytes_ = 0;
  int calls_ = 0;
};

}  // namespace

int InlineFunctions(absl::Span<const OpDef> ops, const InlineLimits& limits, GraphDef* graph) {
  return Inliner(ops, limits, graph).Run();
}

}  // namespace tektite::graph_def
