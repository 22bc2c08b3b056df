// Every element of the right-hand side ("weight") is read once, 16 bytes at a time, and multiplied
// by a few rows of the left-hand side, which stay in cache.  Threads share the terms of a sum, so
// that few columns keep a card busy too; their sums are added in an order that follows from sizes.
//
// Weights [k][n]: a thread takes a vector of columns, and every so many terms of k.  The threads of
// a warp that have the same columns add up first, then the block's warps through shared memory.
// Weights [n][k]: a warp takes a few columns, and its threads vectors of k.
#include <algorithm>

#include "backends/gpu/emit/contraction/few_rows_contraction.h"

#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

using Along = ContractionView::Along;
using Values = std::vector<Value>;

constexpr int64_t kMostRows = 8;
constexpr int64_t kThreads = 256, kWarps = kThreads / kWarpThreads;
// Terms of k that a thread takes at once, of weights [k][n]: so many loads are under way.
constexpr int64_t kTerms = 4;
// Shorter sums leave most threads without a term.
constexpr int64_t kFewestTerms = 32;
// Columns of a warp, of weights [n][k].
constexpr int64_t kColumns = 2;
// A sector of memory, which is read whole, is two vectors.
constexpr int64_t kFewestThreads = 4;

int64_t Lanes(DType dtype) { return kVectorBytes / ir::DTypeBytes(dtype); }

class FewRows {
 public:
  FewRows(const ir::Graph& region, const ContractionView& view, loop::Kernel* kernel)
      : region_(region),
        view_(view),
        kernel_(*kernel),
        b_(kernel),
        batch_(Product(view.batch())),
        rows_(Product(view.m()).value()),
        n_(Product(view.n())),
        k_(Product(view.k())),
        dtype_(view.root().operand_shape(0).dtype()),
        sum_(ir::DTypeBytes(dtype_) < 4 ? DType::kF32 : dtype_),
        lanes_(Lanes(dtype_)) {}

  absl::Status Run() {
    for (const Dim& size : {n_, k_}) status_.Update(RequireNarrow(kernel_, size));
    kernel_.launch.threads = kThreads;
    kernel_.launch.resident_threads = kThreads;
    view_.rhs_along() == Along::kN ? EmitAcross() : EmitAlong();
    return status_;
  }

 private:
  void TakeBlock(int64_t columns) {
    kernel_.launch.blocks = batch_ * CeilDiv(n_, columns);
    const Indices block = SplitNarrowIndex(b_, b_.BlockIndex(), {batch_, CeilDiv(n_, columns)});
    index_ = SplitNarrowIndex(b_, block[0].base, view_.batch());
    first_column_ = b_.Mul(block[1].base, b_.Index(columns));
  }

  // ---- weights [k][n] ----

  // Threads side by side along n: a power of two.
  int64_t ChooseAcross() const {
    const Dim vectors = CeilDiv(n_, lanes_) * batch_;
    int64_t across = kWarpThreads;
    while (across > kFewestThreads && vectors.value_or(kUsual) < across * kManyBlocks) {
      across /= 2;
    }
    return across;
  }

