// select_and_scatter, the gradient of max pooling: each window's first greatest element receives
// the window's value.
//
//   select_and_scatter(%x: f32[8,26,26,32], %dy: f32[8,13,13,32]), window = [1,2,2,1], ...
//
// The image is cut into tiles of a stride, so that each element is written once, by the tile it
// lies in, and the epilogue (the mask of a ReLU) is computed before the store.  A window begins in
// its tile.  Where no window is longer than its stride, a tile needs its own choice only; otherwise
// it needs those of some tiles before it, which are kept in scratch for as many rows of windows as
// reach into a row of tiles.  window_choice.h says what a choice is.
//
// Vectors run along the innermost dimension when the windows leave it alone; otherwise elements are
// computed one by one.  Sums are in the order of the windows, f16 and bf16 in f32.

#include <algorithm>

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/window_choice.h"
#include "backends/cpu/loops/window_epilogue.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

// A unit of work in which windows overlap chooses some rows that its neighbour chooses too, so it
// takes this long at least.
constexpr double kLeastUnitNs = 20000;

class WindowGradientEmitter {
 public:
  WindowGradientEmitter(const Node& fusion, const Node& root, const Target& target)
      : region_(fusion.region()),
        root_(root),
        axes_(WindowAxesOf(root)),
        rank_(root.shape().rank()),
        vectorized_(axes_.back().is_plain() && axes_.back().size.value_or(2) > 1),
        lanes_(vectorized_ ? RegionLanes(region_, target) : 1),
        choice_(root, axes_, vectorized_, lanes_) {
    for (const WindowAxis& a : axes_) {
      if (a.overlap > 0 && ring_ < 0) ring_ = static_cast<int>(&a - axes_.data());
    }
  }

  absl::StatusOr<EmittedKernel> Run(const Node& fusion, const Target& target,
                                    const std::string& name) {
    EmittedKernel result;
    result.kernel = MakeKernel(fusion, name);
    const double cycles = 1.6 * static_cast<double>(choice_.elements()) / lanes_;
    result.cost = ElementwiseCost(region_, target) +
                  Cost(root_.operand_shape(1).NumElements(), target.ns(cycles));
    loop::Builder b(result.kernel.get());
    b_ = &b;
    ElementEmitter emitter(&b, lanes_);
    e_ = &emitter;
    choice_.EmitInto(&emitter);
    BindParameters(emitter, region_);
    if (ring_ < 0) {
      EmitApart(&result);
    } else {
      EmitOverlapping(&result);
    }
    TEKTITE_RETURN_IF_ERROR(emitter.status());
    return result;
  }

 private:
  // A tile's values of a window that reaches into it.
  struct Seen {
    Value choice, dy;
  };

  Dims Tiles(int end) const {
    Dims tiles;
    for (int d = 0; d < end; ++d) tiles.push_back(axes_[d].tiles);
    return tiles;
  }
  Dim IfNotEmpty() const { return Min(root_.shape().NumElements(), 1); }
  Value Zero() const { return b_->Splat(b_->Constant(choice_.dtype(), 0), lanes_); }

  // ---- windows that do not overlap: a unit is a row of tiles, or a tile

