// Reductions over any dimensions, in a fixed order.
//
// If the innermost dimension is reduced, a group of threads (a warp, or a block for long ones)
// reads the terms of one result side by side.  Otherwise threads stand side by side along the
// innermost kept dimension, each with up to 16 bytes of neighbours, and a block's slices of terms
// are added up through shared memory (term_sums.h).
//
// Where that would be few blocks with many terms, blocks take pieces of the terms (reduce_cut.h),
// and a second launch adds up what they have found and computes the epilogue.
#include <utility>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/reduction/group_reduction.h"
#include "backends/gpu/emit/reduction/reduce_cut.h"
#include "backends/gpu/emit/reduction/term_sums.h"
#include "backends/gpu/emit/reduction/thread_group.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/reduce_space.h"
#include "jit/llvm/emit/reducer.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

using Reductions = std::vector<GroupReduction>;
using Values = std::vector<Value>;

// Words that a thread accumulates, if it is one of many on a multiprocessor.
constexpr int64_t kFewWords = 8;

// A place where a block's threads stand: of which piece, row and column.
struct Place {
  Value piece, row, column, slice, exists;
  bool always_exists = false;
};

Place PlaceOf(loop::Builder& b, const ColumnTile& tile, const Dim& pieces, const Dim& rows,
              const Dim& columns) {
  const Dim strips = CeilDiv(columns, tile.width());
  b.kernel()->launch.threads = tile.threads();
  b.kernel()->launch.blocks = pieces * rows * strips;
  const Values block = loop::Delinearize(b, b.BlockIndex(), {pieces, rows, strips});
  const Value lane = b.Rem(b.ThreadIndex(), b.Index(tile.across));
  Place place;
  place.piece = block[0];
  place.row = block[1];
  place.slice = b.Div(b.ThreadIndex(), b.Index(tile.across));
  place.column = b.Add(b.Mul(block[2], b.Index(tile.width())), b.Mul(lane, b.Index(tile.lanes)));
  place.always_exists = Mod(columns, tile.width()) == Dim(0);
  place.exists = place.always_exists ? b.Int(ir::DType::kBool, 1)
                                     : b.Compare("lt", place.column, b.Index(columns));
  return place;
}

// Whether elements of the space may be named by an index in the last reduced dimension alone, which
// counts through all of them: they lie side by side, and nothing asks for one of the others.
bool MayJoinReduced(const ir::Graph& region, const loop::ReduceSpace& plan) {
  int runs = 0;
  for (size_t d = 0; d < plan.reduced.size(); ++d) {
    runs += plan.reduced[d] && (d == 0 || !plan.reduced[d - 1]) ? 1 : 0;
  }
  if (runs != 1) return false;
  for (const auto& node : region.nodes()) {
    const Op op = node->op();
    if (op == Op::kParameter || op == Op::kConstant || op == Op::kReduce) continue;
    if (op == Op::kBroadcastInDim) {
      if (node->shape().dims() != plan.space) continue;
      for (int64_t d : node->Ints(Attr::dimensions)) {
        if (plan.reduced[static_cast<size_t>(d)]) return false;
      }
    } else if (!ir::IsElementwise(op)) {
      return false;
    }
  }
  return true;
}

class ReduceEmitter {
 public:
  ReduceEmitter(const loop::ReduceSpace& plan, Phases* phases)
      : region_(phases->region()),
        plan_(plan),
        phases_(*phases),
        work_(WorkOf(region_, plan)),
        joins_(MayJoinReduced(region_, plan)),
        results_(Product(plan.kept_sizes)) {
    if (plan.inner_kept) {
      tile_ = ChooseTile(plan, work_);
      pieces_ = CutColumns(plan, tile_, work_);
    } else {
      group_ = ChooseGroup(region_, plan.reduced_sizes);
      pieces_ = CutRows(plan, work_, &group_);
    }
  }

