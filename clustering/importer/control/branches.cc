// If, Case and calls of functions: the branch that is known, or a region for each.
#include <algorithm>
#include <utility>

#include "clustering/importer/body_import.h"
#include "clustering/importer/control/carried_values.h"
#include "clustering/importer/control/tensor_arrays.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/region_import.h"

namespace tektite::importer {
namespace {

using graph_def::GraphIndex;

// The function's nodes in place of this one; its arguments begin with input `first`.
absl::Status ImportInPlace(NodeImport& op, const GraphIndex& body, int first) {
  std::vector<TensorInfo> args;
  for (int i = first; i < op.num_inputs(); ++i) args.push_back(op.InputInfo(i));
  Scope inside = op.scope();
  ++inside.depth;
  inside.for_xla |= op.attrs().Bool("_XlaMustCompile", false);
  TEKTITE_ASSIGN_OR_RETURN(op.results(), ImportBody(body, &args, inside));
  for (int i = first; i < op.num_inputs(); ++i) {
    const TensorInfo& after = args[i - first];
    if (!after.is_resource || after.value == op.InputInfo(i).value) continue;
    TEKTITE_RETURN_IF_ERROR(AssignVariable(op, i, after.value));
  }
  return absl::OkStatus();
}

// Whether a branch computes nothing: it hands values on and may raise an error.
bool OnlyAsserts(const GraphIndex& body) {
  for (int i = 0; i < body.num_nodes(); ++i) {
    const std::string& op = body.node(i).op;
    if (op != "_Arg" && op != "_Retval" && op != "Assert" && op != "Const" && op != "Identity" &&
        op != "NoOp") {
      return false;
    }
  }
  return true;
}

// Two such branches, as TensorFlow guards its assertions, without a branch in the code: what must
// hold is that the branch is not taken or its assertions are true.
absl::Status ImportAssertions(NodeImport& op, Value which, const GraphIndex& then_branch,
                              const GraphIndex& else_branch) {
  FuncBuilder& b = op.b();
  if (!which) return op.Return(which);
  std::vector<std::vector<TensorInfo>> results;
  for (const bool is_then : {true, false}) {
    std::vector<TensorInfo> args;
    for (int i = 1; i < op.num_inputs(); ++i) args.push_back(op.InputInfo(i));
    std::vector<Value> checks;
    const Scope inside{b,
                       checks,
                       op.scope().doubts,
                       op.scope().functions,
                       op.scope().depth + 1,
                       nullptr,
                       op.scope().for_xla};
    TEKTITE_ASSIGN_OR_RETURN(std::vector<TensorInfo> branch,
                             ImportBody(is_then ? then_branch : else_branch, &args, inside));
    results.push_back(std::move(branch));
    const Value not_taken = is_then ? b.Not(which) : which;
    for (Value check : checks) {
      op.Check(check == not_taken ? check : b.Binary(Op::kOr, not_taken, check));
    }
  }
  if (results[0].size() != results[1].size()) {
    return op.Refuse("its branches have other numbers of results");
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    TensorInfo &first = results[0][i], &second = results[1][i];
    if (first.value && first.value == second.value) {
      op.results().push_back(first);
      continue;
    }
    if (!first.unusable.empty() || !second.unusable.empty() || first.is_resource || first.list) {
      return op.Refuse("result ", i, " is no tensor");
    }
    for (TensorInfo* info : {&first, &second}) {
      if (!info->value) info->value = Materialize(b, *info);
    }
    // Branches that hand on tensors of other sizes have results of other sizes.
    if (!AssumeSameDims(b, first.value.shape().dims(), second.value.shape().dims())) {
      return op.Refuse("result ", i, " has another shape in each branch");
    }
    TEKTITE_RETURN_IF_ERROR(op.Return(b.SelectImplicit(which, first.value, second.value)));
  }
  return absl::OkStatus();
}

// The room that two branches' lists need, where it is known of both.
std::optional<Dim> RoomOfBoth(const TensorInfo& a, const TensorInfo& b) {
  if (!a.list || !b.list || !a.list->capacity || !b.list->capacity) return std::nullopt;
  return ir::Max(*a.list->capacity, *b.list->capacity);
}

class BranchesImport {
 public:
  BranchesImport(NodeImport& op, absl::Span<const GraphIndex* const> branches) : op_(op) {
    for (int i = 1; i < op.num_inputs(); ++i) args_.push_back(FactsOf(op.InputInfo(i)));
    for (TensorInfo& info : args_) NoteStale(&info);
    for (const GraphIndex* branch : branches) {
      bodies_.push_back(branch);
      regions_.push_back(std::make_unique<RegionImport>("branch", op.scope()));
    }
  }

