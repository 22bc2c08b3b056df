// The import of a function's body into a region of the IR, which sees nothing but its parameters.
//
//   RegionImport region("body", op.scope());
//   TEKTITE_RETURN_IF_ERROR(region.Import(*body, facts));
//   region.results();                        // what is known of the function's results
//   regions.push_back(region.Finish(outputs));
//
// Sizes that have names around the region have them inside, so what the region assumes of sizes
// is assumed around it, and what it doubts is doubted there.  What it has to check of values has to
// become a result of it.
#ifndef TEKTITE_CLUSTERING_IMPORTER_REGION_IMPORT_H_
#define TEKTITE_CLUSTERING_IMPORTER_REGION_IMPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_index.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

class RegionImport {
 public:
  RegionImport(absl::string_view name, const Scope& around);

  // `facts` of the arguments; parameters carry what they leave open (carried_values.h).
  absl::Status Import(const graph_def::GraphIndex& body, absl::Span<const TensorInfo> facts);
  Value AddParameter(Shape shape);

  FuncBuilder& b() { return builder_; }
  const std::vector<TensorInfo>& args() const { return args_; }
  const std::vector<TensorInfo>& results() const { return results_; }
  // What the variable that is argument `i` contains in the end; null where the region leaves it as
  // it was.
  Value Assigned(size_t i) const;
  const std::vector<Value>& parameters() const { return parameters_; }
  bool HasChecks() const { return !checks_.empty(); }
  // Whether all that has to be checked holds; without checks it does.
  Value AllChecks();
  absl::StatusOr<std::unique_ptr<ir::Graph>> Finish(std::vector<Value> outputs);

 private:
  // Of an array among the arguments.
  void OpenNext(NextPlace* next) const;

  const Scope& around_;
  FuncBuilder builder_;
  std::vector<TensorInfo> args_, args_after_, results_;
  std::vector<Value> parameters_, checks_;
  std::vector<absl::Status> doubts_;
};

// The body of a function that a node runs, or the refusal of it; that of an attribute.
absl::StatusOr<const graph_def::GraphIndex*> BodyOf(NodeImport& op,
                                                    const graph_def::FunctionRef& function);
absl::StatusOr<const graph_def::GraphIndex*> FunctionOf(NodeImport& op, absl::string_view attr);

// A node's functions have given the variable that is input `i` another content; refuses a variable
// with two names among the inputs.
absl::Status AssignVariable(NodeImport& op, int i, Value content);

// Whether TensorFlow runs the loop or the branches by switches, which raise an error for a
// condition that is no scalar.
bool IsLowered(const NodeImport& op);

// TensorFlow's truth: a scalar that is not 0, another tensor that has elements.
absl::StatusOr<TensorInfo> TruthOf(const TensorInfo& info, FuncBuilder* b);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_REGION_IMPORT_H_
