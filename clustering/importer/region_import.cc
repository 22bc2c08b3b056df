#include "clustering/importer/region_import.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clustering/importer/body_import.h"
#include "clustering/importer/control/carried_values.h"
#include "clustering/importer/control/tensor_arrays.h"

namespace tektite::importer {
namespace {

constexpr int kMostDepth = 6;  // loops in loops: each tries its body a few times

}  // namespace

RegionImport::RegionImport(absl::string_view name, const Scope& around)
    : around_(around), builder_(name) {}

Value RegionImport::AddParameter(Shape shape) {
  const std::string name = absl::StrCat("p", parameters_.size());
  parameters_.push_back(builder_.Parameter(std::move(shape), name));
  return parameters_.back();
}

absl::Status RegionImport::Import(const graph_def::GraphIndex& body,
                                  absl::Span<const TensorInfo> facts) {
  for (const TensorInfo& fact : facts) {
    const size_t first = parameters_.size();
    for (const Shape& shape : CarriedShapes(fact)) AddParameter(shape);
    absl::Span<const Value> values = absl::MakeConstSpan(parameters_).subspan(first);
    args_.push_back(WithValues(fact, &values));
  }
  for (TensorInfo& arg : args_) {
    if (arg.list && arg.list->array) {
      OpenNext(&arg.list->array->next);
      EnterRegion(&*arg.list->array);
    }
    if (!arg.list || !arg.list->uniform_of) continue;
    arg.list->uniform = args_[*arg.list->uniform_of].value;
    arg.list->uniform_of.reset();
  }
  args_after_ = args_;
  const Scope scope{builder_,          checks_, doubts_,        around_.functions,
                    around_.depth + 1, &args_,  around_.for_xla};
  TEKTITE_ASSIGN_OR_RETURN(results_, ImportBody(body, &args_after_, scope));
  return absl::OkStatus();
}

void RegionImport::OpenNext(NextPlace* next) const {
  if (next->same_as) next->base = args_[*next->same_as].value;
  next->is_open = !next->known && !next->same_as;
  next->same_as.reset();
}

Value RegionImport::Assigned(size_t i) const {
  if (!args_[i].is_resource || args_after_[i].value == args_[i].value) return {};
  return args_after_[i].value;
}

Value RegionImport::AllChecks() {
  Value all = builder_.Constant(Literal::Scalar<bool>(true));
  for (size_t i = 0; i < checks_.size(); ++i) {
    all = i == 0 ? checks_[i] : builder_.Binary(Op::kAnd, all, checks_[i]);
  }
  return all;
}

absl::StatusOr<std::unique_ptr<ir::Graph>> RegionImport::Finish(std::vector<Value> outputs) {
  builder_.Return(std::move(outputs));
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<ir::Graph> graph, builder_.Build());
  around_.doubts.insert(around_.doubts.end(), doubts_.begin(), doubts_.end());
  for (const ir::Guard& guard : graph->guards()) around_.builder.AssumeEqual(guard.lhs, guard.rhs);
  graph->guards().clear();
  graph->EraseDead();
  return graph;
}

absl::StatusOr<const graph_def::GraphIndex*> FunctionOf(NodeImport& op, absl::string_view attr) {
  const graph_def::AttrValue* value = op.attrs().Find(attr);
  const auto* function = value == nullptr ? nullptr : value->As<graph_def::FunctionRef>();
  if (function == nullptr) return op.Refuse("has no function '", attr, "'");
  return BodyOf(op, *function);
}

absl::StatusOr<const graph_def::GraphIndex*> BodyOf(NodeImport& op,
                                                    const graph_def::FunctionRef& function) {
  if (op.scope().depth >= kMostDepth) return op.Refuse("functions more than ", kMostDepth, " deep");
  absl::StatusOr<const graph_def::GraphIndex*> body = op.scope().functions.Get(function);
  if (!body.ok()) return op.Refuse(body.status().message());
  TEKTITE_RETURN_IF_ERROR(CheckBody(**body));
  return body;
}

absl::Status AssignVariable(NodeImport& op, int i, Value content) {
  for (int other = 0; other < op.num_inputs(); ++other) {
    if (other != i && &op.InputInfo(other) == &op.InputInfo(i)) {
      return op.Refuse("a variable that it assigns to has two names in it");
    }
  }
  return op.SetVariable(i, content);
}

bool IsLowered(const NodeImport& op) {
  return op.attrs().Bool("_lower_using_switch_merge", false) ||
         op.attrs().Bool("_tektite_kept", false);
}

absl::StatusOr<TensorInfo> TruthOf(const TensorInfo& info, FuncBuilder* b) {
  if (!info.unusable.empty() || info.is_resource || info.is_complex)
    return Unimplemented("the condition is no number");
  TensorInfo truth;
  truth.shape = Shape(DType::kBool, Dims());
  if (info.shape.rank() > 0) {
    const Dim elements = info.shape.NumElements();
    if (!elements.is_constant()) return Unimplemented("whether it has elements is the condition");
    truth.contents = Dims{Dim(elements == Dim(0) ? 0 : 1)};
  } else if (info.contents && (*info.contents)[0].is_constant()) {
    truth.contents = Dims{Dim((*info.contents)[0] == Dim(0) ? 0 : 1)};
  } else {
    truth.value = info.value ? info.value : Materialize(*b, info);
    if (truth.value && truth.value.dtype() != DType::kBool) {
      truth.value = b->Compare(truth.value, b->FullLike(truth.value, 0), "ne");
    }
  }
  return truth;
}

}  // namespace tektite::importer
