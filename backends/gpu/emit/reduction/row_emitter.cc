// Row kernels: softmax, layer normalization and their like in one pass over memory.
//
// row_stages.h says what is computed in which stage.  A group of threads takes a row, and each
// thread the same elements of it in every stage.  So what a later stage needs again stays in
// registers where a row is short; otherwise it lies where a result will lie, or in scratch, and no
// other thread ever reads it.
#include <algorithm>
#include <map>
#include <set>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/reduction/group_reduction.h"
#include "backends/gpu/emit/reduction/thread_group.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/llvm/emit/row_stages.h"

namespace tektite::gpu {
namespace {

using loop::RowStages;
using Values = std::vector<Value>;

// Elements of one value that a thread keeps in registers.
constexpr int64_t kMostInRegisters = 32;
// With so few words kept between stages a multiprocessor has registers for two long rows, of which
// one is read while the other is computed.
constexpr int64_t kFewWords = 32;
// The same beside the arithmetic of a stage that costs more than this (loop::RowStages), and where
// not all threads have an element in the last step: it has code for both.
constexpr int64_t kFewWordsBesides = 16;
constexpr int kMuchArithmetic = 20;

class RowEmitter {
 public:
  RowEmitter(const ir::Graph& region, RowStages plan, loop::Kernel* kernel)
      : region_(region),
        plan_(std::move(plan)),
        b_(kernel),
        group_(ChooseGroup(region, plan_.inner)),
        length_(Product(plan_.inner)),
        step_(int64_t{group_.threads} * group_.vector) {
    const Dim steps = CeilDiv(length_, step_);
    if (steps.is_constant() && steps.value() * group_.vector <= kMostInRegisters) {
      steps_ = steps.value();
    }
  }

  absl::Status Run() {
    const Dim rows = Product(plan_.outer);
    for (const RowStages::Kept& k : plan_.kept) {
      const bool in_scratch = !in_registers() && k.output < 0;
      scratch_.push_back(in_scratch ? b_.AllocateScratch(k.node->shape().dtype(), rows * length_)
                                    : Value());
    }
    ForEachGroup(b_, group_, rows, [&](Value row, Value member) { EmitRow(row, member); });
    const bool is_costly =
        std::any_of(plan_.stages.begin(), plan_.stages.end(),
                    [](const RowStages::Stage& stage) { return stage.cost > kMuchArithmetic; });
    const bool is_even = length_.value_or(1) % step_ == 0;
    const int64_t most = is_costly || !is_even ? kFewWordsBesides : kFewWords;
    if (in_registers() && WordsBetweenStages() <= most) {
      HoldManyThreads(&b_.kernel()->launch);
    }
    return status_;
  }

 private:
  bool in_registers() const { return steps_ > 0; }

  // The full values that a stage takes from before it: parameters, and what is kept.
  std::set<const Node*> TakenBy(int stage) const {
    std::vector<const Node*> open;
    for (const Node* r : plan_.stages[stage].reduces) open.push_back(r->operand(0).node);
    for (auto [o, v] : plan_.stages[stage].outputs) open.push_back(v.node);
    std::set<const Node*> kept_before, seen, taken;
    for (const RowStages::Kept& k : plan_.kept) {
      if (k.stage < stage) kept_before.insert(k.node);
      if (k.stage == stage) open.push_back(k.node);
    }
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      if (!plan_.IsFull(node) || !seen.insert(node).second) continue;
      if (node->op() == Op::kParameter || kept_before.count(node) > 0) {
        taken.insert(node);
      } else if (node->op() != Op::kBroadcastInDim) {
        for (ir::Value v : node->operands()) open.push_back(v.node);
      }
    }
    return taken;
  }

  // Whether every row reads the same elements of it, such as a normalization's scale.
  bool IsOfEveryRow(const Node& node) const {
    if (node.op() != Op::kBroadcastInDim) return false;
    const Dim elements = Product(node.operand_shape(0).dims());
    return elements == length_ && elements != Dim(1);
  }

