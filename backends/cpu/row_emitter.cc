// Row kernels: softmax, layer normalization and their like in one pass over memory.
//
// The space is [outer..., inner...]: reductions run over the inner dimensions.  Work falls into
// stages, where stage s may use the results of reductions made in stages before it.  Each row goes
// through all stages before the next row starts; what a later stage needs again is read again,
// worked out again when that is trivial, or kept in scratch, which stays in L1.
//
//   softmax:  stage 0  m = max(x)
//             stage 1  e = exp(x - m) -> scratch, s = sum(e)
//             stage 2  y = e / s

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/kernel_emitters.h"
#include "backends/cpu/reduction.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Node;
using ir::Op;
using loop::Value;

// An operation is worth keeping rather than repeating from this cost on (in cheap vector
// operations).
constexpr int kKeepCost = 3;

class RowEmitter {
 public:
  RowEmitter(const Node& fusion, const Target& target, const std::string& name)
      : fusion_(fusion), region_(fusion.region()), target_(target), name_(name) {}

  absl::StatusOr<EmittedKernel> Run() {
    TEKTITE_RETURN_IF_ERROR(Analyze());
    EmittedKernel result;
    result.kernel = MakeKernel(fusion_, name_);
    result.cost = ElementwiseCost(region_, target_);
    const Dim rows = Product(outer_);
    const Dim per_chunk = UnitsPerChunk(rows, result.cost);
    result.num_chunks = CeilDiv(rows, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    for (auto& [node, kept] : kept_) {
      kept = b.AllocateScratch(node->shape().dtype(), Product(inner_));
    }
    ForEachUnit(b, rows, per_chunk, [&](Value row) { EmitRow(row); });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  absl::Status Analyze() {
    const Node* reduce = nullptr;
    for (const auto& node : region_.nodes()) {
      if (node->op() == Op::kReduce) reduce = node.get();
    }
    if (reduce == nullptr) return Unimplemented("a row fusion without a reduction");
    space_ = reduce->operand_shape(0).dims();
    outer_ = reduce->shape().dims();
    inner_.assign(space_.begin() + static_cast<int64_t>(outer_.size()), space_.end());
    for (const auto& node : region_.nodes()) {
      if (node->op() == Op::kReduce) {
        if (node->operand_shape(0).dims() != space_ || node->shape().dims() != outer_) {
          return Unimplemented("reductions over different spaces in one row fusion");
        }
        const auto& dims = node->Ints(Attr::dimensions);
        for (int64_t d : dims) {
          if (d < static_cast<int64_t>(outer_.size())) {
            return Unimplemented("a row fusion that reduces an outer dimension");
          }
        }
      } else if (node->op() != Op::kParameter && node->op() != Op::kConstant &&
                 node->op() != Op::kBroadcastInDim && node->op() != Op::kIota &&
                 !ir::IsElementwise(node->op()) && IsFull(node.get())) {
        return Unimplemented("data movement inside a row fusion: ", node->Describe());
      }
    }
    for (ir::Value v : region_.outputs()) {
      if (!IsFull(v.node) && !IsRow(v.node)) {
        return Unimplemented("an output of a row fusion that is neither a row nor a row's value");
      }
    }
    FindStages();
    return absl::OkStatus();
  }

  bool IsFull(const Node* n) const { return n->shape().dims() == space_; }
  bool IsRow(const Node* n) const { return n->shape().dims() == outer_; }

  void FindStages() {
    for (const auto& node : region_.nodes()) {
      int stage = 0;
      for (ir::Value v : node->operands()) stage = std::max(stage, stage_[v.node]);
      if (node->op() == Op::kReduce) ++stage;
      stage_[node.get()] = stage;
      num_stages_ = std::max(num_stages_, stage);
      cost_[node.get()] = OwnCost(*node);
      if (IsFull(node.get())) {
        for (ir::Value v : node->operands()) {
          if (IsFull(v.node)) cost_[node.get()] += cost_[v.node];
        }
      }
    }
    for (ir::Value v : region_.outputs()) {
      if (IsFull(v.node)) num_stages_ = std::max(num_stages_, stage_[v.node] + 1);
    }
    // Full values of one stage that a later stage reads.
    for (const auto& node : region_.nodes()) {
      if (!IsFull(node.get()) || node->op() == Op::kReduce) continue;
      for (ir::Value v : node->operands()) {
        if (!IsFull(v.node) || v.node->op() == Op::kParameter) continue;
        if (stage_[v.node] < stage_[node.get()] && cost_[v.node] >= kKeepCost) {
          kept_.try_emplace(v.node);
        }
      }
    }
  }

  static int OwnCost(const Node& node) {
    switch (node.op()) {
      case Op::kParameter:
      case Op::kConstant:
      case Op::kBroadcastInDim:
      case Op::kReduce:
        return 0;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMax:
      case Op::kMin:
      case Op::kNeg:
      case Op::kSelect:
      case Op::kCompare:
      case Op::kAbs:
        return 1;
      default:
        return 10;
    }
  }

  void EmitRow(Value row) {
    loop::Builder& b = *b_;
    int lanes = RegionLanes(region_, target_);
    ElementEmitter e(&b, lanes);
    BindParameters(e, region_);
    Indices outer;
    for (Value v : Delinearize(b, row, outer_)) outer.push_back(At(v));
    for (int stage = 0; stage < std::max(num_stages_, 1); ++stage) {
      PinRowValues(e, outer, stage);
      EmitStage(e, outer, stage);
    }
    e.Clear();
    PinRowValues(e, outer, num_stages_);
    for (size_t o = 0; o < region_.outputs().size(); ++o) {
      ir::Value v = region_.outputs()[o];
      if (IsFull(v.node)) continue;
      e.StoreAt(b.Buffer(region_.num_parameters() + static_cast<int>(o)), v.shape(), outer,
                e.Emit(v, outer));
    }
    if (status_.ok()) status_ = e.status();
  }

  // Row values known by now become scalars, worked out once per row.
  void PinRowValues(ElementEmitter& e, const Indices& outer, int stage) {
    for (const auto& node : region_.nodes()) {
      if (!IsRow(node.get()) || IsFull(node.get()) || stage_[node.get()] > stage) continue;
      if (node->op() == Op::kReduce || node->op() == Op::kConstant) continue;
      e.Emit(node->result(), outer);
    }
    e.Pin();
  }

  void EmitStage(ElementEmitter& e, const Indices& outer, int stage) {
    loop::Builder& b = *b_;
    std::vector<const Node*> reduces;
    for (const auto& node : region_.nodes()) {
      if (node->op() == Op::kReduce && stage_[node.get()] == stage + 1)
        reduces.push_back(node.get());
    }
    std::vector<std::pair<size_t, ir::Value>> outputs;
    for (size_t o = 0; o < region_.outputs().size(); ++o) {
      ir::Value v = region_.outputs()[o];
      if (IsFull(v.node) && stage_[v.node] == stage) outputs.emplace_back(o, v);
    }
    std::vector<std::pair<const Node*, Value>> keeps;
    for (const auto& [node, memory] : kept_) {
      if (stage_[node] == stage) keeps.emplace_back(node, memory);
    }
    if (reduces.empty() && outputs.empty() && keeps.empty()) return;

    // One vector of the row: gives what each reduction takes in.
    auto visit = [&](const std::vector<Value>& inner, Value mask) {
      e.Clear();
      e.SetMask(mask);
      Indices at = outer;
      for (size_t i = 0; i < inner.size(); ++i) {
        at.push_back(At(inner[i], i + 1 == inner.size() ? 1 : 0));
      }
      Value linear = b.Index(0);
      for (size_t i = 0; i < inner.size(); ++i) {
        linear = b.Add(b.Mul(linear, b.Index(inner_[i])), inner[i]);
      }
      for (const auto& [node, memory] : kept_) {
        ir::Value v{const_cast<Node*>(node), 0};
        e.UnbindValue(v);
        if (stage_[node] < stage) {
          e.BindValue(v, b.Load(memory, node->shape().dtype(), linear, e.lanes(), mask));
        }
      }
      for (auto [node, memory] : keeps) {
        Value v = e.EmitVector(ir::Value{const_cast<Node*>(node), 0}, at);
        b.Store(memory, linear, v, mask);
      }
      for (auto [o, v] : outputs) {
        e.StoreAt(b.Buffer(region_.num_parameters() + static_cast<int>(o)), v.shape(), at,
                  e.EmitVector(v, at));
      }
      std::vector<Value> taken;
      for (const Node* r : reduces) taken.push_back(e.EmitVector(r->operand(0), at));
      return taken;
    };

    std::vector<Reduction> reductions;
    for (const Node* r : reduces) {
      reductions.emplace_back(&b, r->String(Attr::reducer), r->operand_shape(0).dtype(), e.lanes());
    }
    std::vector<Value> totals = ReduceOverInner(b, inner_, e.lanes(), reductions, visit);
    e.Clear();
    e.SetMask({});
    for (size_t i = 0; i < reduces.size(); ++i) {
      e.BindValue(ir::Value{const_cast<Node*>(reduces[i]), 0}, totals[i]);
    }
  }

  const Node& fusion_;
  const ir::Graph& region_;
  const Target& target_;
  const std::string& name_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  ir::Dims space_, outer_, inner_;
  absl::flat_hash_map<const Node*, int> stage_, cost_;
  absl::flat_hash_map<const Node*, Value> kept_;
  int num_stages_ = 0;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitRow(const Node& fusion, const Target& target,
                                      const std::string& name) {
  return RowEmitter(fusion, target, name).Run();
}

}  // namespace tektite::cpu