  void Run() {
    if (pieces_.is_cut()) {
      for (const Node* r : plan_.reduces) {
        const ir::DType dtype = loop::AccumulatorOf(r->operand_shape(0).dtype());
        parts_.push_back(phases_.AddScratch(dtype, pieces_.count * results_));
      }
    }
    phases_.Add([&](loop::Builder& b) {
      plan_.inner_kept ? EmitColumns(b) : EmitGroups(b);
      const int64_t words = work_.words * (plan_.inner_kept ? tile_.lanes : group_.vector);
      if (work_.is_light && words <= kFewWords) HoldManyThreads(&b.kernel()->launch);
    });
    if (pieces_.is_cut()) phases_.Add([&](loop::Builder& b) { AddPieces(b); });
  }

 private:
  Reductions MakeReductions(loop::Builder& b, int threads) const {
    Reductions all;
    for (const Node* r : plan_.reduces) {
      all.emplace_back(&b, r->String(Attr::reducer), r->operand_shape(0).dtype(), threads);
    }
    return all;
  }

  ElementEmitter MakeEmitter(loop::Builder& b, int64_t lanes) const {
    ElementEmitter e(&b, static_cast<int>(lanes));
    loop::BindParameters(e, region_);
    return e;
  }

  Indices IndexOf(loop::Builder& b, Value linear, const ir::Dims& sizes) const {
    Indices at;
    for (Value v : loop::Delinearize(b, linear, sizes)) at.push_back(loop::At(v));
    return at;
  }

  Indices ReducedAt(loop::Builder& b, Value term) const {
    if (!joins_) return IndexOf(b, term, plan_.reduced_sizes);
    // Offsets leave out dimensions of one element.
    size_t last = plan_.reduced_sizes.size() - 1;
    while (last > 0 && plan_.reduced_sizes[last] == Dim(1)) --last;
    Indices at(plan_.reduced_sizes.size(), loop::At(b.Index(0)));
    at[last] = loop::At(term);
    return at;
  }

  // Of the terms of one thread, whose emitter has lanes along the terms or along the columns.
  Values Accumulate(ElementEmitter& e, const Reductions& reductions, const Indices& kept,
                    const TermRange& range) const {
    const bool along_terms = e.lanes() > 1 && !plan_.inner_kept;
    return ReduceTerms(e.builder(), reductions, e.lanes(), range, [&](Value term) {
      e.Clear();
      Indices reduced = ReducedAt(e.builder(), term);
      if (along_terms) reduced.back().coefficient = 1;
      const Indices at = plan_.SpaceIndex(kept, reduced);
      Values taken;
      for (const Node* r : plan_.reduces) taken.push_back(e.EmitVector(r->operand(0), at));
      return taken;
    });
  }

  // A block's totals, accumulators of `lanes` neighbours from `result` on: the region's results, or
  // parts of them.
  void Store(loop::Builder& b, const Reductions& reductions, Values totals, Value piece,
             Value result, Indices kept, int64_t lanes) {
    if (pieces_.is_cut()) {
      const Value at = b.Add(b.Mul(piece, b.Index(results_)), result);
      for (size_t r = 0; r < totals.size(); ++r) {
        b.Store(phases_.Scratch(parts_[r]), at, totals[r]);
      }
    } else {
      if (lanes > 1) kept.back().coefficient = 1;
      StoreOutputs(b, reductions, std::move(totals), kept, lanes);
    }
  }

  void StoreOutputs(loop::Builder& b, const Reductions& reductions, const Values& totals,
                    const Indices& kept, int64_t lanes) {
    ElementEmitter e = MakeEmitter(b, lanes);
    for (size_t r = 0; r < totals.size(); ++r) {
      e.BindValue(ir::Value{const_cast<Node*>(plan_.reduces[r]), 0},
                  reductions[r].Narrow(totals[r]));
    }
    for (size_t o = 0; o < region_.outputs().size(); ++o) {
      const ir::Value v = region_.outputs()[o];
      e.StoreAt(b.Buffer(loop::OutputBuffer(region_, o)), v.shape(), kept, e.Emit(v, kept));
    }
    phases_.Note(e.status());
  }

  TermRange RangeOf(loop::Builder& b, Value piece, Value first, int64_t step) const {
    TermRange range;
    range.begin = b.Add(pieces_.Begin(b, piece), first);
    range.end = pieces_.End(b, piece);
    range.step = step;
    range.most = pieces_.length();
    range.full = pieces_.are_equal();
    range.together = work_.together;
    return range;
  }

