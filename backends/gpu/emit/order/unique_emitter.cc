// unique: rows are sorted, so that equal ones are neighbours, the first of them in front.
//
//   1. Rows are sorted by what they hold, equal ones by their numbers (line_sorter.h).
//   2. Each finds by a binary search where those that are equal to it begin.
//   3. The first ones are numbered in their own order (mask_places.h).
//   4. Each row gets the number of its first one, the last of its like says how many there are, and
//      first rows are collected.
//
// A row that holds NaN is equal to none.  Limits: rows of several values are compared value by
// value in each step of the sorting.
#include <limits>
#include <memory>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/order/line_sorter.h"
#include "backends/gpu/emit/order/mask_places.h"
#include "backends/gpu/emit/phases.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/reducer.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

// Element `k` of row `row`.
using RowElement = std::function<Value(Builder&, Value row, Value k)>;

// Rows by their elements' keys, then by their numbers.  -1 - n stands before all that are equal to
// row n.
class RowOrder final : public EntryOrder {
 public:
  RowOrder(DType dtype, Dim rows, Dim width, RowElement element)
      : key_(dtype, /*descending=*/false),
        rows_(std::move(rows)),
        width_(std::move(width)),
        element_(std::move(element)) {}

  std::vector<DType> parts() const override { return {DType::kS64}; }
  Values End(Builder& b) const override { return {b.Index(std::numeric_limits<int64_t>::max())}; }
  Values FirstOf(Builder& b, const Values& entry) const override {
    return {b.Sub(b.Index(-1), entry[0])};
  }
  Value Index(Builder&, const Values& entry) const override { return entry[0]; }

  Value Before(Builder& b, const Values& x, const Values& y) const override {
    const auto row = [&](Value entry) { return b.Max(entry, b.Sub(b.Index(-1), entry)); };
    const auto exists = [&](Value entry) { return b.Compare("lt", entry, b.Index(rows_)); };
    const Value by_number = b.Compare("lt", x[0], y[0]);
    return b.IfElse(
        b.And(exists(x[0]), exists(y[0])),
        [&] {
          const Value order = Compare(b, row(x[0]), row(y[0]));
          const Value is_equal = b.Compare("eq", order, b.Index(0));
          return Values{b.Select(is_equal, by_number, b.Compare("lt", order, b.Index(0)))};
        },
        [&] { return Values{by_number}; })[0];
  }

 private:
  // Negative, 0 or positive.
  Value Compare(Builder& b, Value x, Value y) const {
    return b.For(
        b.Index(0), b.Index(width_), 1, {b.Index(0)},
        [&](Value k, absl::Span<const Value> carried) {
          const Value from_x = key_.Ordered(b, element_(b, x, k));
          const Value from_y = key_.Ordered(b, element_(b, y, k));
          const Value order =
              b.Select(b.Compare("lt", from_x, from_y), b.Index(-1),
                       b.Select(b.Compare("gt", from_x, from_y), b.Index(1), b.Index(0)));
          return Values{b.Select(b.Compare("eq", carried[0], b.Index(0)), order, carried[0])};
        })[0];
  }

  const SortKey key_;
  const Dim rows_, width_;
  const RowElement element_;
};

class UniqueEmitter {
 public:
  UniqueEmitter(const Node& root, Phases* phases)
      : root_(root),
        phases_(*phases),
        sizes_(root.operand_shape(0).dims()),
        rows_(sizes_[0]),
        width_(Product(Dims(sizes_.begin() + 1, sizes_.end()))),
        dtype_(root.operand_shape(0).dtype()) {
    if (width_ == Dim(1)) {
      order_ = std::make_unique<SortKey>(dtype_, /*descending=*/false);
    } else {
      order_ = std::make_unique<RowOrder>(
          dtype_, rows_, width_, [this](Builder& b, Value row, Value k) { return At(b, row, k); });
    }
    for (DType part : order_->parts()) sorted_.push_back(phases->AddScratch(part, rows_));
    begin_ = phases->AddScratch(DType::kS64, rows_);
    is_first_ = phases->AddScratch(DType::kBool, rows_);
    number_ = phases->AddScratch(DType::kS64, rows_);
  }

