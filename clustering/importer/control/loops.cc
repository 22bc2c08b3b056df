// While: a loop whose variables are carried through a region.
//
// What is known of a variable is found by trying. The first turn is imported with what is known of
// the values that enter; what its results contradict is taken away, and so on until a turn keeps
// what it was given (carried_values.h). Then the number of turns (trip_count.h) says between which
// bounds counters are, and how much room lists of tensors need.
//
// A variable that the body assigns to is carried like any other value, and what it contains after
// the last turn is assigned behind the loop.
//
// A turn that fails a check ends the loop, and the check fails for the whole graph.
#include <utility>

#include "clustering/importer/control/carried_values.h"
#include "clustering/importer/control/tensor_arrays.h"
#include "clustering/importer/control/trip_count.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/region_import.h"
#include "jit/ir/symbols.h"

namespace tektite::importer {
namespace {

using graph_def::GraphIndex;
using Written = TensorList::Written;

constexpr int kMostRounds = 32;  // each takes a fact away or gets one from the number of turns

// What the number of turns tells of a loop variable.
struct Derived {
  std::optional<ValueRange> range;  // of the variable, or of a list's length, before a turn
  std::optional<Dim> after;         // its value after the loop
  bool counts = false;              // each turn sees another value
  friend bool operator==(const Derived& a, const Derived& b) {
    return a.range == b.range && a.after == b.after && a.counts == b.counts;
  }
};

class LoopImport {
 public:
  explicit LoopImport(NodeImport& op) : op_(op) {}

  absl::Status Run() {
    TEKTITE_ASSIGN_OR_RETURN(condition_, FunctionOf(op_, "cond"));
    TEKTITE_ASSIGN_OR_RETURN(body_, FunctionOf(op_, "body"));
    for (int i = 0; i < op_.num_inputs(); ++i) facts_.push_back(FactsOf(op_.InputInfo(i)));
    for (TensorInfo& info : facts_) NoteStale(&info);
    derived_.resize(facts_.size());
    TEKTITE_ASSIGN_OR_RETURN(const std::optional<bool> first, KnownCondition());
    if (first.has_value() && !*first) return ForwardAll();
    for (int round = 0; round < kMostRounds; ++round) {
      TEKTITE_ASSIGN_OR_RETURN(const bool done, Round());
      if (done) return absl::OkStatus();
    }
    return op_.Refuse("the facts about its variables do not converge");
  }

 private:
  // The facts within the loop.
  std::vector<TensorInfo> FactsInside() const {
    std::vector<TensorInfo> facts = facts_;
    for (TensorInfo& info : facts) info.array_loops += info.array ? 1 : 0;
    return facts;
  }

  // In the body with the bounds that hold before a turn.
  std::vector<TensorInfo> FactsInBody() const {
    std::vector<TensorInfo> facts = FactsInside();
    for (size_t i = 0; i < facts.size(); ++i) {
      facts[i].counts = derived_[i].counts;
      if (!derived_[i].range) continue;
      (facts[i].list ? facts[i].list->length_range : facts[i].range) = derived_[i].range;
    }
    return facts;
  }

  absl::Status ImportCondition(RegionImport* region, TensorInfo* truth) {
    TEKTITE_RETURN_IF_ERROR(region->Import(*condition_, FactsInside()));
    if (region->results().size() != 1) return op_.Refuse("its condition has not one result");
    if (region->HasChecks()) return op_.Refuse("its condition may fail");
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (region->Assigned(i)) return op_.Refuse("its condition assigns to a variable");
    }
    const Shape& shape = region->results()[0].shape;
    if (IsLowered(op_) && shape.rank() > 0)
      return op_.Refuse("its condition is ", shape.ToString());
    absl::StatusOr<TensorInfo> result = TruthOf(region->results()[0], &region->b());
    if (!result.ok()) return op_.Refuse(result.status().message());
    if (!region->b().status().ok()) return op_.Refuse(region->b().status().message());
    *truth = *std::move(result);
    return absl::OkStatus();
  }

