// reduce_window (pooling, and the gradient of average pooling): vectors run along the innermost
// dimension.  Window positions in the padding, and between elements that are spread out, are never
// visited.
//
// Where all of a small window lies inside, its code has no loops; at the border loops visit what
// does.  Where the windows reach along the innermost dimension too, a vector takes neighbouring
// windows, and elements near the border are computed one by one.  Results over an image that is
// spread out by its dilation come in tiles of the dilation: each result of a tile meets other
// elements of the window, which are known when the code is made.

#include <algorithm>

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/reduction.h"
#include "backends/cpu/loops/window_choice.h"
#include "backends/cpu/loops/window_epilogue.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Rows up to which single results are shared out, and not rows.
constexpr int64_t kFewRows = 64;

// One dimension of the image.
struct Axis {
  int64_t window = 1, stride = 1, low = 0, window_dilation = 1, dilation = 1;
  Dim size, results;
  Dim tiles;                                      // of `dilation` results
  bool starts_inside = true, ends_inside = true;  // every window
  bool reads_first = true;                        // no result lies beyond the last element

  bool is_plain() const { return window == 1 && stride == 1 && low == 0 && dilation == 1; }
};

std::vector<Axis> AxesOf(const Node& root) {
  const int rank = root.shape().rank();
  const ops::WindowDims w = ops::GetWindowDims(rank, root.attrs());
  std::vector<Axis> axes(rank);
  for (int d = 0; d < rank; ++d) {
    Axis& a = axes[d];
    a.window = w.window[d];
    a.stride = w.strides[d];
    a.low = w.low[d];
    a.window_dilation = w.window_dilation[d];
    a.dilation = w.lhs_dilation[d];
    a.size = root.operand_shape(0).dim(d);
    a.results = root.shape().dim(d);
    a.tiles = CeilDiv(a.results, a.dilation);
    const Dim last = (a.results - Dim(1)) * Dim(a.stride) - Dim(a.low);
    const int64_t extent = (a.window - 1) * a.window_dilation;
    a.starts_inside = a.dilation == 1 && a.low <= 0;
    a.ends_inside = a.dilation == 1 && IsAtMost(last + Dim(extent + 1), a.size);
    a.reads_first = IsAtMost(a.results, a.size);
  }
  return axes;
}

// The elements of one dimension that a window holds: `count` from `start` on, `step` apart.
struct Reach {
  Value start, count;
  int64_t step = 1;
};

class WindowEmitter {
 public:
  WindowEmitter(const ir::Graph& region, const Node& root, const Target& target)
      : region_(region), root_(root), axes_(AxesOf(root)), rank_(root.shape().rank()) {
    const Axis& last = axes_.back();
    const bool several = last.results.value_or(2) > 1;
    along_plain_ = several && last.is_plain() && last.reads_first;
    along_windows_ = several && !along_plain_ && last.dilation == 1;
    lanes_ = along_plain_ || along_windows_ ? RegionLanes(region, target) : 1;
    if (along_windows_ && last.results.value_or(lanes_) < lanes_) {
      along_windows_ = false;
      lanes_ = 1;
    }
    for (const Axis& a : axes_) elements_ *= a.window;
    unrolled_ = elements_ <= kMostUnrolled;
  }