  absl::Status Run(Value which) {
    for (size_t i = 0; i < regions_.size(); ++i) {
      TEKTITE_RETURN_IF_ERROR(regions_[i]->Import(*bodies_[i], args_));
    }
    TEKTITE_RETURN_IF_ERROR(JoinResults());
    FindAssigned();
    FuncBuilder& b = op_.b();
    std::vector<Value> operands = {which};
    for (size_t i = 0; i < args_.size(); ++i) {
      const TensorInfo& info = op_.InputInfo(static_cast<int>(i) + 1);
      for (Value v : CarriedValues(args_[i], info, &b)) operands.push_back(v);
    }
    bool checks = false;
    for (const auto& region : regions_) checks |= region->HasChecks();
    std::vector<std::unique_ptr<ir::Graph>> graphs;
    for (const auto& region : regions_) {
      std::vector<Value> outputs;
      for (size_t r = 0; r < facts_.size(); ++r) {
        for (Value v : CarriedValues(facts_[r], region->results()[r], &region->b())) {
          outputs.push_back(v);
        }
      }
      for (const size_t i : assigned_) {
        const Value content = region->Assigned(i);
        outputs.push_back(content ? content : region->args()[i].value);
      }
      if (checks) outputs.push_back(region->AllChecks());
      num_outputs_ = outputs.size();
      TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<ir::Graph> graph,
                               region->Finish(std::move(outputs)));
      graphs.push_back(std::move(graph));
    }
    std::vector<Value> results;
    if (num_outputs_ > 0) {
      results = b.AddMulti(Op::kConditional, operands, {}, std::move(graphs));
    }
    if (!b.status().ok()) return op_.Refuse(b.status().message());
    if (checks) op_.Check(results[num_outputs_ - 1]);
    absl::Span<const Value> rest = results;
    for (const TensorInfo& facts : facts_) op_.results().push_back(WithValues(facts, &rest));
    for (size_t a = 0; a < assigned_.size(); ++a) {
      TEKTITE_RETURN_IF_ERROR(AssignVariable(op_, static_cast<int>(assigned_[a]) + 1, rest[a]));
    }
    return absl::OkStatus();
  }

 private:
  // Variables that any branch assigns to.
  void FindAssigned() {
    for (size_t i = 0; i < args_.size(); ++i) {
      const bool assigned = std::any_of(regions_.begin(), regions_.end(), [&](const auto& region) {
        return static_cast<bool>(region->Assigned(i));
      });
      if (assigned) assigned_.push_back(i);
    }
  }

  // What all branches' results have in common.
  absl::Status JoinResults() {
    for (const TensorInfo& info : regions_[0]->results()) facts_.push_back(FactsOf(info));
    for (const auto& region : regions_) {
      if (region->results().size() != facts_.size()) {
        return op_.Refuse("its branches have other numbers of results");
      }
      for (size_t r = 0; r < facts_.size(); ++r) {
        bool changed = false;
        const std::optional<Dim> room = RoomOfBoth(region->results()[r], facts_[r]);
        const absl::Status status = Join(region->results()[r], &region->b(), &facts_[r], &changed);
        if (!status.ok()) return op_.Refuse("result ", r, ": ", status.message());
        if (facts_[r].is_resource) return op_.Refuse("result ", r, " is a variable");
        if (facts_[r].list && room) facts_[r].list->capacity = room;
      }
    }
    return absl::OkStatus();
  }

  NodeImport& op_;
  std::vector<const GraphIndex*> bodies_;
  std::vector<TensorInfo> args_, facts_;
  std::vector<std::unique_ptr<RegionImport>> regions_;
  std::vector<size_t> assigned_;  // by argument
  size_t num_outputs_ = 0;
};

}  // namespace

absl::Status ImportCall(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* body, FunctionOf(op, "f"));
  return ImportInPlace(op, *body, 0);
}

absl::Status ImportIf(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* then_branch, FunctionOf(op, "then_branch"));
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* else_branch, FunctionOf(op, "else_branch"));
  if (IsLowered(op)) TEKTITE_RETURN_IF_ERROR(op.RequireScalar(0));
  const absl::StatusOr<TensorInfo> which = TruthOf(op.InputInfo(0), &op.b());
  if (!which.ok()) return op.Refuse(which.status().message());
  if (which->contents) {
    return ImportInPlace(op, (*which->contents)[0] == Dim(0) ? *else_branch : *then_branch, 1);
  }
  if (OnlyAsserts(*then_branch) && OnlyAsserts(*else_branch)) {
    return ImportAssertions(op, which->value, *then_branch, *else_branch);
  }
  return BranchesImport(op, {then_branch, else_branch}).Run(which->value);
}

absl::Status ImportCase(NodeImport& op) {
  const graph_def::AttrValue* attr = op.attrs().Find("branches");
  const auto* functions = attr == nullptr ? nullptr : attr->AsListOf<graph_def::FunctionRef>();
  if (functions == nullptr) return op.Refuse("has no branches");
  TEKTITE_RETURN_IF_ERROR(op.RequireScalar(0));
  std::vector<const GraphIndex*> branches;
  for (const graph_def::FunctionRef& function : *functions) {
    TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* body, BodyOf(op, function));
    branches.push_back(body);
  }
  if (op.HasContents(0) && op.InputInfo(0).contents->front().is_constant()) {
    const int64_t last = static_cast<int64_t>(branches.size()) - 1;
    const int64_t which = op.InputInfo(0).contents->front().value();
    return ImportInPlace(op, *branches[which < 0 || which > last ? last : which], 1);
  }
  const Value which = op.Input(0);
  if (!which) return op.Return(which);
  return BranchesImport(op, branches).Run(which);
}

}  // namespace tektite::importer
