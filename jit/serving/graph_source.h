// Where a cluster's IR comes from: a host's graph to import for given shapes
// (clustering/source/graph_def_source.h), or a graph of the IR.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<GraphSource> source, IrSource(text));
//   TEKTITE_ASSIGN_OR_RETURN(SourceGraph graph, source->Specialize(args));
//
// Shapes may hold symbols: the graph then serves all their values that its guards allow.
#ifndef TEKTITE_JIT_SERVING_GRAPH_SOURCE_H_
#define TEKTITE_JIT_SERVING_GRAPH_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/compiler/compiler.h"
#include "jit/ir/graph.h"

namespace tektite::serving {

// The facts about an argument that are known when code is made.
struct ArgInfo {
  ir::Shape shape;
  bool versioned = false;            // the host names versions of its content
  std::optional<ir::Literal> value;  // of the source's compile_time_args
  // Instead of `value`, where some of the elements are symbols.
  std::optional<ir::Dims> elements = {};
};

struct SourceGraph {
  std::unique_ptr<ir::Graph> graph;
  runtime::OutputRoles roles;
};

class GraphSource {
 public:
  virtual ~GraphSource() = default;
  // Thread-safe.
  virtual absl::StatusOr<SourceGraph> Specialize(absl::Span<const ArgInfo> args) const = 0;
  // The computation, without names: `ops` which op feeds which, `whole` all of it.  Unimplemented
  // where there is no such text.
  struct Text {
    std::string ops, whole;
  };
  virtual absl::StatusOr<Text> CanonicalText() const = 0;

  int num_args() const { return num_args_; }
  int num_results() const { return num_results_; }
  // Its type is complex, and its last dimension the two parts of a number, which the host's shapes
  // do not have.
  bool IsComplexResult(int result) const {
    return result < static_cast<int>(complex_results_.size()) && complex_results_[result];
  }
  // Of the host's graph, by which the cost of compiling is estimated; 0: unknown.
  int num_ops() const { return num_ops_; }
  int num_convolutions() const { return num_convolutions_; }  // among them
  // It assigns to variables, as a training step does.
  bool updates_variables() const { return updates_variables_; }
  // Whether the argument is a variable's value.
  bool IsVariable(int arg) const {
    return arg < static_cast<int>(variables_.size()) && variables_[arg];
  }
  // Arguments whose values the code depends on, ascending.
  const std::vector<int>& compile_time_args() const { return compile_time_args_; }
  // The graph's statement about a size: that it is not always the same, or that it cannot be
  // another.
  enum class Size : uint8_t { kAnything, kVaries, kFixed };
  Size SizeOf(int arg, int dimension) const {
    const std::vector<Size>& sizes = sizes_[arg];
    return dimension < static_cast<int>(sizes.size()) ? sizes[dimension] : Size::kAnything;
  }

 protected:
  int num_args_ = 0;
  int num_results_ = 0;
  int num_ops_ = 0;
  int num_convolutions_ = 0;
  bool updates_variables_ = false;
  std::vector<bool> complex_results_;  // missing: not complex
  std::vector<bool> variables_;        // by argument; missing: it is none
  std::vector<int> compile_time_args_;
  std::vector<std::vector<Size>> sizes_;  // by argument; empty: nothing is said
};

// The text form of the IR; parameters may have symbolic dimensions.
absl::StatusOr<std::unique_ptr<GraphSource>> IrSource(absl::string_view text);

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_GRAPH_SOURCE_H_