  void EmitAcross() {
    const int64_t across = ChooseAcross(), columns = across * lanes_;
    const int64_t terms = Mod(k_, kTerms) == Dim(0) ? kTerms : 1;
    const int64_t groups = kThreads / across;
    TakeBlock(columns);
    const Value thread = b_.ThreadIndex();
    const Value own = b_.Mul(b_.RemNarrow(thread, across), b_.Index(lanes_));
    const Value column = Existing(b_.Add(first_column_, own));
    const Value group = b_.DivNarrow(thread, across);
    const Value zero = b_.Splat(b_.Constant(sum_, 0), static_cast<int>(lanes_));
    Values sums = b_.For(
        b_.Mul(group, b_.Index(terms)), b_.Index(k_), groups * terms,
        Values(static_cast<size_t>(rows_), zero), [&](Value k, absl::Span<const Value> carried) {
          Values next(carried.begin(), carried.end());
          std::vector<Values> x;
          for (int64_t row = 0; row < rows_; ++row) x.push_back(Left(row, k, terms));
          Values weights;
          for (int64_t term = 0; term < terms; ++term) {
            weights.push_back(Weights(b_.Add(k, b_.Index(term)), column));
          }
          for (size_t term = 0; term < weights.size(); ++term) {
            for (size_t row = 0; row < next.size(); ++row) {
              const Value factor = b_.Splat(x[row][term], static_cast<int>(lanes_));
              next[row] = b_.Fma(factor, weights[term], next[row]);
            }
          }
          return next;
        });
    for (int64_t distance = across; distance < kWarpThreads; distance *= 2) {
      for (Value& sum : sums) sum = b_.Add(sum, b_.WarpXor(sum, static_cast<int>(distance)));
    }
    const Value shared = b_.AllocateShared(sum_, kWarps * rows_ * columns);
    const Value warp = b_.DivNarrow(thread, kWarpThreads);
    const auto place = [&](Value of_warp, Value row, Value at) {
      return b_.Add(b_.Mul(b_.Add(b_.Mul(of_warp, b_.Index(rows_)), row), b_.Index(columns)), at);
    };
    b_.If(b_.Compare("lt", b_.RemNarrow(thread, kWarpThreads), b_.Index(across)), [&] {
      for (int64_t row = 0; row < rows_; ++row) {
        b_.Store(shared, place(warp, b_.Index(row), own), sums[static_cast<size_t>(row)]);
      }
    });
    b_.Barrier();
    const int64_t lanes = ResultLanes(region_, view_, lanes_), vectors = columns / lanes;
    b_.For(thread, b_.Index(rows_ * vectors), kThreads, [&](Value v) {
      const Value row = b_.DivNarrow(v, vectors);
      const Value at = b_.Mul(b_.RemNarrow(v, vectors), b_.Index(lanes));
      const Value to = b_.Add(first_column_, at);
      b_.If(b_.Compare("lt", to, b_.Index(n_)), [&] {
        Value all;
        for (int64_t w = 0; w < kWarps; ++w) {
          const Value part =
              b_.Load(shared, sum_, place(b_.Index(w), row, at), static_cast<int>(lanes));
          all = all ? b_.Add(all, part) : part;
        }
        Store(row, to, all, lanes);
      });
    });
  }

  // ---- weights [n][k] ----

