// Running sums, products and extremes along a dimension.
//
// Along the innermost dimension a group of threads takes a row, some neighbours a thread at a time.
// Along another one each thread walks down a column, and threads stand side by side.
// What is long is cut into pieces: a first phase works out each piece's total, a second one begins
// each piece with the totals before it.
//
// Limits: no epilogue.
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/reduction/group_scan.h"
#include "backends/gpu/emit/reduction/thread_group.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/reducer.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

// Elements of a piece of a row, and of a column; a row up to which a warp takes it.
constexpr int64_t kRowPiece = 4096, kColumnPiece = 256, kWarpRow = 256;
constexpr int kBlockThreads = 256;
// Neighbours that a thread of a long row takes at once.
constexpr int64_t kItems = 4;

class CumulativeEmitter {
 public:
  CumulativeEmitter(const Node& root, Phases* phases)
      : root_(root),
        phases_(*phases),
        dimension_(static_cast<size_t>(root.Int(Attr::dimension))),
        accumulator_(loop::AccumulatorOf(root.shape().dtype())) {
    const Dims& sizes = root.shape().dims();
    const auto at = sizes.begin() + static_cast<int64_t>(dimension_);
    before_.assign(sizes.begin(), at);
    after_.assign(at + 1, sizes.end());
    length_ = *at;
    outer_ = Product(before_);
    inner_ = Product(after_);
    piece_ = is_row() ? kRowPiece : kColumnPiece;
    pieces_ = CeilDiv(length_, piece_);
    if (length_.value_or(piece_ + 1) <= piece_) pieces_ = 1;
  }

  void Run() {
    if (pieces_ != Dim(1)) {
      totals_ = phases_.AddScratch(accumulator_, outer_ * pieces_ * inner_);
      phases_.Add([&](loop::Builder& b) { EmitPieces(b, /*stores=*/false); });
    }
    phases_.Add([&](loop::Builder& b) { EmitPieces(b, /*stores=*/true); });
  }

 private:
  bool is_row() const { return inner_ == Dim(1); }

  void EmitPieces(loop::Builder& b, bool stores) {
    if (is_row()) {
      EmitRows(b, stores);
    } else {
      EmitColumns(b, stores);
    }
  }

  GroupReduction Reduction(loop::Builder& b, int threads) const {
    return GroupReduction(&b, root_.String(Attr::reducer), accumulator_, threads);
  }

  // Element `k` in the order of the sums.
  Indices At(loop::Builder& b, Value outer, Value k, Value inner) const {
    Indices at;
    for (Value v : loop::Delinearize(b, outer, before_)) at.push_back(loop::At(v));
    if (root_.Bool(Attr::reverse)) k = b.Sub(b.Index(length_ - Dim(1)), k);
    at.push_back(loop::At(k));
    for (Value v : loop::Delinearize(b, inner, after_)) at.push_back(loop::At(v));
    return at;
  }
  Value Read(loop::Builder& b, const Indices& at) {
    return b.Convert(phases_.Read(b, root_.operand(0), at), accumulator_);
  }
  void Store(loop::Builder& b, const Indices& at, Value v) {
    loop::ElementEmitter e(&b, 1);
    e.StoreAt(phases_.Result(b, root_, 0), root_.shape(), at, b.Convert(v, root_.shape().dtype()));
  }

  struct Piece {
    Value number, begin, end;
  };
  Piece PieceOf(loop::Builder& b, Value number) const {
    const Value begin = b.Mul(number, b.Index(piece_));
    return {number, begin, b.Min(b.Add(begin, b.Index(piece_)), b.Index(length_))};
  }

