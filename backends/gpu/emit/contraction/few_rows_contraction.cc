// Every element of the right-hand side ("weight") is read once, 16 bytes at a time, and multiplied
// by a few rows of the left-hand side, which stay in cache.  Threads share the terms of a sum, so
// that few columns keep a card busy too; their sums are added in an order that follows from sizes.
//
// Weights of s8 or u8 are read as bytes.  Beside rows of floats they are converted in registers;
// beside rows of bytes four products are one instruction (dot_bytes), whose sums of s32 wrap round.
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
// A sector of memory, which is read whole, is two vectors.  Of weights in bytes it holds as many
// columns as two of f32.
constexpr int64_t kFewestThreads = 4, kFewestThreadsOfBytes = 2;
// Sums of a thread: these and what they are made of take its registers.
constexpr int64_t kMostSums = 64;
// Bytes of a word, whose products are added up at once.
constexpr int64_t kWord = 4;

bool IsByte(DType dtype) { return dtype == DType::kS8 || dtype == DType::kU8; }

// Of a vector of weights.
int64_t LanesOf(const ContractionView& view) {
  const int64_t rows = Product(view.m()).value_or(kMostRows);
  const int64_t lanes = kVectorBytes / ir::DTypeBytes(view.root().operand_shape(1).dtype());
  return rows * lanes > kMostSums && view.rhs_along() == Along::kN ? lanes / 2 : lanes;
}

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
        in_words_(IsByte(dtype_)),
        sum_(in_words_                    ? DType::kS32
             : ir::DTypeBytes(dtype_) < 4 ? DType::kF32
                                          : dtype_),
        lanes_(LanesOf(view)) {}

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
    const int64_t fewest =
        IsByte(view_.root().operand_shape(1).dtype()) ? kFewestThreadsOfBytes : kFewestThreads;
    int64_t across = kWarpThreads;
    while (across > fewest && vectors.value_or(kUsual) < across * kManyBlocks) {
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
          if (in_words_ && terms == kWord) return AddWords(k, column, std::move(next));
          std::vector<Values> x;
          for (int64_t row = 0; row < rows_; ++row) x.push_back(Left(row, k, terms));
          Values weights;
          for (int64_t term = 0; term < terms; ++term) {
            weights.push_back(Summand(Weights(b_.Add(k, b_.Index(term)), column)));
          }
          for (size_t term = 0; term < weights.size(); ++term) {
            for (size_t row = 0; row < next.size(); ++row) {
              const Value factor = b_.Splat(x[row][term], static_cast<int>(lanes_));
              next[row] = MultiplyAdd(factor, weights[term], next[row]);
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

  // The sums of a vector of columns of each row, with the products of four terms added.
  Values AddWords(Value k, Value column, Values sums) {
    const Values columns = WordsOfColumns(k, column);
    for (int64_t row = 0; row < rows_; ++row) {
      const Value x = LeftVector(row, k, kWord);
      Value& sum = sums[static_cast<size_t>(row)];
      for (int lane = 0; lane < lanes_; ++lane) {
        const Value own =
            b_.DotBytes(x, columns[static_cast<size_t>(lane)], b_.ExtractLane(sum, lane));
        sum = b_.InsertLane(sum, own, lane);
      }
    }
    return sums;
  }

  // Of each column the bytes of four terms.
  Values WordsOfColumns(Value k, Value column) {
    Values weights, columns;
    for (int64_t term = 0; term < kWord; ++term) {
      weights.push_back(Weights(b_.Add(k, b_.Index(term)), column));
    }
    for (int first = 0; first < lanes_; first += kWord) {
      const auto part = [&](size_t row) {
        return b_.Shuffle(weights[row], {}, {first, first + 1, first + 2, first + 3});
      };
      const Value upper[] = {part(0), part(1)}, lower[] = {part(2), part(3)};
      for (int half = 0; half < kWord; half += 2) {
        // Two columns of two rows each.
        const std::vector<int> pairs = {half, half + 4, half + 1, half + 5};
        const Value a = b_.Shuffle(upper[0], upper[1], pairs),
                    b = b_.Shuffle(lower[0], lower[1], pairs);
        columns.push_back(b_.Shuffle(a, b, {0, 1, 4, 5}));
        columns.push_back(b_.Shuffle(a, b, {2, 3, 6, 7}));
      }
    }
    return columns;
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
    // Words have sums of their own.
    const int words = static_cast<int>(in_words_ ? lanes_ / kWord : 1);
    Values sums =
        b_.For(b_.Mul(thread, b_.Index(lanes_)), b_.Index(k_), kWarpThreads * lanes_,
               Values(static_cast<size_t>(rows_ * kColumns), b_.Splat(b_.Constant(sum_, 0), words)),
               [&](Value k, absl::Span<const Value> carried) {
                 Values next(carried.begin(), carried.end()), weights;
                 for (const Value& column : columns) {
                   const Value own = Weights(k, Existing(column));
                   weights.push_back(in_words_ ? own : Summand(own));
                 }
                 for (int64_t row = 0; row < rows_; ++row) {
                   const auto first = next.begin() + static_cast<std::ptrdiff_t>(row * kColumns);
                   if (in_words_) {
                     AddAlong(LeftVector(row, k, lanes_), weights, &*first);
                   } else {
                     AddAlong(Left(row, k, lanes_), weights, &*first);
                   }
                 }
                 return next;
               });
    if (words > 1) {
      for (Value& sum : sums) sum = b_.ReduceLanes(ir::Op::kAdd, sum);
    }
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

  // To the sums of a row, one for each column.
  void AddAlong(Value x, const Values& weights, Value* sums) {
    for (const Value& column : weights) {
      *sums = b_.DotBytes(x, column, *sums);
      ++sums;
    }
  }
  void AddAlong(const Values& x, const Values& weights, Value* sums) {
    for (const Value& column : weights) {
      for (size_t lane = 0; lane < x.size(); ++lane) {
        *sums = b_.Fma(x[lane], b_.ExtractLane(column, static_cast<int>(lane)), *sums);
      }
      ++sums;
    }
  }

  // ---- operands and results ----

  Value Summand(Value v) { return v.dtype() == sum_ ? v : b_.Convert(v, sum_); }
  Value MultiplyAdd(Value x, Value y, Value sum) {
    return ir::IsFloat(sum_) ? b_.Fma(x, y, sum) : b_.Add(b_.Mul(x, y), sum);
  }

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
    return read;
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
    Values elements;
    for (const Value& read : ReadLeft(row, k, count)) {
      const Value all = Summand(read);
      for (int lane = 0; lane < all.lanes(); ++lane) elements.push_back(b_.ExtractLane(all, lane));
    }
    return elements;
  }
  // The same as a vector of bytes.
  Value LeftVector(int64_t row, Value k, int64_t count) {
    const Values read = ReadLeft(row, k, count);
    if (read.size() == 1) return read[0];
    Value all = b_.Splat(read[0], static_cast<int>(count));
    for (int i = 1; i < count; ++i) all = b_.InsertLane(all, read[static_cast<size_t>(i)], i);
    return all;
  }
  // All of them in a vector, or one by one.
  Values ReadLeft(int64_t row, Value k, int64_t count) {
    ContractionIndex index;
    index.batch = index_;
    index.m = SplitNarrowIndex(b_, b_.Index(row), view_.m());
    const bool vector = count > 1 && view_.lhs_along() == Along::kK &&
                        Mod(view_.k().back(), count) == Dim(0) &&
                        view_.root().operand(0).node->op() == ir::Op::kParameter;
    Values parts;
    for (int64_t i = 0; i < count; i += vector ? count : 1) {
      index.k = SplitNarrowIndex(b_, b_.Add(k, b_.Index(i)), view_.k(), vector ? count : 1);
      parts.push_back(Read(0, view_.Lhs(b_, index), vector ? count : 1));
    }
    return parts;
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
  const DType dtype_;    // of the rows
  const bool in_words_;  // both operands are bytes
  const DType sum_;
  const int64_t lanes_;  // of a vector of weights
  Indices index_;        // of the block's batch
  Value first_column_;
  absl::Status status_;
};

}  // namespace

bool IsOfFewRows(const ContractionView& view) {
  const ir::Node& root = view.root();
  const DType rows = root.operand_shape(0).dtype(), weights = root.operand_shape(1).dtype();
  const Along along = view.rhs_along();
  const bool fits =
      IsByte(weights) ? IsByte(rows) || ir::IsFloat(rows) : ir::IsFloat(weights) && rows == weights;
  if (root.op() != ir::Op::kDotGeneral || !fits ||
      root.operand(1).node->op() != ir::Op::kParameter || along == Along::kNothing ||
      Product(view.m()).value_or(kMostRows + 1) > kMostRows || Product(view.m()) == Dim(0) ||
      Product(view.k()).value_or(kFewestTerms) < kFewestTerms) {
    return false;
  }
  const Dims& run = along == Along::kN ? view.n() : view.k();
  return !run.empty() && Mod(run.back(), LanesOf(view)) == Dim(0);
}

absl::Status EmitFewRows(const ir::Graph& region, const ContractionView& view,
                         loop::Kernel* kernel) {
  return FewRows(region, view, kernel).Run();
}

}  // namespace tektite::gpu