  void EmitAlong() {
    TakeBlock(kWarps * kColumns);
    const Value thread = b_.RemNarrow(b_.ThreadIndex(), kWarpThreads);
    const Value warp = b_.DivNarrow(b_.ThreadIndex(), kWarpThreads);
    Values columns;
    for (int64_t c = 0; c < kColumns; ++c) {
      const Value own = b_.Add(b_.Mul(warp, b_.Index(kColumns)), b_.Index(c));
      columns.push_back(b_.Add(first_column_, own));
    }
    Values sums = b_.For(
        b_.Mul(thread, b_.Index(lanes_)), b_.Index(k_), kWarpThreads * lanes_,
        Values(static_cast<size_t>(rows_ * kColumns), b_.Constant(sum_, 0)),
        [&](Value k, absl::Span<const Value> carried) {
          Values next(carried.begin(), carried.end()), weights;
          for (const Value& column : columns) weights.push_back(Weights(k, Existing(column)));
          for (int64_t row = 0; row < rows_; ++row) {
            const Values x = Left(row, k, lanes_);
            for (size_t c = 0; c < columns.size(); ++c) {
              Value& sum = next[static_cast<size_t>(row) * columns.size() + c];
              for (size_t lane = 0; lane < x.size(); ++lane) {
                sum = b_.Fma(x[lane], b_.ExtractLane(weights[c], static_cast<int>(lane)), sum);
              }
            }
          }
          return next;
        });
    // Thread i of the warp takes sum i.
    Value own;
    for (size_t i = 0; i < sums.size(); ++i) {
      for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
        sums[i] = b_.Add(sums[i], b_.WarpXor(sums[i], distance));
      }
      const Value mine = b_.Compare("eq", thread, b_.Index(static_cast<int64_t>(i)));
      own = own ? b_.Select(mine, sums[i], own) : sums[i];
    }
    const Value to = b_.Add(columns[0], b_.RemNarrow(thread, kColumns));
    const Value exists = b_.And(b_.Compare("lt", thread, b_.Index(rows_ * kColumns)),
                                b_.Compare("lt", to, b_.Index(n_)));
    b_.If(exists, [&] { Store(b_.DivNarrow(thread, kColumns), to, own, 1); });
  }

  // ---- operands and results ----

  // A column that may be read, where there is none: every thread takes part in exchanges.
  Value Existing(Value column) {
    return b_.Select(b_.Compare("lt", column, b_.Index(n_)), column, b_.Index(0));
  }

  Value Read(int operand, const ContractionView::Element& element, int64_t lanes) {
    loop::ElementEmitter e(&b_, static_cast<int>(lanes));
    loop::BindParameters(e, region_);
    const ir::Value v = view_.root().operand(operand);
    const Value read = lanes > 1 ? e.EmitVector(v, element.at) : e.Emit(v, element.at);
    status_.Update(e.status());
    return read.dtype() == sum_ ? read : b_.Convert(read, sum_);
  }

  Value Weights(Value k, Value column) {
    const bool across = view_.rhs_along() == Along::kN;
    ContractionIndex index;
    index.batch = index_;
    index.k = SplitNarrowIndex(b_, k, view_.k(), across ? 1 : lanes_);
    index.n = SplitNarrowIndex(b_, column, view_.n(), across ? lanes_ : 1);
    return Read(1, view_.Rhs(b_, index), lanes_);
  }

  // `count` elements of a row, from `k` on; k is a multiple of count, and so is its range.
  Values Left(int64_t row, Value k, int64_t count) {
    ContractionIndex index;
    index.batch = index_;
    index.m = SplitNarrowIndex(b_, b_.Index(row), view_.m());
    const bool vector = count > 1 && view_.lhs_along() == Along::kK &&
                        Mod(view_.k().back(), count) == Dim(0) &&
                        view_.root().operand(0).node->op() == ir::Op::kParameter;
    Values elements;
    for (int64_t i = 0; i < count; i += vector ? count : 1) {
      index.k = SplitNarrowIndex(b_, b_.Add(k, b_.Index(i)), view_.k(), vector ? count : 1);
      const Value read = Read(0, view_.Lhs(b_, index), vector ? count : 1);
      for (int lane = 0; lane < read.lanes(); ++lane) {
        elements.push_back(b_.ExtractLane(read, lane));
      }
    }
    return elements;
  }

  void Store(Value row, Value column, Value sum, int64_t lanes) {
    status_.Update(StoreSum(b_, region_, view_, index_, row, column, sum, lanes));
  }

  const ir::Graph& region_;
  const ContractionView& view_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dim batch_;
  const int64_t rows_;
  const Dim n_, k_;
  const DType dtype_, sum_;  // of the operands, of the sums
  const int64_t lanes_;      // of a vector of weights
  Indices index_;            // of the block's batch
  Value first_column_;
  absl::Status status_;
};

}  // namespace

bool IsOfFewRows(const ContractionView& view) {
  const ir::Node& root = view.root();
  const DType dtype = root.operand_shape(1).dtype();
  const Along along = view.rhs_along();
  if (root.op() != ir::Op::kDotGeneral || !ir::IsFloat(dtype) ||
      root.operand_shape(0).dtype() != dtype || root.operand(1).node->op() != ir::Op::kParameter ||
      along == Along::kNothing || Product(view.m()).value_or(kMostRows + 1) > kMostRows ||
      Product(view.m()) == Dim(0) || Product(view.k()).value_or(kFewestTerms) < kFewestTerms) {
    return false;
  }
  const Dims& run = along == Along::kN ? view.n() : view.k();
  return !run.empty() && Mod(run.back(), Lanes(dtype)) == Dim(0);
}

absl::Status EmitFewRows(const ir::Graph& region, const ContractionView& view,
                         loop::Kernel* kernel) {
  return FewRows(region, view, kernel).Run();
}

}  // namespace tektite::gpu
