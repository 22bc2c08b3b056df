// The import of one TensorFlow node: what an import function sees.
//
//   absl::Status ImportExpandDims(NodeImport& op) {
//     TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(1, op.InputRank(0) + 1));
//     Dims dims = op.InputShape(0).dims();
//     dims.insert(dims.begin() + axis, Dim(1));
//     return op.Return(op.b().Reshape(op.Input(0), dims));
//   }
//
// Inputs become IR values only when asked for, so that an input that is needed for its shape or for
// its contents alone leaves nothing behind.
#ifndef TEKTITE_CLUSTERING_IMPORTER_NODE_IMPORT_H_
#define TEKTITE_CLUSTERING_IMPORTER_NODE_IMPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"
#include "clustering/importer/tensor_info.h"
#include "jit/base/status.h"

namespace tektite::importer {

class FunctionLibrary;  // body_import.h

// What the imports of a graph's or a region's nodes have in common.
struct Scope {
  FuncBuilder& builder;
  std::vector<Value>& checks;
  std::vector<absl::Status>& doubts;  // refusals, unless the loop around finds out more
  FunctionLibrary& functions;
  int depth = 0;                                       // functions around this one
  const std::vector<TensorInfo>* arguments = nullptr;  // of the region, where it is one
  bool for_xla = false;  // in the body of a function that is XLA's: values are XLA's (xla_values.h)
};

// The type in which elements are added up: f32 for narrower floats.
DType AccumulatorType(DType dtype);

// Whether two shapes have one rank and may have the same sizes, which calls then check.
bool AssumeSameDims(FuncBuilder& b, absl::Span<const Dim> x, absl::Span<const Dim> y);

class NodeImport {
 public:
  NodeImport(const graph_def::NodeDef& node, std::vector<TensorInfo*> inputs, const Scope& scope)
      : node_(node), inputs_(std::move(inputs)), scope_(scope), builder_(scope.builder) {}

  FuncBuilder& b() { return builder_; }
  const Scope& scope() const { return scope_; }
  const std::string& op() const { return node_.op; }
  const graph_def::NodeDef& node() const { return node_; }
  const graph_def::AttrMap& attrs() const { return node_.attrs; }
  // Unimplemented, "OpName 'node': <reason>".
  template <typename... Args>
  absl::Status Refuse(const Args&... reason) const {
    return Unimplemented(node_.op, " '", node_.name, "': ", reason...);
  }

  // ---- inputs ----
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  // An input that a damaged graph lacks is a scalar that cannot be used.
  const TensorInfo& InputInfo(int i) const;
  const Shape& InputShape(int i) const { return InputInfo(i).shape; }
  const Dims& InputDims(int i) const { return InputShape(i).dims(); }
  DType InputDType(int i) const { return InputShape(i).dtype(); }
  int InputRank(int i) const { return InputShape(i).rank(); }
  // A complex input is refused here: its parts are asked for.
  Value Input(int i);
  Value RealPart(int i);
  Value ImaginaryPart(int i);  // zeros of a real input
  // The variable behind a resource handle.
  absl::StatusOr<Value> Variable(int i);
  // From here on the variable behind a resource handle has this content.
  absl::Status SetVariable(int i, Value content);
  std::vector<Value> Inputs(int first, int last);  // [first, last)
  // The list of tensors behind a handle; refuses other inputs.
  absl::StatusOr<TensorList> List(int i) const;
  // How many of the input's rows count; null: all.
  Value Rows(int i) const { return InputInfo(i).rows; }

  // Inputs that TensorFlow's kernel wants to be of one size, which builder calls that broadcast
  // would not see.  Refuses other ones; sizes that are not known are assumed to be equal.
  absl::Status RequireSameDims(int i, int j);
  absl::Status RequireScalar(int i) const;

  // ---- inputs whose elements are known ----
  bool HasContents(int i) const { return InputInfo(i).contents.has_value(); }
  // Elements as dimension expressions / integers; refuses when they are not known.
  absl::StatusOr<Dims> RequireContents(int i) const;
  absl::StatusOr<std::vector<int64_t>> RequireInts(int i) const;
  absl::StatusOr<int64_t> RequireInt(int i) const;
  // An axis of a tensor of that rank, or several; negative ones count from the end.
  absl::StatusOr<int> RequireAxis(int i, int rank) const;
  absl::StatusOr<std::vector<int64_t>> RequireAxes(int i, int rank) const;
  absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) const;
  // Whether the elements are known and all satisfy the predicate.
  template <typename Predicate>
  bool KnownAll(int i, Predicate&& predicate) const;

  // ---- attributes ----
  std::vector<int64_t> Ints(absl::string_view attr) const;
  std::vector<std::string> Strings(absl::string_view attr) const;
  // A type attribute that the IR can hold; of a complex type that of its parts.
  absl::StatusOr<DType> Type(absl::string_view attr, DType otherwise) const;

  // ---- results ----
  // The next result; an error of the builder comes out as a refusal.
  absl::Status Return(Value value);
  absl::Status Return(absl::Span<const Value> values);
  // The next result, a complex tensor.
  absl::Status ReturnComplex(Value real, Value imaginary);
  // The next result, of which the first `rows` rows count; null: all.
  absl::Status ReturnRows(Value value, Value rows);
  // The next result, an integer tensor whose elements are these, as many as `dims` say.
  absl::Status ReturnContents(DType dtype, const Dims& dims, Dims contents);
  absl::Status ReturnLiteral(Literal literal);
  absl::Status ReturnList(TensorList list);
  // The next result is input i itself.
  absl::Status Forward(int i);
  // The scalar `dim`, as data.
  Value DimValue(const Dim& dim, DType dtype);
  // Every element of the bool tensor must be true; see importer.h.
  void Check(Value condition);
  // Refuses the node unless a loop around knows more when it imports its body again.
  void Doubt(absl::Status refusal) { scope_.doubts.push_back(std::move(refusal)); }

  std::vector<TensorInfo>& results() { return results_; }
  const std::vector<TensorInfo>& results() const { return results_; }

 private:
  const graph_def::NodeDef& node_;
  std::vector<TensorInfo*> inputs_;
  const Scope& scope_;
  FuncBuilder& builder_;
  std::vector<TensorInfo> results_;
};

template <typename Predicate>
bool NodeImport::KnownAll(int i, Predicate&& predicate) const {
  const TensorInfo& info = InputInfo(i);
  if (info.literal && ir::IsInteger(info.literal->dtype())) {
    for (int64_t v : info.literal->AsInts()) {
      if (!predicate(v)) return false;
    }
    return true;
  }
  if (!info.contents) return false;
  for (const Dim& d : *info.contents) {
    if (!d.is_constant() || !predicate(d.value())) return false;
  }
  return true;
}

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_NODE_IMPORT_H_
