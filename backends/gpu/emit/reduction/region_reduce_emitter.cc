// Reductions by a region of the graph (the place of the greatest element).
//
// If the innermost dimension is reduced, a group of threads takes the terms of a result side by
// side; their partial results are combined as in group_reduction.h.  Otherwise each result is a
// thread's.  The initial values come in once, at the end.
//
// Limits: no epilogue; the region must be associative and commutative, as reductions by a
// region must be.
#include <algorithm>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/reduction/thread_group.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

class RegionReduceEmitter {
 public:
  RegionReduceEmitter(const Node& root, Phases* phases)
      : root_(root), phases_(*phases), step_(root.region()), count_(root.num_operands() / 2) {
    const Dims& space = root.operand_shape(0).dims();
    const auto& dimensions = root.Ints(Attr::dimensions);
    for (size_t d = 0; d < space.size(); ++d) {
      reduced_.push_back(std::find(dimensions.begin(), dimensions.end(), static_cast<int64_t>(d)) !=
                         dimensions.end());
      (reduced_[d] ? reduced_sizes_ : kept_sizes_).push_back(space[d]);
    }
    terms_ = Product(reduced_sizes_);
  }

  void Run() {
    phases_.Add([&](Builder& b) {
      if (!reduced_.empty() && reduced_.back()) {
        EmitGroups(b);
      } else {
        EmitThreads(b);
      }
    });
  }

 private:
  Values Combine(Builder& b, const Values& x, const Values& y) {
    loop::ElementEmitter e(&b, 1);
    for (int i = 0; i < count_; ++i) {
      e.BindValue(step_.parameter(i)->result(), x[static_cast<size_t>(i)]);
      e.BindValue(step_.parameter(count_ + i)->result(), y[static_cast<size_t>(i)]);
    }
    Values next;
    for (ir::Value v : step_.outputs()) next.push_back(e.Emit(v, {}));
    phases_.Note(e.status());
    return next;
  }

  Values Initial(Builder& b) {
    Values all;
    for (int i = 0; i < count_; ++i) all.push_back(phases_.Read(b, root_.operand(count_ + i), {}));
    return all;
  }

  Values Term(Builder& b, Value result, Value term) {
    const Values kept = loop::Delinearize(b, result, kept_sizes_);
    const Values reduced = loop::Delinearize(b, term, reduced_sizes_);
    Indices at;
    size_t k = 0, r = 0;
    for (bool is_reduced : reduced_) at.push_back(loop::At(is_reduced ? reduced[r++] : kept[k++]));
    Values all;
    for (int i = 0; i < count_; ++i) all.push_back(phases_.Read(b, root_.operand(i), at));
    return all;
  }

  // Combines `state` with terms begin, begin + step, ...
  Values Walk(Builder& b, Value result, Value begin, int64_t step, Values state) {
    return b.For(begin, b.Index(terms_), step, std::move(state),
                 [&](Value term, absl::Span<const Value> carried) {
                   return Combine(b, {carried.begin(), carried.end()}, Term(b, result, term));
                 });
  }

  void Store(Builder& b, Value result, const Values& values) {
    for (int i = 0; i < count_; ++i) {
      if (const Value to = phases_.Result(b, root_, i)) {
        b.Store(to, result, values[static_cast<size_t>(i)]);
      }
    }
  }

  void EmitThreads(Builder& b) {
    ForEachThread(b, Product(kept_sizes_), [&](Value result) {
      Store(b, result, Walk(b, result, b.Index(0), 1, Initial(b)));
    });
  }

  void EmitGroups(Builder& b) {
    ThreadGroup group = ChooseGroup(phases_.region(), reduced_sizes_);
    group.vector = 1;
    ForEachGroup(b, group, Product(kept_sizes_), [&](Value result, Value member) {
      const Value is_first = b.Compare("eq", member, b.Index(0));
      const auto reduce = [&] {
        // Of threads without a term the last term, which they keep to themselves.
        const Value first = b.Min(member, b.Index(terms_ - Dim(1)));
        const Value next = b.Add(member, b.Index(int64_t{group.threads}));
        const Values own = Walk(b, result, next, group.threads, Term(b, result, first));
        return Combine(b, Initial(b), Total(b, group.threads, member, own));
      };
      Values values;
      if (terms_.is_constant()) {
        values = terms_ == Dim(0) ? Initial(b) : reduce();
      } else {
        values = b.IfElse(b.Compare("gt", b.Index(terms_), b.Index(0)), reduce,
                          [&] { return Initial(b); });
      }
      b.If(is_first, [&] { Store(b, result, values); });
    });
  }

  // What the threads that have terms have, in the group's first thread.
  Values Total(Builder& b, int threads, Value member, Values state) {
    const Value having = b.Min(b.Index(terms_), b.Index(int64_t{threads}));
    const Value lane = b.Rem(b.ThreadIndex(), b.Index(kWarpThreads));
    const Value here = b.Sub(having, b.Sub(member, lane));  // in this warp
    for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
      Values other;
      for (Value v : state) other.push_back(b.WarpDown(v, distance));
      const Values combined = Combine(b, state, other);
      const Value has_other = b.Compare("lt", b.Add(lane, b.Index(int64_t{distance})), here);
      for (size_t i = 0; i < state.size(); ++i) {
        state[i] = b.Select(has_other, combined[i], state[i]);
      }
    }
    if (threads == kWarpThreads) return state;
    Values shared;
    for (Value v : state) shared.push_back(b.AllocateShared(v.dtype(), threads / kWarpThreads));
    b.If(b.Compare("eq", lane, b.Index(0)), [&] {
      const Value warp = b.Div(member, b.Index(kWarpThreads));
      for (size_t i = 0; i < state.size(); ++i) b.Store(shared[i], warp, state[i]);
    });
    b.Barrier();
    const auto part = [&](Value warp) {
      Values all;
      for (size_t i = 0; i < state.size(); ++i) {
        all.push_back(b.Load(shared[i], state[i].dtype(), warp));
      }
      return all;
    };
    const Value warps = b.Div(b.Add(having, b.Index(kWarpThreads - 1)), b.Index(kWarpThreads));
    return b.For(b.Index(1), warps, 1, part(b.Index(0)),
                 [&](Value warp, absl::Span<const Value> carried) {
                   return Combine(b, {carried.begin(), carried.end()}, part(warp));
                 });
  }

  const Node& root_;
  Phases& phases_;
  const ir::Graph& step_;
  const int count_;
  std::vector<bool> reduced_;  // by dimension
  Dims kept_sizes_, reduced_sizes_;
  Dim terms_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitRegionReduce(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != ir::Op::kReduce || root->num_regions() != 1) {
    return Unimplemented("no reduction by a region");
  }
  Phases phases(fusion, name);
  RegionReduceEmitter(*root, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
