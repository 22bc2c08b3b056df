// Contractions with few results and long sums: gradients of filters that each see one channel.
//
// Threads stand side by side along the innermost dimension of the result: a block takes 32 columns,
// in slices of the sum that are added up through shared memory.  What is longer is cut into pieces,
// of which a block takes one, and a second phase adds up the pieces in order.
//
// Limits: convolutions in groups, since other products fill tiles (contraction_emitter.cc).
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/reducer.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

constexpr int64_t kSlices = 8;
// Terms of a piece.
constexpr int64_t kPiece = 2048;

class LongSumEmitter {
 public:
  LongSumEmitter(const ContractionView& view, Phases* phases)
      : view_(view),
        phases_(*phases),
        sizes_(view.root().shape().dims()),
        terms_(Product(view.k())),
        pieces_(terms_.value_or(kPiece + 1) <= kPiece ? Dim(1) : CeilDiv(terms_, kPiece)),
        results_(Product(sizes_)) {
    accumulator_ = loop::AccumulatorOf(view.root().operand_shape(0).dtype());
    // Narrow integers wrap around at the end as they would at every step.
    if (ir::DTypeBytes(accumulator_) < 4) accumulator_ = DType::kS32;
  }

  void Run() {
    if (pieces_ == Dim(1)) {
      return phases_.Add([&](Builder& b) {
        EmitPieces(b, [&](Value, Value, const Indices& at, Value sum) { Finish(b, at, sum); });
      });
    }
    sums_ = phases_.AddScratch(accumulator_, pieces_ * results_);
    phases_.Add([&](Builder& b) {
      EmitPieces(b, [&](Value piece, Value result, const Indices&, Value sum) {
        b.Store(phases_.Scratch(sums_), At(b, piece, result), sum);
      });
    });
    phases_.Add([&](Builder& b) { AddPieces(b); });
  }

 private:
  Value At(Builder& b, Value piece, Value result) const {
    return b.Add(b.Mul(piece, b.Index(results_)), result);
  }
  void Finish(Builder& b, const Indices& at, Value sum) {
    phases_.Note(StoreResults(b, phases_.region(), view_.root(), at, sum, 1));
  }

  void AddPieces(Builder& b) {
    ForEachThread(b, results_, [&](Value result) {
      const Value sum = b.For(
          b.Index(0), b.Index(pieces_), 1, {b.Constant(accumulator_, 0)},
          [&](Value piece, absl::Span<const Value> carried) {
            return Values{b.Add(
                carried[0], b.Load(phases_.Scratch(sums_), accumulator_, At(b, piece, result)))};
          })[0];
      Finish(b, SplitIndex(b, result, sizes_), sum);
    });
  }

  void EmitPieces(
      Builder& b,
      absl::FunctionRef<void(Value piece, Value result, const Indices& at, Value sum)> store) {
    Dims outer = sizes_;
    const Dim columns = sizes_.empty() ? Dim(1) : sizes_.back();
    if (!outer.empty()) outer.pop_back();
    const Dim rows = Product(outer), strips = CeilDiv(columns, kWarpThreads);
    b.kernel()->launch.threads = static_cast<int>(kSlices * kWarpThreads);
    b.kernel()->launch.blocks = pieces_ * rows * strips;
    const Values block = loop::Delinearize(b, b.BlockIndex(), {pieces_, rows, strips});
    const Value lane = b.Rem(b.ThreadIndex(), b.Index(kWarpThreads));
    const Value slice = b.Div(b.ThreadIndex(), b.Index(kWarpThreads));
    const Value column = b.Add(b.Mul(block[2], b.Index(kWarpThreads)), lane);
    const Value exists = b.Compare("lt", column, b.Index(columns));
    Indices at;
    for (Value v : loop::Delinearize(b, block[1], outer)) at.push_back(loop::At(v));
    if (!sizes_.empty()) at.push_back(loop::At(column));

    const Value first = b.Mul(block[0], b.Index(kPiece));
    const Value end = b.Min(b.Add(first, b.Index(kPiece)), b.Index(terms_));
    const Value sum =
        AddSlices(b, lane, SumOf(b, at, b.Add(first, slice), b.Select(exists, end, b.Index(0))));
    b.If(b.And(exists, b.Compare("eq", slice, b.Index(0))),
         [&] { store(block[0], b.Add(b.Mul(block[1], b.Index(columns)), column), at, sum); });
  }