  // Whether the loop goes on with the present facts, where they tell.
  absl::StatusOr<std::optional<bool>> KnownCondition() {
    RegionImport region("condition", op_.scope());
    TensorInfo truth;
    TEKTITE_RETURN_IF_ERROR(ImportCondition(&region, &truth));
    if (!truth.contents) return std::optional<bool>();
    return std::optional<bool>((*truth.contents)[0] != Dim(0));
  }

  absl::Status ForwardAll() {
    for (int i = 0; i < op_.num_inputs(); ++i) TEKTITE_RETURN_IF_ERROR(op_.Forward(i));
    return absl::OkStatus();
  }

  // Whether the loop is there.
  absl::StatusOr<bool> Round() {
    RegionImport body("body", op_.scope());
    TEKTITE_RETURN_IF_ERROR(body.Import(*body_, FactsInBody()));
    if (body.results().size() != facts_.size()) return op_.Refuse("its body has other variables");
    bool changed = false;
    for (size_t i = 0; i < facts_.size(); ++i) {
      absl::Status status = Join(body.results()[i], &body.b(), &facts_[i], &changed);
      if (status.ok() && facts_[i].is_resource && !HandsOn(*body_, i)) {
        status = Unimplemented("it becomes another variable");
      }
      if (!status.ok()) return op_.Refuse("loop variable ", i, ": ", status.message());
      if (!facts_[i].list) continue;
      facts_[i].list->grows_anywhere = false;
      changed |= JoinUniform(body, i);
    }
    if (changed) return false;
    RegionImport condition("condition", op_.scope());
    TensorInfo again;
    TEKTITE_RETURN_IF_ERROR(ImportCondition(&condition, &again));
    if (again.contents) return op_.Refuse("it never ends");
    std::vector<Value> next;
    for (size_t i = 0; i < facts_.size(); ++i) {
      TensorInfo after = body.results()[i];
      if (facts_[i].is_resource) after.value = ContentAfter(body, i);
      for (Value v : CarriedValues(facts_[i], after, &body.b())) next.push_back(v);
    }
    if (!body.b().status().ok()) return op_.Refuse(body.b().status().message());
    const std::vector<std::optional<Dim>> entering = Entering();
    const TripCount turns =
        CountTurns(condition.parameters(), again.value, body.parameters(), next, entering);
    const bool is_derived = Derive(turns, entering, body, next);
    TEKTITE_ASSIGN_OR_RETURN(const bool is_ordered, JoinOrders(body, turns));
    if (is_derived || is_ordered) return false;
    TEKTITE_RETURN_IF_ERROR(CheckRoom(body));
    TEKTITE_RETURN_IF_ERROR(Emit(&condition, again.value, &body, std::move(next), turns));
    for (int i = 0; i < op_.num_inputs(); ++i) {
      const TensorInfo& info = op_.InputInfo(i);
      if (info.array && info.array_loops == 0)
        TEKTITE_RETURN_IF_ERROR(CheckReads(op_, *info.array));
    }
    return true;
  }

  // The values, where they are known, with which the carried values enter the loop.
  std::vector<std::optional<Dim>> Entering() const {
    std::vector<std::optional<Dim>> entering;
    for (size_t i = 0; i < facts_.size(); ++i) {
      const TensorInfo& info = op_.InputInfo(static_cast<int>(i));
      const size_t values = CarriedShapes(facts_[i]).size();
      if (values == 0) continue;
      if (facts_[i].list) {
        entering.push_back(facts_[i].list->length ? std::nullopt : info.list->length);
      } else if (info.contents && info.shape.rank() == 0) {
        entering.push_back((*info.contents)[0]);
      } else {
        entering.push_back(std::nullopt);
      }
      entering.resize(entering.size() + values - 1);
    }
    return entering;
  }

