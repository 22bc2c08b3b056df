// Reductions over any dimensions, in one launch and a fixed order.
//
// If the innermost dimension is reduced, a group of threads (a warp, or a block for long ones)
// reads the terms of one result side by side.  Otherwise threads stand side by side along the
// innermost kept dimension: a block takes 32 columns, in slices that are added up through shared
// memory.
//
// Limits: a result is one block's work, however many terms it has.
#include <algorithm>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/group_reduction.h"
#include "backends/gpu/emit/thread_group.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/reduce_plan.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Node;
using loop::ElementEmitter;
using loop::Indices;
using loop::kWarpThreads;
using loop::Value;
using Values = std::vector<Value>;

// Terms from which on a column is cut into few or into many slices.
constexpr int64_t kFewTerms = 32, kManyTerms = 1024;
constexpr int64_t kFewSlices = 8, kManySlices = 32;

class ReduceEmitter {
 public:
  ReduceEmitter(const ir::Graph& region, loop::ReducePlan plan, loop::Kernel* kernel)
      : region_(region), plan_(std::move(plan)), kernel_(*kernel), b_(kernel) {}

  absl::Status Run() {
    if (plan_.inner_kept) {
      EmitColumns();
    } else {
      EmitGroups();
    }
    return status_;
  }

 private:
  std::vector<GroupReduction> Reductions(int threads) {
    std::vector<GroupReduction> all;
    for (const Node* r : plan_.reduces) {
      all.emplace_back(&b_, r->String(Attr::reducer), r->operand_shape(0).dtype(), threads);
    }
    return all;
  }

  ElementEmitter MakeEmitter(int lanes) {
    ElementEmitter e(&b_, lanes);
    loop::BindParameters(e, region_);
    return e;
  }

  // Adds up terms begin, begin + step, ... below `end`, vectors of the emitter's lanes.
  Values Accumulate(ElementEmitter& e, const std::vector<GroupReduction>& reductions,
                    const Indices& kept, Value begin, Value end, int64_t step) {
    Values state;
    for (const GroupReduction& r : reductions) state.push_back(r.Identity(e.lanes()));
    return b_.For(begin, end, step, state, [&](Value term, absl::Span<const Value> carried) {
      e.Clear();
      Indices reduced;
      for (Value v : loop::Delinearize(b_, term, plan_.reduced_sizes)) {
        reduced.push_back(loop::At(v));
      }
      if (e.lanes() > 1) reduced.back().coefficient = 1;
      const Indices at = plan_.SpaceIndex(kept, reduced);
      Values next;
      for (size_t r = 0; r < reductions.size(); ++r) {
        next.push_back(
            reductions[r].Take(carried[r], e.EmitVector(plan_.reduces[r]->operand(0), at)));
      }
      return next;
    });
  }

  void StoreOutputs(const Values& totals, const Indices& kept) {
    ElementEmitter e = MakeEmitter(1);
    for (size_t r = 0; r < totals.size(); ++r) {
      e.BindValue(ir::Value{const_cast<Node*>(plan_.reduces[r]), 0}, totals[r]);
    }
    for (size_t o = 0; o < region_.outputs().size(); ++o) {
      const ir::Value v = region_.outputs()[o];
      e.StoreAt(b_.Buffer(loop::OutputBuffer(region_, o)), v.shape(), kept, e.Emit(v, kept));
    }
    Note(e);
  }

  void Note(const ElementEmitter& e) {
    if (status_.ok()) status_ = e.status();
  }