  void EmitRows(loop::Builder& b, bool stores) {
    ThreadGroup group;
    if (length_.value_or(kWarpRow + 1) > kWarpRow) group.threads = kBlockThreads;
    const bool exclusive = root_.Bool(Attr::exclusive);
    const int64_t items = length_.value_or(kWarpRow) > kWarpThreads ? kItems : 1;
    ForEachGroup(b, group, outer_ * pieces_, [&](Value unit, Value member) {
      const Value row = b.Div(unit, b.Index(pieces_));
      const Piece piece = PieceOf(b, b.Sub(unit, b.Mul(row, b.Index(pieces_))));
      const GroupReduction reduction = Reduction(b, group.threads);
      const GroupScan scan(&b, &reduction, stores ? group.threads : kWarpThreads);
      Value running = reduction.Identity(1);
      if (stores && pieces_ != Dim(1)) {
        const Value first = b.Mul(row, b.Index(pieces_));
        running = b.For(member, piece.number, group.threads, {running},
                        [&](Value p, absl::Span<const Value> carried) {
                          const Value total =
                              b.Load(phases_.Scratch(totals_), accumulator_, b.Add(first, p));
                          return Values{reduction.Combine(carried[0], total)};
                        })[0];
        running = Reduction(b, group.threads).Total(running);
      }
      running = b.For(
          piece.begin, piece.end, group.threads * items, {running},
          [&](Value k, absl::Span<const Value> carried) {
            const Value first = b.Add(k, b.Mul(member, b.Index(items)));
            // Of this thread's elements up to each.
            Values sums, inside;
            for (int64_t i = 0; i < items; ++i) {
              const Value own = b.Add(first, b.Index(i));
              inside.push_back(b.Compare("lt", own, piece.end));
              const Value x = b.IfElse(
                  inside.back(), [&] { return Values{Read(b, At(b, row, own, b.Index(0)))}; },
                  [&] { return Values{reduction.Identity(1)}; })[0];
              sums.push_back(i == 0 ? x : reduction.Combine(sums.back(), x));
            }
            if (!stores) return Values{reduction.Combine(carried[0], sums.back())};
            const GroupScan::Prefix prefix = scan.Run(sums.back());
            const Value before = reduction.Combine(carried[0], prefix.before);
            for (int64_t i = 0; i < items; ++i) {
              const int64_t last = exclusive ? i - 1 : i;
              const Value result =
                  last < 0 ? before : reduction.Combine(before, sums[static_cast<size_t>(last)]);
              b.If(inside[static_cast<size_t>(i)],
                   [&] { Store(b, At(b, row, b.Add(first, b.Index(i)), b.Index(0)), result); });
            }
            return Values{reduction.Combine(carried[0], prefix.total)};
          })[0];
      if (stores) return;
      const Value total = reduction.Total(running);
      b.If(b.Compare("eq", member, b.Index(0)),
           [&] { b.Store(phases_.Scratch(totals_), unit, total); });
    });
  }

  void EmitColumns(loop::Builder& b, bool stores) {
    const bool exclusive = root_.Bool(Attr::exclusive);
    ForEachThread(b, outer_ * pieces_ * inner_, [&](Value unit) {
      const Values at = loop::Delinearize(b, unit, {outer_, pieces_, inner_});
      const Piece piece = PieceOf(b, at[1]);
      const GroupReduction reduction = Reduction(b, kWarpThreads);
      Value running = reduction.Identity(1);
      if (stores && pieces_ != Dim(1)) {
        const Value first = b.Sub(unit, b.Mul(piece.number, b.Index(inner_)));
        running = b.For(b.Index(0), piece.number, 1, {running},
                        [&](Value p, absl::Span<const Value> carried) {
                          const Value total = b.Load(phases_.Scratch(totals_), accumulator_,
                                                     b.Add(first, b.Mul(p, b.Index(inner_))));
                          return Values{reduction.Combine(carried[0], total)};
                        })[0];
      }
      running = b.For(piece.begin, piece.end, 1, {running},
                      [&](Value k, absl::Span<const Value> carried) {
                        const Indices here = At(b, at[0], k, at[2]);
                        const Value next = reduction.Combine(carried[0], Read(b, here));
                        if (stores) Store(b, here, exclusive ? carried[0] : next);
                        return Values{next};
                      })[0];
      if (!stores) b.Store(phases_.Scratch(totals_), unit, running);
    });
  }

  const Node& root_;
  Phases& phases_;
  const size_t dimension_;
  const ir::DType accumulator_;
  Dims before_, after_;
  Dim length_, outer_, inner_, pieces_;
  int64_t piece_ = 1;
  int totals_ = -1;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitCumulative(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != ir::Op::kCumulative) return Unimplemented("no cumulative");
  Phases phases(fusion, name);
  CumulativeEmitter(*root, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