  // Bounds of counters and room for lists; whether anything is new.
  bool Derive(const TripCount& turns, absl::Span<const std::optional<Dim>> entering,
              const RegionImport& body, absl::Span<const Value> next) {
    bool changed = false;
    size_t slot = 0;
    for (size_t i = 0; i < facts_.size(); ++i) {
      const size_t first = slot;
      slot += CarriedShapes(facts_[i]).size();
      if (slot == first) continue;
      Derived now;
      if (turns.turns && entering[first] && turns.steps[first]) {
        const Dim& from = *entering[first];
        const Dim to = from + Dim(*turns.steps[first]) * *turns.turns;
        const bool up = *turns.steps[first] >= 0;
        now.range = up ? ValueRange{from, to} : ValueRange{to + Dim(1), from + Dim(1)};
        if (turns.exact) now.after = to;
      } else if (turns.turns && entering[first] && turns.most[first]) {
        const Dim& from = *entering[first];
        now.range =
            ValueRange{from, ir::Max(from + Dim(1), from + Dim(*turns.most[first]) * *turns.turns)};
      } else if (facts_[i].list && !facts_[i].list->length) {
        now = Lengthened(turns, entering, body, next, first);
      }
      now.counts = !facts_[i].list && turns.steps[first].value_or(0) != 0;
      changed |= !(now == derived_[i]);
      derived_[i] = now;
      if (facts_[i].list) changed |= MakeRoom(now, body, i);
    }
    return changed;
  }

  // The length, which is carried value `slot`, of a list in which each turn writes to a place that
  // is a counter and a constant: the larger one of what it was and of what lies behind that place.
  Derived Lengthened(const TripCount& turns, absl::Span<const std::optional<Dim>> entering,
                     const RegionImport& body, absl::Span<const Value> next, size_t slot) const {
    const Value before = body.parameters()[slot];
    if (!turns.turns || !entering[slot] || next[slot].node->op() != Op::kMax) return {};
    for (const int behind : {0, 1}) {
      if (next[slot].node->operand(1 - behind) != before) continue;
      for (size_t k = 0; k < turns.steps.size(); ++k) {
        if (turns.steps[k] != 1 || !entering[k]) continue;
        const std::optional<int64_t> ahead =
            StepBetween(body.parameters()[k], next[slot].node->operand(behind));
        if (!ahead) continue;
        const Dim first = *entering[k] + Dim(*ahead - 1), last = first + *turns.turns;
        Derived length;
        length.range = ValueRange{*entering[slot], ir::Max(*entering[slot] + Dim(1), last)};
        const bool is_met =
            ir::NeverLess(*entering[slot], first) || ir::NeverLess(*turns.turns, Dim(1));
        if (turns.exact && is_met) length.after = ir::Max(*entering[slot], last);
        return length;
      }
    }
    return {};
  }

  // Room for list `i` if it grows; whether there was none.
  bool MakeRoom(const Derived& length, const RegionImport& body, size_t i) {
    TensorList& list = *facts_[i].list;
    const TensorList& after = *body.results()[i].list;
    if (list.capacity || !list.has_buffer || after.grows_anywhere) return false;
    if (length.range) {
      list.capacity = length.range->behind;
    } else if (!after.reach) {
      list.capacity = list.limit;
    }
    const TensorList& entering = *op_.InputInfo(static_cast<int>(i)).list;
    if (after.reach && entering.capacity) {
      list.capacity = ir::Max(list.capacity ? *list.capacity : *entering.capacity, *after.reach);
    }
    return list.capacity.has_value();
  }

