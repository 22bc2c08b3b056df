// scatter, without atomics: updates of one place are applied in their order, by one thread.
//
//   1. The operand is copied into the result.
//   2. Updates are sorted by the place that they are for (line_sorter.h); those that lie outside
//      come last.
//   3. The first entry of each place learns where its run ends.
//   4. A thread for each element of these first entries' windows walks the run.
//
// So the work is that of the updates, however large the result is, and sums have the CPU's order.
// Windows that can lie across each other are taken apart into elements.
//
// Limits: no epilogue; a place with very many updates is one thread's work.
#include <algorithm>
#include <limits>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/order/line_sorter.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/reduction/group_reduction.h"
#include "jit/base/lists.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

// What a key of 32 bits can tell apart, beside the places that are outside.
constexpr int64_t kMostPlaces = (int64_t{1} << 31) - 1;

class ScatterEmitter {
 public:
  ScatterEmitter(const Node& root, Phases* phases)
      : root_(root),
        phases_(*phases),
        sizes_(root.shape().dims()),
        updates_(root.operand_shape(2).dims()),
        offset_(root.Ints(Attr::offset_dims)),
        map_(root.Ints(Attr::scatter_dims_to_operand_dims)),
        window_(sizes_.size(), Dim(1)),
        update_dim_(sizes_.size(), -1) {
    size_t next = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (Contains(root.Ints(Attr::collapsed_slice_dims), static_cast<int64_t>(d))) continue;
      update_dim_[d] = static_cast<int>(offset_[next++]);
      window_[d] = updates_[static_cast<size_t>(update_dim_[d])];
    }
    for (size_t u = 0; u < updates_.size(); ++u) {
      (IsOffset(u) ? columns_ : batch_).push_back(updates_[u]);
    }
    apart_ = std::all_of(map_.begin(), map_.end(),
                         [&](int64_t d) { return window_[static_cast<size_t>(d)] == Dim(1); });
    Dim places(1);
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (IsKey(d)) places = places * sizes_[d];
    }
    wide_ = places.value_or(kMostPlaces) >= kMostPlaces;
    units_ = apart_ ? Product(batch_) : Product(updates_);
    width_ = apart_ ? Product(columns_) : Dim(1);
  }

  absl::Status Run() {
    if (units_.value_or(0) >= kMostPlaces) {
      return Unimplemented(root_.Describe(), ": more than 2^31 updates");
    }
    const SortKey key(wide_ ? DType::kS64 : DType::kS32, /*descending=*/false);
    for (DType part : key.parts()) sorted_.push_back(phases_.AddScratch(part, units_));
    run_ = phases_.AddScratch(DType::kS64, units_);
    LineSorter sorter(&phases_, key, {1, units_, units_});

    phases_.Add([&](Builder& b) { Copy(b); });
    sorter.AddPhases([&](Builder& b, Value, Value at) { return key.Entry(b, KeyOf(b, at), at); },
                     [&](Builder& b, Value, Value at, const Values& entry) {
                       for (size_t i = 0; i < entry.size(); ++i) {
                         b.Store(phases_.Scratch(sorted_[i]), at, entry[i]);
                       }
                     });
    phases_.Add([&](Builder& b) { FindRuns(b, key); });
    phases_.Add([&](Builder& b) { Apply(b, key); });
    return absl::OkStatus();
  }

 private:
  bool IsOffset(size_t u) const { return Contains(offset_, static_cast<int64_t>(u)); }
  // Whether a dimension of the result says which place an update is for.
  bool IsKey(size_t d) const { return !apart_ || Contains(map_, static_cast<int64_t>(d)); }

  Value Outside(Builder& b) const {
    return wide_ ? b.Index(std::numeric_limits<int64_t>::max()) : b.Index(kMostPlaces);
  }

  void Copy(Builder& b) {
    ForEachThread(b, Product(sizes_), [&](Value at) {
      Indices index;
      for (Value v : loop::Delinearize(b, at, sizes_)) index.push_back(loop::At(v));
      b.Store(phases_.Result(b, root_, 0), at, phases_.Read(b, root_.operand(0), index));
    });
  }

  // The update's element of a unit and a column.
  Indices UpdateAt(Builder& b, Value unit, Value column) const {
    Indices at;
    if (!apart_) {
      for (Value v : loop::Delinearize(b, unit, updates_)) at.push_back(loop::At(v));
      return at;
    }
    const Values batch = loop::Delinearize(b, unit, batch_);
    const Values offsets = loop::Delinearize(b, column, columns_);
    size_t next = 0, next_offset = 0;
    for (size_t u = 0; u < updates_.size(); ++u) {
      at.push_back(loop::At(IsOffset(u) ? offsets[next_offset++] : batch[next++]));
    }
    return at;
  }

  struct Target {
    Values at;
    Value inside;  // whether the whole window is
  };
  Target TargetOf(Builder& b, const Indices& update) {
    const int64_t vector_dim = root_.Int(Attr::index_vector_dim);
    Target target{Values(sizes_.size(), b.Index(0)), b.Int(DType::kBool, 1)};
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (update_dim_[d] >= 0) target.at[d] = update[static_cast<size_t>(update_dim_[d])].base;
    }
    for (size_t m = 0; m < map_.size(); ++m) {
      Indices from;
      for (size_t u = 0; u < updates_.size(); ++u) {
        if (!IsOffset(u)) from.push_back(update[u]);
      }
      if (vector_dim < root_.operand_shape(1).rank()) {
        from.insert(from.begin() + vector_dim, loop::At(b.Index(static_cast<int64_t>(m))));
      }
      const auto d = static_cast<size_t>(map_[m]);
      const Value start = b.Convert(phases_.Read(b, root_.operand(1), from), DType::kS64);
      target.inside = b.And(target.inside, b.Compare("ge", start, b.Index(0)));
      target.inside = b.And(target.inside, b.Compare("le", start, b.Index(sizes_[d] - window_[d])));
      target.at[d] = b.Add(target.at[d], start);
    }
    return target;
  }

  Value KeyOf(Builder& b, Value unit) {
    const Target target = TargetOf(b, UpdateAt(b, unit, b.Index(0)));
    Value key = b.Index(0);
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (IsKey(d)) key = b.Add(b.Mul(key, b.Index(sizes_[d])), target.at[d]);
    }
    return b.Select(target.inside, key, Outside(b));
  }

  Values Sorted(Builder& b, const SortKey& key, Value at) const {
    Values entry;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      entry.push_back(b.Load(phases_.Scratch(sorted_[i]), key.parts()[i], at));
    }
    return entry;
  }

  // At the first entry of a place where its run ends, at all others 0.
  void FindRuns(Builder& b, const SortKey& key) {
    ForEachThread(b, units_, [&](Value at) {
      const Values entry = Sorted(b, key, at);
      const Values before = Sorted(b, key, b.Max(b.Sub(at, b.Index(1)), b.Index(0)));
      const Value is_first =
          b.Or(b.Compare("eq", at, b.Index(0)), b.Unary(Op::kNot, key.SameKey(b, before, entry)));
      const Values outside = key.FirstOf(b, key.Entry(b, Outside(b), b.Index(0)));
      const Value end = b.IfElse(
          b.And(is_first, key.Before(b, entry, outside)),
          [&] {
            return Values{CountBefore(b, key, units_, b.Index(units_), key.LastOf(b, entry),
                                      [&](Value i) { return Sorted(b, key, i); })};
          },
          [&] { return Values{b.Index(0)}; })[0];
      b.Store(phases_.Scratch(run_), at, end);
    });
  }

  void Apply(Builder& b, const SortKey& key) {
    const std::string& reducer = root_.String(Attr::reducer);
    const bool replaces = reducer == "replace";
    const DType dtype = root_.shape().dtype();
    ForEachThread(b, units_ * width_, [&](Value linear) {
      const Value first = b.Div(linear, b.Index(width_));
      const Value column = b.Sub(linear, b.Mul(first, b.Index(width_)));
      const Value end = b.Load(phases_.Scratch(run_), DType::kS64, first);
      b.If(b.Compare("gt", end, b.Index(0)), [&] {
        const auto update = [&](Value at) {
          return UpdateAt(b, key.Index(b, Sorted(b, key, at)), column);
        };
        const Target target = TargetOf(b, update(first));
        const Dims strides = ir::RowMajorStrides(sizes_);
        Value to = b.Index(0);
        for (size_t d = 0; d < sizes_.size(); ++d) {
          to = b.Add(to, b.Mul(target.at[d], b.Index(strides[d])));
        }
        const Value result = phases_.Result(b, root_, 0);
        if (replaces) {
          const Indices last = update(b.Sub(end, b.Index(1)));
          return b.Store(result, to, phases_.Read(b, root_.operand(2), last));
        }
        const GroupReduction reduction(&b, reducer, dtype, loop::kWarpThreads);
        const Value start = b.Convert(b.Load(result, dtype, to), reduction.accumulator());
        const Value total =
            b.For(first, end, 1, {start}, [&](Value at, absl::Span<const Value> carried) {
              const Value x = phases_.Read(b, root_.operand(2), update(at));
              return Values{reduction.Take(carried[0], x)};
            })[0];
        b.Store(result, to, reduction.Narrow(total));
      });
    });
  }

  const Node& root_;
  Phases& phases_;
  const Dims &sizes_, &updates_;
  const std::vector<int64_t>&offset_, &map_;
  Dims window_;                  // by dimension of the result
  std::vector<int> update_dim_;  // the same; -1: collapsed
  Dims batch_, columns_;         // dimensions of the updates between and in windows
  bool apart_ = false;           // windows are the same or have nothing in common
  bool wide_ = false;            // places do not fit keys of 32 bits
  Dim units_, width_;            // what is sorted, and how many elements each has
  std::vector<int> sorted_;
  int run_ = -1;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitScatter(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != Op::kScatter) return Unimplemented("no scatter");
  Phases phases(fusion, name);
  TEKTITE_RETURN_IF_ERROR(ScatterEmitter(*root, &phases).Run());
  return phases.Take();
}

}  // namespace tektite::gpu