  // Of every kSlices-th term from `begin` on.  The place among the terms is carried along, digit by
  // digit, since divisions would take longer than the sum.
  Value SumOf(Builder& b, const Indices& at, Value begin, Value end) {
    ContractionIndex index = view_.OfResult(b, at);
    Values state = loop::Delinearize(b, begin, view_.k());
    state.insert(state.begin(), b.Constant(accumulator_, 0));
    const auto take = [&](Value, absl::Span<const Value> carried) {
      index.k.clear();
      for (Value digit : carried.subspan(1)) index.k.push_back(loop::At(digit));
      const auto lhs = view_.Lhs(b, index), rhs = view_.Rhs(b, index);
      const auto add = [&] {
        const Value x = Read(b, 0, lhs.at), y = Read(b, 1, rhs.at);
        return Values{ir::IsFloat(accumulator_) ? b.Fma(x, y, carried[0])
                                                : b.Add(b.Mul(x, y), carried[0])};
      };
      Values next =
          lhs.inside ? b.IfElse(lhs.inside, add, [&] { return Values{carried[0]}; }) : add();
      for (Value digit : Advanced(b, carried.subspan(1))) next.push_back(digit);
      return next;
    };
    return b.For(begin, end, kSlices, std::move(state), take)[0];
  }

  // The place kSlices terms further on.
  Values Advanced(Builder& b, absl::Span<const Value> digits) const {
    Values next(digits.begin(), digits.end());
    Dim left(kSlices);
    Value carry;
    for (size_t d = next.size(); d-- > 0;) {
      const Dim size = Max(view_.k()[d], 1);
      next[d] = b.Add(next[d], b.Index(d == 0 ? left : Mod(left, size)));
      if (carry) next[d] = b.Add(next[d], carry);
      if (d == 0) break;
      const Value wraps = b.Compare("ge", next[d], b.Index(size));
      carry = b.Select(wraps, b.Index(1), b.Index(0));
      next[d] = b.Select(wraps, b.Sub(next[d], b.Index(size)), next[d]);
      left = FloorDiv(left, size);
    }
    return next;
  }

  Value Read(Builder& b, int operand, const Indices& at) {
    return b.Convert(phases_.Read(b, view_.root().operand(operand), at), accumulator_);
  }

  // In order, in every slice's threads.
  Value AddSlices(Builder& b, Value lane, Value part) const {
    const Value shared = b.AllocateShared(accumulator_, kSlices * kWarpThreads);
    b.Store(shared, b.ThreadIndex(), part);
    b.Barrier();
    Value sum = b.Load(shared, accumulator_, lane);
    for (int64_t s = 1; s < kSlices; ++s) {
      sum = b.Add(sum, b.Load(shared, accumulator_, b.Add(lane, b.Index(s * kWarpThreads))));
    }
    return sum;
  }

  const ContractionView& view_;
  Phases& phases_;
  const Dims& sizes_;
  const Dim terms_, pieces_, results_;
  DType accumulator_;
  int sums_ = -1;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitLongSum(const ir::Node& fusion, const std::string& name) {
  const ir::Graph& region = fusion.region();
  TEKTITE_ASSIGN_OR_RETURN(const ContractionView view, ContractionView::Create(region));
  TEKTITE_RETURN_IF_ERROR(CheckResults(region, view.root()));
  if (!view.HasFewFeatures() || view.HasShortSums()) {
    return Unimplemented(view.root().Describe(), ": no long sums for few results");
  }
  Phases phases(fusion, name);
  LongSumEmitter(view, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