  void EmitGroups(loop::Builder& b) {
    ForEachGroup(b, group_, results_ * pieces_.count, [&](Value number, Value member) {
      const Values place = loop::Delinearize(b, number, {pieces_.count, results_});
      const Indices kept = IndexOf(b, place[1], plan_.kept_sizes);
      ElementEmitter e = MakeEmitter(b, group_.vector);
      const Reductions reductions = MakeReductions(b, group_.threads);
      const int64_t step = int64_t{group_.threads} * group_.vector;
      Values totals = Accumulate(e, reductions, kept,
                                 RangeOf(b, place[0], b.Mul(member, b.Index(group_.vector)), step));
      phases_.Note(e.status());
      for (size_t r = 0; r < totals.size(); ++r) totals[r] = reductions[r].WideTotal(totals[r]);
      b.If(b.Compare("eq", member, b.Index(0)),
           [&] { Store(b, reductions, totals, place[0], place[1], kept, 1); });
    });
  }

  void EmitColumns(loop::Builder& b) {
    ir::Dims outer = plan_.kept_sizes;
    const Dim columns = outer.back();
    outer.pop_back();
    const Place place = PlaceOf(b, tile_, pieces_.count, Product(outer), columns);
    Indices kept = IndexOf(b, place.row, outer);
    kept.push_back(loop::At(place.column, tile_.lanes > 1 ? 1 : 0));

    ElementEmitter e = MakeEmitter(b, tile_.lanes);
    const Reductions reductions = MakeReductions(b, tile_.threads());
    TermRange range = RangeOf(b, place.piece, place.slice, tile_.slices);
    range.end = b.Select(place.exists, range.end, b.Index(0));
    range.full &= place.always_exists;
    Values totals = Accumulate(e, reductions, kept, range);
    phases_.Note(e.status());
    totals = SumSlices(b, reductions, std::move(totals), place.slice, tile_.slices);
    const Value result = b.Add(b.Mul(place.row, b.Index(columns)), place.column);
    b.If(b.And(place.exists, b.Compare("eq", place.slice, b.Index(0))),
         [&] { Store(b, reductions, totals, place.piece, result, kept, tile_.lanes); });
  }

  // The second launch: partial results are rows of as many columns as there are results.
  void AddPieces(loop::Builder& b) {
    const ColumnTile tile = TileOfPieces(pieces_, results_);
    const Place place = PlaceOf(b, tile, 1, 1, results_);
    const Reductions reductions = MakeReductions(b, tile.threads());
    TermRange range;
    range.begin = place.slice;
    range.end = b.Select(place.exists, b.Index(pieces_.count), b.Index(0));
    range.step = tile.slices;
    range.most = pieces_.count;
    Values totals = ReduceTerms(b, reductions, 1, range, [&](Value piece) {
      const Value at = b.Add(b.Mul(piece, b.Index(results_)), place.column);
      Values taken;
      for (size_t r = 0; r < reductions.size(); ++r) {
        taken.push_back(b.Load(phases_.Scratch(parts_[r]), reductions[r].accumulator(), at));
      }
      return taken;
    });
    totals = SumSlices(b, reductions, std::move(totals), place.slice, tile.slices);
    b.If(b.And(place.exists, b.Compare("eq", place.slice, b.Index(0))), [&] {
      StoreOutputs(b, reductions, totals, IndexOf(b, place.column, plan_.kept_sizes), 1);
    });
  }

  const ir::Graph& region_;
  const loop::ReduceSpace& plan_;
  Phases& phases_;
  const ReduceWork work_;
  const bool joins_;  // reduced dimensions into one
  const Dim results_;
  ColumnTile tile_;    // of columns
  ThreadGroup group_;  // of rows
  Pieces pieces_;
  std::vector<int> parts_;  // of each reduction, if there are pieces
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitReduce(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const loop::ReduceSpace plan,
                           loop::ReduceSpace::Create(fusion.region()));
  Phases phases(fusion, name);
  ReduceEmitter(plan, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
