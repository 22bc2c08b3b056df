#include "clustering/importer/xla/xla_functions.h"

#include "absl/container/flat_hash_map.h"
#include "clustering/importer/region_import.h"

namespace tektite::importer {

using graph_def::GraphIndex;
using graph_def::IntegerFields;

absl::StatusOr<IntegerFields> RequireDimensionNumbers(const NodeImport& op) {
  absl::StatusOr<IntegerFields> fields =
      graph_def::ReadIntegerFields(op.attrs().String("dimension_numbers"));
  if (!fields.ok()) return op.Refuse(fields.status().message());
  return fields;
}

int64_t OneOf(const IntegerFields& fields, int field) {
  const auto found = fields.find(field);
  return found == fields.end() || found->second.empty() ? 0 : found->second.back();
}

std::vector<int64_t> AllOf(const IntegerFields& fields, int field) {
  const auto found = fields.find(field);
  return found == fields.end() ? std::vector<int64_t>() : found->second;
}

namespace {

// The node whose result a node's data input `input` is, through nodes that pass it on; -1: none.
int Source(const GraphIndex& body, int node, size_t input) {
  do {
    if (input >= body.inputs(node).size() || body.inputs(node)[input].is_control()) return -1;
    node = body.inputs(node)[input].node;
    input = 0;
  } while (body.node(node).op == "Identity");
  return node;
}

// The argument's index, or -1 for any other node.
int64_t ArgumentOf(const GraphIndex& body, int node) {
  if (node < 0 || body.node(node).op != "_Arg") return -1;
  return body.node(node).attrs.Int("index", -1);
}

// The node that computes the only result.
absl::StatusOr<int> ResultOf(const NodeImport& op, const GraphIndex& body) {
  int result = -1;
  for (int i = 0; i < body.num_nodes(); ++i) {
    if (body.node(i).op != "_Retval") continue;
    if (result >= 0) return op.Refuse("its function has several results");
    result = i;
  }
  result = result < 0 ? -1 : Source(body, result, 0);
  if (result < 0) return op.Refuse("its function has no result");
  return result;
}

}  // namespace

absl::StatusOr<std::string> RequireBinaryOp(NodeImport& op, absl::string_view attr) {
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* body, FunctionOf(op, attr));
  TEKTITE_ASSIGN_OR_RETURN(const int node, ResultOf(op, *body));
  if (ArgumentOf(*body, Source(*body, node, 0)) == 0 &&
      ArgumentOf(*body, Source(*body, node, 1)) == 1) {
    return body->node(node).op;
  }
  return op.Refuse("its function is not an op of its two arguments");
}

absl::StatusOr<std::string> RequireReducer(NodeImport& op, absl::string_view attr) {
  static const auto& reducers = *new absl::flat_hash_map<absl::string_view, absl::string_view>({
      {"Add", "add"},
      {"AddV2", "add"},
      {"LogicalAnd", "and"},
      {"LogicalOr", "or"},
      {"Maximum", "max"},
      {"Minimum", "min"},
      {"Mul", "mul"},
  });
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* body, FunctionOf(op, attr));
  TEKTITE_ASSIGN_OR_RETURN(const int node, ResultOf(op, *body));
  if (op.op() == "XlaScatter" && ArgumentOf(*body, node) == 1) return std::string("replace");
  TEKTITE_ASSIGN_OR_RETURN(const std::string binary, RequireBinaryOp(op, attr));
  const auto found = reducers.find(binary);
  if (found == reducers.end()) return op.Refuse("its function is ", binary);
  return std::string(found->second);
}

}  // namespace tektite::importer