  void EmitApart(EmittedKernel* result) {
    loop::Builder& b = *b_;
    // Few rows share their tiles out.
    constexpr int64_t kFewRows = 64;
    const int inner = vectorized_ ? 1 : 0;
    int outer = std::max(rank_ - inner - 1, 0);
    if (Product(Tiles(outer)).value_or(kFewRows) < kFewRows) outer = rank_ - inner;
    const Dims rows = Tiles(outer);
    const Dim units = Product(rows) * IfNotEmpty();
    const Dim per_chunk = UnitsPerChunk(units, result->cost);
    result->num_chunks = CeilDiv(units, per_chunk);
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      std::vector<Value> tile = Delinearize(b, unit, rows);
      EmitTiles(&tile);
    });
  }

  // All tiles that begin with `tile`.
  void EmitTiles(std::vector<Value>* tile) {
    loop::Builder& b = *b_;
    const size_t d = tile->size();
    if (static_cast<int>(d) == rank_) return EmitTile(*tile);
    auto next = [&](Value at, Value mask) {
      mask_ = mask;
      tile->push_back(at);
      EmitTiles(tile);
      tile->pop_back();
    };
    if (vectorized_ && static_cast<int>(d) + 1 == rank_) {
      return ForEachVector(b, axes_[d].size, lanes_, next);
    }
    b.For(b.Index(0), b.Index(axes_[d].tiles), 1, [&](Value at) { next(at, {}); });
  }

  // ---- windows that overlap: a unit is a block of rows of tiles

  void EmitOverlapping(EmittedKernel* result) {
    loop::Builder& b = *b_;
    const WindowAxis& axis = axes_[ring_];
    Dims outer = Tiles(ring_);
    const Dim row_cost = FloorDiv(result->cost, Max(Product(outer) * axis.tiles, 1));
    const Dim least = Max(FloorDiv(Cost(1, kLeastUnitNs), Max(row_cost, 1)), 4 * axis.overlap);
    const double shared_ns =
        0.5 * static_cast<double>(axis.overlap * row_cost.value_or(0)) / kCostPerNs;
    const Dim block = EvenBlock({Product(outer), axis.tiles, least, row_cost, shared_ns});
    outer.push_back(CeilDiv(axis.tiles, block));
    const Dim units = Product(outer) * IfNotEmpty();
    const Dim per_chunk = UnitsPerChunk(units, result->cost);
    result->num_chunks = CeilDiv(units, per_chunk);

    Dim plane(1);
    for (int d = ring_ + 1; d < rank_; ++d) plane = plane * PlaneSize(d);
    choices_ = b.AllocateScratch(DType::kS32, Dim(axis.overlap + 1) * plane);
    // No window at all: its value is not used, but read.
    if (root_.operand_shape(1).NumElements().value_or(0) <= 0) {
      const int x = static_cast<int>(root_.operand(0).node->Int(Attr::index));
      const int dy = static_cast<int>(root_.operand(1).node->Int(Attr::index));
      const Value any = b.Compare("gt", b.Index(root_.operand_shape(1).NumElements()), b.Index(0));
      e_->BindBuffer(root_.operand(1), b.Select(any, b.Buffer(dy), b.Buffer(x)));
    }
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      std::vector<Value> tile = Delinearize(b, unit, outer);
      Value first = b.Mul(tile.back(), b.Index(block));
      Value last = b.Min(b.Add(first, b.Index(block)), b.Index(axis.tiles));
      tile.pop_back();
      b.For(b.Sub(first, b.Index(axis.overlap)), last, 1, [&](Value row) {
        ChooseRow(tile, row);
        b.If(b.Compare("ge", row, first), [&] {
          std::vector<Value> from = tile;
          from.push_back(row);
          EmitTiles(&from);
        });
      });
    });
  }

  // Choices kept along a dimension behind the ring's: those before the first tile are none.
  Dim PlaneSize(int d) const {
    const WindowAxis& a = axes_[d];
    if (vectorized_ && d + 1 == rank_) return CeilDiv(a.size, lanes_) * Dim(lanes_);
    return a.tiles + Dim(a.overlap);
  }

  // Where the choice of the window that begins in a tile is kept.  The tile's indices from the
  // ring's dimension on may be as many as `overlap` before the first.
  Value ChoiceAt(const std::vector<Value>& tile) const {
    loop::Builder& b = *b_;
    const int64_t overlap = axes_[ring_].overlap;
    Value at = b.Rem(b.Add(tile[ring_], b.Index(overlap)), b.Index(overlap + 1));
    for (int d = ring_ + 1; d < rank_; ++d) {
      at = b.Add(b.Mul(at, b.Index(PlaneSize(d))), b.Add(tile[d], b.Index(axes_[d].overlap)));
    }
    return at;
  }

  void ChooseRow(const std::vector<Value>& outer, Value row) {
    loop::Builder& b = *b_;
    std::vector<Value> tile = outer;
    tile.push_back(row);
    Value exists = b.Int(DType::kBool, 1);
    for (int d = 0; d <= ring_; ++d) exists = b.And(exists, HasPlace(d, tile[d]));
    b.If(
        exists, [&] { ChooseFrom(&tile, true); }, [&] { ChooseFrom(&tile, false); });
  }

  Value HasPlace(int d, Value at) const {
    loop::Builder& b = *b_;
    const WindowAxis& a = axes_[d];
    Value has = b.Int(DType::kBool, 1);
    if (a.overlap > 0) has = b.And(has, b.Compare("ge", at, b.Index(0)));
    if (!a.tiles_have_places) has = b.And(has, b.Compare("lt", at, b.Index(a.places)));
    return has;
  }

  void ChooseFrom(std::vector<Value>* tile, bool exists) {
    loop::Builder& b = *b_;
    const int d = static_cast<int>(tile->size());
    auto keep = [&](Value choice) { b.Store(choices_, ChoiceAt(*tile), choice); };
    if (d == rank_) {
      if (!exists) return keep(choice_.Number(b.Index(-1)));
      Value has = b.Int(DType::kBool, 1);
      for (int i = ring_ + 1; i < rank_; ++i) {
        if (!axes_[i].is_plain()) has = b.And(has, HasPlace(i, (*tile)[i]));
      }
      return keep(b.IfElse(
          has, [&] { return std::vector<Value>{choice_.Choose(*tile, mask_)}; },
          [&] { return std::vector<Value>{choice_.Number(b.Index(-1))}; })[0]);
    }
    auto next = [&](Value at, Value mask) {
      mask_ = mask;
      tile->push_back(at);
      ChooseFrom(tile, exists);
      tile->pop_back();
    };
    if (vectorized_ && d + 1 == rank_) return ForEachVector(b, axes_[d].size, lanes_, next);
    b.For(b.Index(-axes_[d].overlap), b.Index(axes_[d].tiles), 1, [&](Value at) { next(at, {}); });
  }

  // ---- one tile

  void EmitTile(const std::vector<Value>& tile) {
    seen_.clear();
    if (ring_ < 0) {
      loop::Builder& b = *b_;
      Value has = b.Int(DType::kBool, 1);
      for (int d = 0; d < rank_; ++d) {
        if (!axes_[d].is_plain()) has = b.And(has, HasPlace(d, tile[d]));
      }
      auto seen = b.IfElse(
          has,
          [&] {
            e_->Clear();
            e_->SetMask(mask_);
            Value dy = choice_.Read(1, tile);
            return std::vector<Value>{choice_.Choose(tile, mask_), dy};
          },
          [&] {
            return std::vector<Value>{choice_.Number(b.Index(-1)), Zero()};
          });
      seen_.push_back({seen[0], seen[1]});
    } else if (choice_.is_unrolled()) {
      std::vector<Value> distance;
      SeeAll(tile, &distance);
    }
    std::vector<Value> offset;
    EmitPositions(tile, &offset, b_->Int(DType::kBool, 1));
  }

  // Reads once what several elements of the tile need, in the order of their distances.
  void SeeAll(const std::vector<Value>& tile, std::vector<Value>* distance) {
    const size_t d = distance->size();
    if (static_cast<int>(d) == rank_) {
      seen_.push_back(See(tile, *distance));
      return;
    }
    for (int64_t j = 0; j <= axes_[d].overlap; ++j) {
      distance->push_back(b_->Index(j));
      SeeAll(tile, distance);
      distance->pop_back();
    }
  }

  // The window that begins so many tiles before.
  Seen See(const std::vector<Value>& tile, const std::vector<Value>& distance) {
    loop::Builder& b = *b_;
    std::vector<Value> from, place;
    for (int d = 0; d < rank_; ++d) {
      const WindowAxis& a = axes_[d];
      from.push_back(b.Sub(tile[d], distance[d]));
      Value at = from.back();
      if (!a.tiles_have_places) at = b.Min(at, b.Index(a.places - Dim(1)));
      if (a.overlap > 0 || !a.tiles_have_places) at = b.Max(at, b.Index(0));
      place.push_back(at);
    }
    e_->Clear();
    e_->SetMask(mask_);
    return {b.Load(choices_, DType::kS32, ChoiceAt(from), lanes_), choice_.Read(1, place)};
  }

  Value Position(int d, Value tile, Value offset) const {
    return b_->Add(choice_.Start(d, tile), offset);
  }

  // All elements of the tile whose places in it begin with `offset`.
  void EmitPositions(const std::vector<Value>& tile, std::vector<Value>* offset, Value inside) {
    loop::Builder& b = *b_;
    const size_t d = offset->size();
    if (static_cast<int>(d) == rank_) {
      return b.If(inside, [&] {
        std::vector<Value> index, distance, number;
        for (int i = 0; i < rank_; ++i) index.push_back(Position(i, tile[i], (*offset)[i]));
        Value sum = AddWindows(tile, *offset, &distance, b.Index(0), Zero());
        e_->SetMask(mask_);
        StoreResults(*e_, region_, root_, b.Convert(sum, root_.shape().dtype()), index);
        e_->UnbindValue(ir::Value{const_cast<Node*>(&root_), 0});
      });
    }
    const WindowAxis& a = axes_[d];
    b.For(
        b.Index(0), b.Index(a.stride), 1,
        [&](Value i) {
          Value still = inside;
          if (!a.tiles_inside) {
            Value at = Position(static_cast<int>(d), tile[d], i);
            if (a.low > 0) still = b.And(still, b.Compare("ge", at, b.Index(0)));
            still = b.And(still, b.Compare("lt", at, b.Index(a.size)));
          }
          offset->push_back(i);
          EmitPositions(tile, offset, still);
          offset->pop_back();
        },
        choice_.Unrolled(a.stride));
  }

  // Adds the values of all windows that have chosen the element at `offset` of the tile, in the
  // order of the windows; `number` is the element's in a window so far.
  Value AddWindows(const std::vector<Value>& tile, const std::vector<Value>& offset,
                   std::vector<Value>* distance, Value number, Value sum) {
    loop::Builder& b = *b_;
    const int d = static_cast<int>(distance->size());
    if (d == rank_) {
      const Seen seen = SeenAt(tile, *distance);
      Value chosen = b.Compare("eq", seen.choice, choice_.Number(number));
      return b.Add(sum, b.Select(chosen, seen.dy, Zero()));
    }
    const WindowAxis& a = axes_[d];
    Value room = b.Add(b.Sub(b.Index(a.window - 1), offset[d]), b.Index(a.stride));
    Value count = b.Div(room, b.Index(a.stride));
    loop::Builder::ForOptions options;
    if (count.IsConstantIndex())
      options = choice_.Unrolled(std::max<int64_t>(count.constant_index(), 1));
    return b.For(
        b.Index(0), count, 1, {sum},
        [&](Value i, absl::Span<const Value> carried) {
          Value j = b.Sub(b.Sub(count, b.Index(1)), i);
          distance->push_back(j);
          Value within = b.Add(offset[d], b.Mul(j, b.Index(a.stride)));
          Value next = b.Add(b.Mul(number, b.Index(a.window)), within);
          Value s = AddWindows(tile, offset, distance, next, carried[0]);
          distance->pop_back();
          return std::vector<Value>{s};
        },
        options)[0];
  }

  Seen SeenAt(const std::vector<Value>& tile, const std::vector<Value>& distance) {
    if (seen_.empty()) return See(tile, distance);
    int64_t at = 0;
    for (int d = 0; d < rank_; ++d) {
      const int64_t j = axes_[d].overlap > 0 ? distance[d].constant_index() : 0;
      at = at * (axes_[d].overlap + 1) + j;
    }
    return seen_[at];
  }

  const ir::Graph& region_;
  const Node& root_;
  const std::vector<WindowAxis> axes_;
  const int rank_;
  const bool vectorized_;
  const int lanes_;
  WindowChooser choice_;
  int ring_ = -1;  // the first dimension in which windows overlap

  loop::Builder* b_ = nullptr;
  ElementEmitter* e_ = nullptr;
  Value mask_, choices_;
  std::vector<Seen> seen_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitWindowGradient(const Node& fusion, const Target& target,
                                                 const std::string& name) {
  const Node* root = FindRoot(fusion.region(), Op::kSelectAndScatter);
  if (root == nullptr) return Unimplemented("a window fusion without select_and_scatter");
  if (root->shape().rank() == 0) return Unimplemented(root->Describe(), ": a scalar");
  TEKTITE_RETURN_IF_ERROR(CheckResults(fusion.region(), *root));
  return WindowGradientEmitter(fusion, *root, target).Run(fusion, target, name);
}

}  // namespace tektite::cpu