  void Run() {
    LineSorter sorter(&phases_, *order_, {1, rows_, rows_});
    MaskPlaces firsts(&phases_, rows_);
    sorter.AddPhases(
        [&](Builder& b, Value, Value at) {
          if (width_ != Dim(1)) return Values{at};
          const auto& key = static_cast<const SortKey&>(*order_);
          return key.Entry(b, At(b, at, b.Index(0)), at);
        },
        [&](Builder& b, Value, Value at, const Values& entry) {
          for (size_t i = 0; i < entry.size(); ++i) {
            b.Store(phases_.Scratch(sorted_[i]), at, entry[i]);
          }
        });
    phases_.Add([&](Builder& b) { FindBegins(b); });
    firsts.AddPhases(
        [&](Builder& b, Value at) { return b.Load(phases_.Scratch(is_first_), DType::kBool, at); },
        [&](Builder& b, Value at, Value number) { b.Store(phases_.Scratch(number_), at, number); });
    phases_.Add([&](Builder& b) {
      ForEachThread(b, Max(rows_ * width_, rows_ + Dim(1)), [&](Value at) {
        if (const Value count = phases_.Result(b, root_, 3)) {
          b.If(b.Compare("eq", at, b.Index(0)),
               [&] { b.Store(count, b.Index(0), firsts.Count(b)); });
        }
        b.If(b.Compare("lt", at, b.Index(rows_)), [&] { StoreNumbers(b, at); });
        if (phases_.Result(b, root_, 0)) CollectRows(b, firsts, at);
      });
    });
  }

 private:
  Value At(Builder& b, Value row, Value k) {
    Indices at = {loop::At(row)};
    const Dims inner(sizes_.begin() + 1, sizes_.end());
    for (Value v : loop::Delinearize(b, k, inner)) at.push_back(loop::At(v));
    return phases_.Read(b, root_.operand(0), at);
  }

  Values Sorted(Builder& b, Value at) const {
    Values entry;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      entry.push_back(b.Load(phases_.Scratch(sorted_[i]), order_->parts()[i], at));
    }
    return entry;
  }

  // A row is equal to itself unless it holds NaN.
  Value HasNoNaN(Builder& b, Value row) {
    if (!ir::IsFloat(dtype_)) return b.Int(DType::kBool, 1);
    return b.For(b.Index(0), b.Index(width_), 1, {b.Int(DType::kBool, 1)},
                 [&](Value k, absl::Span<const Value> carried) {
                   const Value x = b.Convert(At(b, row, k), loop::AccumulatorOf(dtype_));
                   return Values{b.And(carried[0], b.Compare("eq", x, x))};
                 })[0];
  }

  void FindBegins(Builder& b) {
    ForEachThread(b, rows_, [&](Value at) {
      const Values entry = Sorted(b, at);
      const Value row = order_->Index(b, entry);
      const Value begin = b.IfElse(
          HasNoNaN(b, row),
          [&] {
            return Values{CountBefore(b, *order_, rows_, b.Index(rows_), order_->FirstOf(b, entry),
                                      [&](Value i) { return Sorted(b, i); })};
          },
          [&] { return Values{at}; })[0];
      b.Store(phases_.Scratch(begin_), at, begin);
      b.Store(phases_.Scratch(is_first_), row, b.Compare("eq", begin, at));
    });
  }

  // For the row at `at` of the order.
  void StoreNumbers(Builder& b, Value at) {
    const auto begin_of = [&](Value i) { return b.Load(phases_.Scratch(begin_), DType::kS64, i); };
    const Value begin = begin_of(at);
    const Value first = order_->Index(b, Sorted(b, begin));
    const Value number = b.Load(phases_.Scratch(number_), DType::kS64, first);
    const DType dtype = root_.attrs().GetDType(Attr::dtype);
    if (const Value numbers = phases_.Result(b, root_, 1)) {
      b.Store(numbers, order_->Index(b, Sorted(b, at)), b.Convert(number, dtype));
    }
    if (const Value counts = phases_.Result(b, root_, 2)) {
      const Value next = b.Add(at, b.Index(1));
      const Value is_end = b.Compare("eq", next, b.Index(rows_));
      const Value next_begin = begin_of(b.Select(is_end, at, next));
      const Value is_last = b.Or(is_end, b.Compare("eq", next_begin, next));
      b.If(is_last, [&] { b.Store(counts, number, b.Convert(b.Sub(next, begin), dtype)); });
    }
  }

  // Element `at` of the rows that come first.
  void CollectRows(Builder& b, const MaskPlaces& firsts, Value at) {
    b.If(b.Compare("lt", at, b.Index(rows_ * width_)), [&] {
      const Value row = b.Div(at, b.Index(width_));
      b.If(b.Compare("lt", row, firsts.Count(b)), [&] {
        const Value k = b.Sub(at, b.Mul(row, b.Index(width_)));
        b.Store(phases_.Result(b, root_, 0), at, At(b, firsts.Place(b, row), k));
      });
    });
  }

  const Node& root_;
  Phases& phases_;
  const Dims& sizes_;
  const Dim rows_, width_;
  const DType dtype_;
  std::unique_ptr<const EntryOrder> order_;
  std::vector<int> sorted_;
  // By place in the order: where equal rows begin.  By row: whether it is the first, its number.
  int begin_ = -1, is_first_ = -1, number_ = -1;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitUnique(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != ir::Op::kUnique) return Unimplemented("no unique");
  Phases phases(fusion, name);
  UniqueEmitter(*root, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