  absl::StatusOr<EmittedKernel> Run(const Node& fusion, const Target& target,
                                    const std::string& name) {
    EmittedKernel result;
    result.kernel = MakeKernel(fusion, name);
    const double cycles = 1.2 * static_cast<double>(elements_) / lanes_;
    result.cost =
        ElementwiseCost(region_, target) + Cost(root_.shape().NumElements(), target.ns(cycles));
    Dims rows;
    for (int d = 0; d + 1 < rank_; ++d) rows.push_back(axes_[d].tiles);
    if (!rows.empty() && along_plain_) {
      const Dim inner = rows.back();
      rows.pop_back();
      if (Product(rows).value_or(kFewRows) < kFewRows) rows.push_back(inner);
    }
    const Dim units = Product(rows) * Min(root_.shape().NumElements(), 1);
    const Dim per_chunk = UnitsPerChunk(units, result.cost);
    result.num_chunks = CeilDiv(units, per_chunk);

    loop::Builder b(result.kernel.get());
    b_ = &b;
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      std::vector<Value> tile = Delinearize(b, unit, rows);
      EmitTiles(&tile);
    });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  loop::Builder::ForOptions Unrolled(int64_t trips) const {
    loop::Builder::ForOptions options;
    if (unrolled_) options.unroll = static_cast<int>(trips);
    return options;
  }

  // All tiles that begin with `tile`.
  void EmitTiles(std::vector<Value>* tile) {
    loop::Builder& b = *b_;
    const size_t d = tile->size();
    if (static_cast<int>(d) == rank_) {
      std::vector<Value> index;
      return EmitResults(*tile, &index, b.Int(DType::kBool, 1));
    }
    auto next = [&](Value at, Value mask) {
      mask_ = mask;
      tile->push_back(at);
      EmitTiles(tile);
      tile->pop_back();
    };
    if (static_cast<int>(d) + 1 == rank_ && along_plain_) {
      return ForEachVector(b, axes_[d].results, lanes_, next);
    }
    if (static_cast<int>(d) + 1 == rank_ && along_windows_) return EmitNeighbours(tile);
    b.For(b.Index(0), b.Index(axes_[d].tiles), 1, [&](Value at) { next(at, {}); });
  }

  // A row whose last dimension has windows of its own: vectors of them in the middle, single ones
  // at its ends.
  void EmitNeighbours(std::vector<Value>* tile) {
    loop::Builder& b = *b_;
    const Axis& a = axes_.back();
    const int lanes = lanes_;
    auto from_to = [&](Value begin, Value end, int step) {
      lanes_ = step;
      b.For(begin, end, step, [&](Value at) {
        tile->push_back(at);
        std::vector<Value> index;
        EmitResults(*tile, &index, b.Int(DType::kBool, 1));
        tile->pop_back();
      });
      lanes_ = lanes;
    };
    // Windows of which all lies inside: [first, last).
    const int64_t extent = (a.window - 1) * a.window_dilation;
    const Dim first = Min(CeilDiv(std::max<int64_t>(a.low, 0), a.stride), a.results);
    const Dim room = Max(a.size + Dim(a.low - 1 - extent), -1);
    const Dim last = Max(Min(FloorDiv(room, a.stride) + Dim(1), a.results), first);
    const Dim whole = last - Mod(last - first, lanes);
    from_to(b.Index(0), b.Index(first), 1);
    from_to(b.Index(first), b.Index(whole), lanes);
    from_to(b.Index(whole), b.Index(a.results), 1);
  }

  // All results of the tile whose places begin with `index`.
  void EmitResults(const std::vector<Value>& tile, std::vector<Value>* index, Value inside) {
    loop::Builder& b = *b_;
    const size_t d = index->size();
    if (static_cast<int>(d) == rank_) {
      return b.If(inside, [&] { EmitResult(*index); });
    }
    const Axis& a = axes_[d];
    if (a.dilation == 1) {
      index->push_back(tile[d]);
      reach_.push_back({b.Sub(b.Mul(tile[d], b.Index(a.stride)), b.Index(a.low)), b.Index(a.window),
                        a.window_dilation});
      EmitResults(tile, index, inside);
      reach_.pop_back();
      index->pop_back();
      return;
    }
    const int64_t dilation = a.dilation, low = (a.low % dilation + dilation) % dilation;
    b.For(
        b.Index(0), b.Index(dilation), 1,
        [&](Value i) {
          index->push_back(b.Add(b.Mul(tile[d], b.Index(dilation)), i));
          Value exists = inside;
          if (Mod(a.results, dilation) != Dim(0)) {
            exists = b.And(exists, b.Compare("lt", index->back(), b.Index(a.results)));
          }
          // The first of the window's places that holds an element, and which.
          Value place = b.Rem(b.Sub(b.Index(low + dilation), i), b.Index(dilation));
          Value shift = b.Div(b.Add(b.Sub(i, b.Index(a.low)), place), b.Index(dilation));
          Value count = b.Div(b.Sub(b.Index(a.window - 1 + dilation), place), b.Index(dilation));
          reach_.push_back({b.Add(tile[d], shift), count, 1});
          EmitResults(tile, index, exists);
          reach_.pop_back();
          index->pop_back();
        },
        Unrolled(dilation));
  }

  void EmitResult(const std::vector<Value>& index) {
    loop::Builder& b = *b_;
    ElementEmitter e(&b, lanes_);
    e_ = &e;
    BindParameters(e, region_);
    e.SetMask(mask_);
    const Reduction reduction(&b, root_.String(Attr::reducer), root_.shape().dtype(), lanes_);
    Value inside = b.Int(DType::kBool, 1);
    for (int d = 0; d < rank_; ++d) {
      const Axis& a = axes_[d];
      const Reach& r = reach_[d];
      if (d + 1 == rank_ && (along_plain_ || (along_windows_ && lanes_ > 1))) continue;
      if (!a.starts_inside) inside = b.And(inside, b.Compare("ge", r.start, b.Index(0)));
      if (!a.ends_inside) {
        Value end = b.Add(r.start, b.Mul(b.Sub(r.count, b.Index(1)), b.Index(r.step)));
        inside = b.And(inside, b.Compare("lt", end, b.Index(a.size)));
      }
    }
    auto reduce = [&](bool all) {
      Indices from;
      return std::vector<Value>{Reduce(reduction, all, &from, reduction.Identity(lanes_))};
    };
    if (!unrolled_) inside = b.Int(DType::kBool, 0);
    Value total = b.IfElse(
        inside, [&] { return reduce(true); }, [&] { return reduce(false); })[0];
    StoreResults(e, region_, root_, reduction.Narrow(total), index);
    if (status_.ok()) status_ = e.status();
  }

  // Adds all elements whose place begins with `from`; `all`: none of them is outside.
  Value Reduce(const Reduction& reduction, bool all, Indices* from, Value total) {
    loop::Builder& b = *b_;
    const size_t d = from->size();
    if (static_cast<int>(d) == rank_) {
      e_->Clear();
      Value x =
          lanes_ > 1 ? e_->EmitVector(root_.operand(0), *from) : e_->Emit(root_.operand(0), *from);
      return reduction.CombineNumbers(total, x);
    }
    const Axis& a = axes_[d];
    const Reach& r = reach_[d];
    const bool vectors = static_cast<int>(d) + 1 == rank_ && lanes_ > 1;
    // Positions i with 0 <= start + i * step < size.
    auto steps = [&](Value distance) {
      return b.Div(b.Add(b.Max(distance, b.Index(0)), b.Index(r.step - 1)), b.Index(r.step));
    };
    Value begin = b.Index(0), end = r.count;
    if (!all && !vectors && !a.starts_inside) {
      begin = b.Min(steps(b.Sub(b.Index(0), r.start)), r.count);
    }
    if (!all && !vectors && !a.ends_inside) {
      end = b.Min(steps(b.Sub(b.Index(a.size), r.start)), r.count);
    }
    const int64_t trips = r.count.IsConstantIndex() ? r.count.constant_index() : 1;
    return b.For(
        begin, end, 1, {total},
        [&](Value i, absl::Span<const Value> carried) {
          from->push_back(At(b.Add(r.start, b.Mul(i, b.Index(r.step))), vectors ? a.stride : 0));
          Value next = Reduce(reduction, all, from, carried[0]);
          from->pop_back();
          return std::vector<Value>{next};
        },
        Unrolled(std::max<int64_t>(trips, 1)))[0];
  }

  const ir::Graph& region_;
  const Node& root_;
  const std::vector<Axis> axes_;
  const int rank_;
  bool along_plain_ = false;    // vectors run along a dimension without windows
  bool along_windows_ = false;  // vectors take neighbouring windows
  bool unrolled_ = false;
  int lanes_ = 1;
  int64_t elements_ = 1;  // of a window

  loop::Builder* b_ = nullptr;
  ElementEmitter* e_ = nullptr;
  Value mask_;
  std::vector<Reach> reach_;  // of the result at hand
  absl::Status status_;
};

}  // namespace

absl::Status CheckWindow(const Node& fusion) {
  const Node* root = FindRoot(fusion.region(), Op::kReduceWindow);
  if (root == nullptr) return Unimplemented("a window fusion without reduce_window");
  if (root->shape().rank() == 0) return Unimplemented(root->Describe(), ": a scalar");
  for (const Axis& a : AxesOf(*root)) {
    if (a.dilation != 1 && (a.stride != 1 || a.window_dilation != 1)) {
      return Unimplemented(root->Describe(), ": a dilated input under strides or dilated windows");
    }
  }
  return CheckResults(fusion.region(), *root);
}

absl::StatusOr<EmittedKernel> EmitWindow(const Node& fusion, const Target& target,
                                         const std::string& name) {
  TEKTITE_RETURN_IF_ERROR(CheckWindow(fusion));
  const ir::Graph& region = fusion.region();
  return WindowEmitter(region, *FindRoot(region, Op::kReduceWindow), target)
      .Run(fusion, target, name);
}

}  // namespace tektite::cpu