  // A list that has no room here had none outside, and gets it there, or it gets none.
  absl::Status CheckRoom(const RegionImport& body) const {
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].list || !facts_[i].list->has_buffer || facts_[i].list->is_uniform ||
          HasRoom(*facts_[i].list)) {
        continue;
      }
      const TensorList& entering = *op_.InputInfo(static_cast<int>(i)).list;
      if (entering.has_buffer && !HasRoom(entering)) continue;
      if (body.results()[i].list->grows_anywhere) continue;  // which is doubted
      return op_.Refuse("loop variable ", i, ": there is no bound for ",
                        facts_[i].list->element ? "the length" : "the elements' shape",
                        " of this list of tensors");
    }
    return absl::OkStatus();
  }

  // Whether the body's result `i` is its argument `i`.
  static bool HandsOn(const GraphIndex& body, size_t i) {
    const int64_t number = static_cast<int64_t>(i);
    for (int node = 0; node < body.num_nodes(); ++node) {
      if (body.node(node).op != "_Retval" || body.node(node).attrs.Int("index", -1) != number) {
        continue;
      }
      const graph_def::NodeDef& from = body.node(body.inputs(node)[0].node);
      return from.op == "_Arg" && from.attrs.Int("index", -1) == number;
    }
    return false;
  }

  // Of variable `i`, what it contains after a turn.
  static Value ContentAfter(const RegionImport& body, size_t i) {
    const Value assigned = body.Assigned(i);
    return assigned ? assigned : body.args()[i].value;
  }

  // A list that had no elements, and to which turns push another variable, which none changes; or
  // one of which this was the case in the round before.  Whether something is new.
  bool JoinUniform(const RegionImport& body, size_t i) {
    const TensorList &before = *body.args()[i].list, &after = *body.results()[i].list;
    TensorList& facts = *facts_[i].list;
    if (before.has_buffer && !facts.uniform_of) return false;
    std::optional<size_t> source;
    for (size_t k = 0; k < facts_.size() && after.is_uniform && after.uniform; ++k) {
      const bool holds_it = !facts_[k].list && body.args()[k].value == after.uniform;
      if (holds_it && IsUnchanged(body, k)) source = k;
    }
    if (before.has_buffer ? source == facts.uniform_of : !source) return false;
    facts.is_uniform = source.has_value();
    facts.uniform_of = source;
    return true;
  }

  // The variable that tells the next place of array `i` before and after each turn.
  std::optional<size_t> CounterOf(const RegionImport& body, const TripCount& turns,
                                  size_t i) const {
    const NextPlace& enters = op_.InputInfo(static_cast<int>(i)).list->array->next;
    const NextPlace& after = body.results()[i].list->array->next;
    size_t slot = 0;
    for (size_t k = 0; k < facts_.size(); ++k) {
      const size_t first = slot;
      slot += CarriedShapes(facts_[k]).size();
      if (slot == first || facts_[k].list || body.args()[k].value != after.base) continue;
      const TensorInfo& counter = op_.InputInfo(static_cast<int>(k));
      const bool enters_so = enters.known
                                 ? counter.contents && counter.contents->front() == *enters.known
                                 : counter.value == enters.base && enters.offset == 0;
      if (enters_so && turns.steps[first] == after.offset) return k;
    }
    return std::nullopt;
  }

  // Arrays that the body writes to in order, which a counter must tell; whether one is new.
  absl::StatusOr<bool> JoinOrders(const RegionImport& body, const TripCount& turns) {
    bool changed = false;
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].list || !facts_[i].list->array) continue;
      NextPlace& next = facts_[i].list->array->next;
      const ArrayState& before = *body.args()[i].list->array;
      const ArrayState& after = *body.results()[i].list->array;
      const bool is_kept =
          before.next.base == after.next.base && before.next.offset == after.next.offset;
      std::optional<size_t> counter;
      if (!is_kept && !next.known) {
        counter = CounterOf(body, turns, i);
        if (!counter) return op_.Refuse("loop variable ", i, ": an array is not written in order");
      }
      if (counter != next.same_as) {
        next.same_as = counter;
        changed = true;
      } else if (after.is_unproven) {
        return op_.Refuse("loop variable ", i, ": an array is not written in order");
      }
    }
    return changed;
  }

  static bool IsUnchanged(const RegionImport& body, size_t i) {
    const TensorInfo &before = body.args()[i], &after = body.results()[i];
    if (before.is_resource) return !body.Assigned(i);
    if (!before.list) return before.value == after.value && before.imaginary == after.imaginary;
    return before.list->buffer == after.list->buffer &&
           before.list->length_value == after.list->length_value &&
           before.list->written_value == after.list->written_value &&
           before.list->has_buffer == after.list->has_buffer &&
           before.list->uniform == after.list->uniform;
  }

  absl::Status Emit(RegionImport* condition, Value again, RegionImport* body,
                    std::vector<Value> next, const TripCount& turns) {
    FuncBuilder& b = op_.b();
    std::vector<Value> operands;
    for (size_t i = 0; i < facts_.size(); ++i) {
      const TensorInfo& info = op_.InputInfo(static_cast<int>(i));
      for (Value v : CarriedValues(facts_[i], info, &b)) operands.push_back(v);
    }
    const bool checks = body->HasChecks();
    if (checks) {
      const Shape flag(DType::kBool, Dims());
      operands.push_back(b.Constant(Literal::Scalar<bool>(true)));
      again = condition->b().Binary(Op::kAnd, again, condition->AddParameter(flag));
      next.push_back(body->b().Binary(Op::kAnd, body->AddParameter(flag), body->AllChecks()));
    }
    std::vector<bool> unchanged;
    for (size_t i = 0; i < facts_.size(); ++i) unchanged.push_back(IsUnchanged(*body, i));
    std::vector<bool> written;
    for (const TensorInfo& info : body->results()) {
      written.push_back(info.list && info.list->written == Written::kYes);
    }
    std::vector<std::unique_ptr<ir::Graph>> regions(2);
    TEKTITE_ASSIGN_OR_RETURN(regions[0], condition->Finish({again}));
    TEKTITE_ASSIGN_OR_RETURN(regions[1], body->Finish(std::move(next)));
    const size_t count = operands.size();
    ir::Attributes attrs;
    if (turns.turns && !turns.turns->is_constant()) {
      attrs.Set(ir::Attr::sizes, Dims{*turns.turns});  // jit/runtime/size_checks.h
    }
    std::vector<Value> results =
        b.AddMulti(Op::kWhile, operands, std::move(attrs), std::move(regions));
    if (!b.status().ok()) return op_.Refuse(b.status().message());
    if (checks) op_.Check(results[count - 1]);
    absl::Span<const Value> rest = results;
    for (size_t i = 0; i < facts_.size(); ++i) {
      TensorInfo info = WithValues(facts_[i], &rest);
      if (info.list && info.list->uniform_of) {
        const int source = static_cast<int>(*info.list->uniform_of);
        const TensorInfo& pushed = op_.InputInfo(source);
        info.list->uniform = pushed.is_resource ? pushed.value : op_.Input(source);
        info.list->uniform_of.reset();
      }
      if (unchanged[i]) {
        TEKTITE_RETURN_IF_ERROR(op_.Forward(static_cast<int>(i)));
        continue;
      }
      if (info.is_resource) {
        TEKTITE_RETURN_IF_ERROR(AssignVariable(op_, static_cast<int>(i), info.value));
        TEKTITE_RETURN_IF_ERROR(op_.Forward(static_cast<int>(i)));
        continue;
      }
      if (derived_[i].after) SetAfter(*derived_[i].after, &info);
      if (turns.exact && written[i]) SetWritten(*turns.turns, &*info.list);
      op_.results().push_back(std::move(info));
    }
    for (TensorInfo& info : op_.results()) {
      if (info.list && info.list->array) SetNext(&info.list->array->next);
    }
    for (size_t i = 0; i < facts_.size(); ++i) {
      TensorInfo& info = op_.results()[i];
      if (info.list && info.list->array && !unchanged[i]) NoteWrite(&*info.list->array);
    }
    return absl::OkStatus();
  }

  // The place behind the written ones after the loop.
  void SetNext(NextPlace* next) {
    if (!next->same_as) return;
    const TensorInfo& counter = op_.results()[*next->same_as];
    if (counter.contents) next->known = counter.contents->front();
    next->base = counter.value;
    next->same_as.reset();
  }

  static void SetAfter(const Dim& after, TensorInfo* info) {
    if (info->list) {
      info->list->length = after;
      info->list->length_value = Value();
    } else {
      info->contents = Dims{after};
    }
  }

  // A body that writes an element has written one if it ran.
  void SetWritten(const Dim& turns, TensorList* list) {
    if (list->written != Written::kMaybe) return;
    if (ir::NeverLess(turns, Dim(1))) {
      list->written = Written::kYes;
      return;
    }
    const Value count = op_.DimValue(turns, DType::kS64);
    list->written_value = op_.b().Compare(count, op_.b().FullLike(count, 0), "gt");
  }

  NodeImport& op_;
  const GraphIndex* condition_ = nullptr;
  const GraphIndex* body_ = nullptr;
  std::vector<TensorInfo> facts_;
  std::vector<Derived> derived_;
};

}  // namespace

absl::Status ImportWhile(NodeImport& op) { return LoopImport(op).Run(); }

}  // namespace tektite::importer