  // Most registers that a thread keeps from one stage for later ones.  What a stage has read is not
  // read again, and may wait for the later one as f32.  Beside it lies a vector of what every row
  // reads: layer normalization of 8192 spilled 16 bytes with a row in 32 registers of 64.
  int64_t WordsBetweenStages() const {
    struct Span {
      int first, last;
    };
    std::map<const Node*, Span> spans;
    for (int stage = 0; stage < plan_.num_stages(); ++stage) {
      for (const Node* node : TakenBy(stage)) {
        const int first = node->op() == Op::kParameter ? stage : plan_.StageOf(node);
        spans.emplace(node, Span{first, stage}).first->second.last = stage;
      }
    }
    int64_t most = 0;
    for (int stage = 1; stage < plan_.num_stages(); ++stage) {
      int64_t words = 0;
      for (const auto& [node, span] : spans) {
        if (span.first >= stage || span.last < stage) continue;
        words += std::max(ir::DTypeBytes(node->shape().dtype()) / 4, 1);
      }
      most = std::max(most, words * steps_ * group_.vector);
    }
    const auto& nodes = region_.nodes();
    const bool reads_beside = std::any_of(nodes.begin(), nodes.end(),
                                          [&](const auto& node) { return IsOfEveryRow(*node); });
    return most + (reads_beside ? group_.vector : 0);
  }

  void EmitRow(Value row, Value member) {
    ElementEmitter e(&b_, group_.vector);
    loop::BindParameters(e, region_);
    row_ = row;
    outer_.clear();
    for (Value v : loop::Delinearize(b_, row, plan_.outer)) outer_.push_back(loop::At(v));
    registers_.assign(plan_.kept.size(), Values(static_cast<size_t>(steps_)));
    for (int stage = 0; stage < plan_.num_stages(); ++stage) EmitStage(e, stage, member);
    PinRowValues(e, plan_.num_stages());
    b_.If(b_.Compare("eq", member, b_.Index(0)), [&] {
      for (size_t o = 0; o < region_.outputs().size(); ++o) {
        const ir::Value v = region_.outputs()[o];
        if (!plan_.IsFull(v.node)) e.StoreAt(Output(o), v.shape(), outer_, e.Emit(v, outer_));
      }
    });
    if (status_.ok()) status_ = e.status();
  }

  Value Output(size_t o) { return b_.Buffer(loop::OutputBuffer(region_, o)); }

  // Row values known by now are worked out once per row.
  void PinRowValues(ElementEmitter& e, int stage) {
    e.Clear();
    for (const auto& node : region_.nodes()) {
      if (!plan_.IsRow(node.get()) || plan_.IsFull(node.get())) continue;
      if (plan_.StageOf(node.get()) > stage) continue;
      if (node->op() == Op::kReduce || node->op() == Op::kConstant) continue;
      e.Emit(node->result(), outer_);
    }
    e.Pin();
  }

  void EmitStage(ElementEmitter& e, int stage, Value member) {
    PinRowValues(e, stage);
    std::vector<GroupReduction> reductions;
    Values state;
    for (const Node* r : plan_.stages[stage].reduces) {
      reductions.emplace_back(&b_, r->String(Attr::reducer), r->operand_shape(0).dtype(),
                              group_.threads);
      state.push_back(reductions.back().Identity(group_.vector));
    }
    const auto take = [&](absl::Span<const Value> before, const Values& taken) {
      Values next;
      for (size_t r = 0; r < reductions.size(); ++r) {
        next.push_back(reductions[r].Take(before[r], taken[r]));
      }
      return next;
    };
    const Value first = b_.Mul(member, b_.Index(group_.vector));
    if (in_registers()) {
      for (int64_t step = 0; step < steps_; ++step) EmitStep(e, stage, first, step, take, &state);
    } else {
      state = b_.For(first, b_.Index(length_), step_, state,
                     [&](Value at, absl::Span<const Value> carried) {
                       return take(carried, Visit(e, stage, at, 0));
                     });
    }
    e.Clear();
    for (size_t r = 0; r < reductions.size(); ++r) {
      e.BindValue(ir::Value{const_cast<Node*>(plan_.stages[stage].reduces[r]), 0},
                  reductions[r].Total(state[r]));
    }
  }