  void EmitGroups() {
    const Dim terms = Product(plan_.reduced_sizes);
    const ThreadGroup group = ChooseGroup(region_, plan_.reduced_sizes);
    ForEachGroup(b_, group, Product(plan_.kept_sizes), [&](Value result, Value member) {
      Indices kept;
      for (Value v : loop::Delinearize(b_, result, plan_.kept_sizes)) kept.push_back(loop::At(v));
      ElementEmitter e = MakeEmitter(group.vector);
      const auto reductions = Reductions(group.threads);
      Values totals = Accumulate(e, reductions, kept, b_.Mul(member, b_.Index(group.vector)),
                                 b_.Index(terms), int64_t{group.threads} * group.vector);
      Note(e);
      for (size_t r = 0; r < totals.size(); ++r) totals[r] = reductions[r].Total(totals[r]);
      b_.If(b_.Compare("eq", member, b_.Index(0)), [&] { StoreOutputs(totals, kept); });
    });
  }

  void EmitColumns() {
    ir::Dims outer = plan_.kept_sizes;
    const Dim columns = outer.back(), terms = Product(plan_.reduced_sizes);
    outer.pop_back();
    const Dim strips = CeilDiv(columns, kWarpThreads);
    const int64_t slices = terms.value_or(kManyTerms) >= kManyTerms  ? kManySlices
                           : terms.value_or(kManyTerms) >= kFewTerms ? kFewSlices
                                                                     : 1;
    kernel_.launch.threads = static_cast<int>(slices * kWarpThreads);
    kernel_.launch.blocks = Product(outer) * strips;

    const Value row = b_.Div(b_.BlockIndex(), b_.Index(strips));
    const Value strip = b_.Sub(b_.BlockIndex(), b_.Mul(row, b_.Index(strips)));
    const Value lane = b_.Rem(b_.ThreadIndex(), b_.Index(kWarpThreads));
    const Value slice = b_.Div(b_.ThreadIndex(), b_.Index(kWarpThreads));
    const Value column = b_.Add(b_.Mul(strip, b_.Index(kWarpThreads)), lane);
    const Value exists = b_.Compare("lt", column, b_.Index(columns));
    Indices kept;
    for (Value v : loop::Delinearize(b_, row, outer)) kept.push_back(loop::At(v));
    kept.push_back(loop::At(column));

    ElementEmitter e = MakeEmitter(1);
    const auto reductions = Reductions(kWarpThreads);
    const Value end = b_.Select(exists, b_.Index(terms), b_.Index(0));
    Values totals = Accumulate(e, reductions, kept, slice, end, slices);
    Note(e);
    if (slices > 1) totals = AddSlices(reductions, totals, lane, slices);
    const Value writes = b_.And(exists, b_.Compare("eq", slice, b_.Index(0)));
    for (size_t r = 0; r < totals.size(); ++r) totals[r] = reductions[r].Narrow(totals[r]);
    b_.If(writes, [&] { StoreOutputs(totals, kept); });
  }

  // In order, in every slice's threads.
  Values AddSlices(const std::vector<GroupReduction>& reductions, const Values& parts, Value lane,
                   int64_t slices) {
    Values shared;
    for (size_t r = 0; r < parts.size(); ++r) {
      shared.push_back(b_.AllocateShared(reductions[r].accumulator(), slices * kWarpThreads));
      b_.Store(shared[r], b_.ThreadIndex(), parts[r]);
    }
    b_.Barrier();
    Values totals;
    for (size_t r = 0; r < parts.size(); ++r) {
      const auto part = [&](int64_t slice) {
        return b_.Load(shared[r], reductions[r].accumulator(),
                       b_.Add(lane, b_.Index(slice * kWarpThreads)));
      };
      Value total = part(0);
      for (int64_t s = 1; s < slices; ++s) total = reductions[r].Combine(total, part(s));
      totals.push_back(total);
    }
    return totals;
  }

  const ir::Graph& region_;
  const loop::ReducePlan plan_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitReduce(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(loop::ReducePlan plan, loop::ReducePlan::Create(fusion.region()));
  EmittedKernel result;
  result.kernel = loop::MakeKernel(fusion, name);
  TEKTITE_RETURN_IF_ERROR(
      ReduceEmitter(fusion.region(), std::move(plan), result.kernel.get()).Run());
  return result;
}

}  // namespace tektite::gpu
