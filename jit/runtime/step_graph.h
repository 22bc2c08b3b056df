// A fused graph as the runtime sees it: buffers, and steps that read and write them.
//
//   TEKTITE_ASSIGN_OR_RETURN(StepGraph steps, StepGraph::Create(graph, kernels));
//
// Every parameter, constant and fusion result is a buffer; a reshape is another name of its
// operand's buffer, and a slice one of a part of it (ir::IsPart).  Nothing here borrows from the
// graph, which may be dropped afterwards.
//
// Shapes may hold symbols.  A call finds their values in its arguments (SymbolSource) and runs
// `program`, which leaves every size that is needed in a table; `checks` are made on that table.
//
// Also found here: the weight groups.  A step that depends on nothing but constants and weights
// need not run in every call.  Such steps fall into groups, the connected parts of their data flow,
// so that a weight that changes costs the recomputation of what hangs on it and no more.
//
// A loop or a choice is a step whose regions are lists of steps, in the same buffers: a region's
// parameters are names of buffers outside it (docs/design/loops.md).
#ifndef TEKTITE_JIT_RUNTIME_STEP_GRAPH_H_
#define TEKTITE_JIT_RUNTIME_STEP_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/ir/dim_program.h"
#include "jit/ir/graph.h"
#include "jit/runtime/size_checks.h"

namespace tektite::runtime {

using KernelMap = absl::flat_hash_map<const ir::Node*, std::shared_ptr<const backend::Kernel>>;

struct Buffer {
  enum class Kind : uint8_t { kParameter, kConstant, kComputed, kSizes };
  Kind kind = Kind::kComputed;
  int index = 0;  // of the parameter, the constant, the step that computes it, or the size value
  ir::Dim size;   // in bytes
  int place = 0;  // of its size in the program's table
  int64_t typical_bytes = 0;  // exact when the size is constant
};

// kCopy: the result is the operand's bytes.
// kWhile: regions are the condition and the body.  Result r begins as a copy of operand r, the
// regions read it where it lies, and the body's output r is its value in the next turn; the
// operands behind those are what the regions read without changing it.
// kConditional: operand 0 chooses a region as ops/structure.cc says, the operands behind it are
// read by regions; result r is output r of the region that was chosen.
struct Step {
  enum class Kind : uint8_t { kKernel, kCopy, kWhile, kConditional };
  Kind kind = Kind::kKernel;
  std::shared_ptr<const backend::Kernel> kernel;  // null in other kinds
  static constexpr int64_t kWhole = -1;
  absl::InlinedVector<int, 6> operands;  // buffers
  std::vector<int64_t> parts;            // see PartOf; empty where all operands are read whole
  absl::InlinedVector<int, 2> results;
  absl::InlinedVector<int, 4> symbols;  // those of the kernel's region, by number
  int group = -1;                       // weight group, -1: none
  // By result, the operand that it must lie in, or -1 (jit/ir/in_place.h); empty where there is
  // none.
  absl::InlinedVector<int, 2> updates;
  // What it computes from weights may wait (assign_layouts.cc): readers take its operand instead.
  bool deferred = false;
  int region = -1;           // the region it is a step of, -1: the graph's own
  std::vector<int> regions;  // of kWhile and kConditional

  bool IsControl() const { return kind == Kind::kWhile || kind == Kind::kConditional; }
  // Of kWhile and kConditional, operands that are read before any region runs; the rest are read
  // until the last region has run.
  size_t NumReadFirst() const { return kind == Kind::kWhile ? results.size() : 1; }
  // Bytes into an operand where a part of it is read, or kWhole.
  int64_t PartOf(size_t operand) const { return parts.empty() ? kWhole : parts[operand]; }
};

// Steps that a control step runs.
struct StepRegion {
  std::vector<int> steps;    // in order, all behind the control step
  std::vector<int> outputs;  // buffers, each computed by a step of the region for it alone
};

struct TensorType {
  ir::DType dtype = ir::DType::kF32;
  std::vector<int64_t> dims;
};

struct GraphOutput {
  int buffer = 0;
  ir::Shape shape;
  std::vector<int> dims;  // places in the program's table
};

// A symbol is the size of a dimension of a parameter, or (attribute `sizes` of the parameter) an
// element of an integer tensor.
struct SymbolSource {
  int parameter = 0;
  int dimension = -1;
  int element = -1;
  ir::DType dtype = ir::DType::kS64;  // of the element
};

struct WeightGroup {
  std::vector<int> steps;       // in order
  std::vector<int> parameters;  // the weights it reads, ascending
  std::vector<int> kept;        // buffers that are read outside the group
  // Equal for groups that compute the same from the same parameters and constants, as long as the
  // kernels and constants it was made from exist.
  std::vector<uint64_t> signature;
  // It is one step that may wait, and no call runs it: late_packing.h does.
  bool deferred = false;
};

struct StepGraph {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;  // those of regions among them
  std::vector<StepRegion> regions;
  std::vector<std::string> names;  // of the steps, for people; none where it was read from bytes
  std::vector<ir::Shape> shapes;   // of parameters, each once: hundreds of weights have a few
  std::vector<int> parameters;     // by parameter, its shape
  std::vector<ir::Literal> constants;         // aligned to kAlignment
  std::vector<std::vector<int>> size_values;  // s64 vectors of places in the table
  std::vector<GraphOutput> outputs;
  std::vector<WeightGroup> groups;
  ir::DimProgram program;
  std::vector<SymbolSource> sources;  // of the program's symbols
  std::vector<SizeCheck> checks;
  std::vector<int64_t> typical_sizes;  // of the symbols: what memory is laid out for

  // `typical_sizes` by symbol; a symbol without one counts as kAssumedSize.  InvalidArgument for a
  // graph with a symbol that no parameter defines, or with a node that is none of parameter,
  // constant, size value, reshape, part, fusion, while and conditional; Internal for a fusion
  // without kernel.
  static absl::StatusOr<StepGraph> Create(const ir::Graph& graph, const KernelMap& kernels,
                                          const std::map<std::string, int64_t>& typical_sizes = {});
  static constexpr int64_t kAssumedSize = 64;

  // Fills `groups` from the steps' group numbers, which are dense; kernels are set.
  void FindGroups();
  // Works out the program for typical_sizes: what it leaves in the table, and typical_bytes.  Where
  // these sizes do not fit, every symbol is kAssumedSize instead.
  std::vector<int64_t> SetTypicalBytes();
  // ResourceExhausted where a buffer of constant size is larger than kMostBytes.
  absl::Status CheckBuffers() const;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_STEP_GRAPH_H_