  // One step of all threads with what it keeps in registers; in the last some threads may be idle.
  template <typename Take>
  void EmitStep(ElementEmitter& e, int stage, Value first, int64_t step, const Take& take,
                Values* state) {
    const Value at = b_.Add(first, b_.Index(step * step_));
    std::vector<size_t> keeps;
    for (size_t i = 0; i < plan_.kept.size(); ++i) {
      if (plan_.kept[i].stage == stage) keeps.push_back(i);
    }
    const auto work = [&] {
      Values results = take(*state, Visit(e, stage, at, step));
      for (size_t i : keeps) results.push_back(registers_[i][static_cast<size_t>(step)]);
      return results;
    };
    Values results;
    if ((step + 1) * step_ <= length_.value()) {
      results = work();
    } else {
      results = b_.IfElse(b_.Compare("lt", at, b_.Index(length_)), work, [&] {
        Values idle = *state;
        for (size_t i : keeps) {
          idle.push_back(
              b_.Splat(b_.FloatBits(plan_.kept[i].node->shape().dtype(), 0), group_.vector));
        }
        return idle;
      });
    }
    state->assign(results.begin(), results.begin() + static_cast<int64_t>(state->size()));
    for (size_t n = 0; n < keeps.size(); ++n) {
      registers_[keeps[n]][static_cast<size_t>(step)] = results[state->size() + n];
    }
  }

  // A stage's work on the vector at `linear` of the row: what each of its reductions takes in.
  Values Visit(ElementEmitter& e, int stage, Value linear, int64_t step) {
    e.Clear();
    Indices at = outer_;
    for (Value v : loop::Delinearize(b_, linear, plan_.inner)) at.push_back(loop::At(v));
    if (group_.vector > 1) at.back().coefficient = 1;
    for (size_t i = 0; i < plan_.kept.size(); ++i) {
      const RowStages::Kept& k = plan_.kept[i];
      const ir::Value v{const_cast<Node*>(k.node), 0};
      e.UnbindValue(v);
      if (k.stage < stage) e.BindValue(v, Kept(e, i, linear, at, step));
    }
    for (size_t i = 0; i < plan_.kept.size(); ++i) {
      if (plan_.kept[i].stage == stage) Keep(e, i, linear, at, step);
    }
    for (auto [o, v] : plan_.stages[stage].outputs) {
      e.StoreAt(Output(o), v.shape(), at, e.EmitVector(v, at));
    }
    Values taken;
    for (const Node* r : plan_.stages[stage].reduces) {
      taken.push_back(e.EmitVector(r->operand(0), at));
    }
    return taken;
  }

  void Keep(ElementEmitter& e, size_t i, Value linear, const Indices& at, int64_t step) {
    const RowStages::Kept& k = plan_.kept[i];
    const ir::Value v{const_cast<Node*>(k.node), 0};
    if (in_registers()) {
      registers_[i][static_cast<size_t>(step)] = e.EmitVector(v, at);
    } else if (k.output < 0) {
      b_.Store(scratch_[i], InScratch(linear), e.EmitVector(v, at));
    } else if (k.written != k.stage) {
      e.StoreAt(Output(static_cast<size_t>(k.output)), v.shape(), at, e.EmitVector(v, at));
    }
  }

  Value Kept(ElementEmitter& e, size_t i, Value linear, const Indices& at, int64_t step) {
    const RowStages::Kept& k = plan_.kept[i];
    if (in_registers()) return registers_[i][static_cast<size_t>(step)];
    if (k.output >= 0) {
      return e.LoadAt(Output(static_cast<size_t>(k.output)), k.node->shape(), at);
    }
    return b_.Load(scratch_[i], k.node->shape().dtype(), InScratch(linear), group_.vector);
  }

  Value InScratch(Value linear) { return b_.Add(b_.Mul(row_, b_.Index(length_)), linear); }

  const ir::Graph& region_;
  const RowStages plan_;
  loop::Builder b_;
  const ThreadGroup group_;
  const Dim length_;
  const int64_t step_;  // elements that a group takes at once
  int64_t steps_ = 0;   // of a row; 0: a loop, which keeps nothing in registers
  absl::Status status_;
  Values scratch_;                 // of what is kept there
  std::vector<Values> registers_;  // of what is kept, by step
  Value row_;
  Indices outer_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitRow(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(RowStages plan, RowStages::Create(fusion.region()));
  EmittedKernel result;
  result.kernel = loop::MakeKernel(fusion, name);
  TEKTITE_RETURN_IF_ERROR(RowEmitter(fusion.region(), std::move(plan), result.kernel.get()).Run());
  return result;
}

}  // namespace tektite::gpu
