// Convolution of groups, channels last, depthwise ones among them: vectors run along the features,
// and a row of neighbouring output pixels shares the kernel's vectors and the input's.
//
// group_lanes.h says which channels the lanes of a vector read.  For each of a group's channels in
// turn, an input pixel's vector is shuffled once and meets all taps of the kernel's row that see
// it.  Where all lanes read one channel, that is a loop over the group's channels.
//
// A unit of work is a strip of output rows and a panel of features: of the input rows that an
// output row reads, all but the newest are in L1 from the row before.  Where the width is known,
// each row of pixels at the border has code of its own without the taps that read padding;
// otherwise those pixels are computed one by one with checks.  Kernel rows outside the input
// shorten the loop over the kernel's height.

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/grouped/group_lanes.h"
#include "backends/cpu/contraction/grouped/grouped_tiling.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/long_sum.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using Values = std::vector<Value>;

// Parts of a row at the border that get code of their own; with more, pixels are checked one by
// one.
constexpr int kMostBorderParts = 6;
// Additions, one after the other, into a sum before a block ends (long_sum.h).
constexpr int64_t kBlockSteps = 512;
// Output pixels of a unit from which on a copy of its weights pays.
constexpr int64_t kPixelsForCopy = 32;

class GroupedEmitter {
 public:
  // `plan`: its tile is a part, so many pixels x vectors of features.
  GroupedEmitter(const Node& fusion, const Target& target, const std::string& name,
                 ContractionTiling plan, GroupLanes lanes)
      : fusion_(fusion),
        region_(fusion.region()),
        name_(name),
        plan_(std::move(plan)),
        lanes_(lanes),
        is_long_(plan_.k.value() > kBlockSteps),
        target_(target) {}

  absl::StatusOr<EmittedKernel> Run() {
    const ConvolutionGeometry& g = plan_.conv;
    EmittedKernel result;
    result.in_place = EpilogueInPlace(region_, *plan_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    const Dim outputs = plan_.batch * plan_.m * plan_.n;
    const double cycles = static_cast<double>(plan_.k.value()) / lanes_.features_of_vector() + 0.4;
    result.cost = Cost(outputs, target_.ns(cycles));
    // Strips whose input stays in L2 from one panel to the next.  Where weights are copied for
    // each, they are cut for threads only as far as panels are too few.
    const Dim panels(lanes_.Panels(plan_.vectors));
    const Dim cut = lanes_.IsDepthwise() ? plan_.batch : plan_.batch * panels;
    const Dim row_bytes = g.width * Dim(g.channels * g.stride_h * ir::DTypeBytes(plan_.dtype));
    const Dim row_cost = FloorDiv(result.cost, Max(cut * g.out_height, 1));
    // A strip reads some rows that the one before it has read.
    const double shared_rows = 0.25 * static_cast<double>(g.kernel_height - 1) / g.stride_h;
    const double strip_ns = shared_rows * static_cast<double>(row_cost.value_or(0)) / kCostPerNs;
    const Dim strip = EvenBlock(
        {cut, g.out_height, FloorDiv(target_.l2_bytes / 2, Max(row_bytes, 1)), row_cost, strip_ns});
    const Dim strips = plan_.m == Dim(0) ? Dim(0) : CeilDiv(g.out_height, strip);
    const Dim units = plan_.batch * strips * panels;
    const Dim per_chunk = UnitsPerChunk(units, result.cost);
    result.num_chunks = CeilDiv(units, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_));
    input_ = static_cast<int>(plan_.root->operand(0).node->Int(ir::Attr::index));
    kernel_ = static_cast<int>(plan_.root->operand(1).node->Int(ir::Attr::index));
    const bool may_copy = !lanes_.IsDepthwise() || AreBytes();
    if (may_copy && (strip * g.out_width).value_or(kPixelsForCopy) >= kPixelsForCopy) {
      copy_ = b.AllocateScratch(plan_.accumulator, plan_.k * Dim(plan_.panel()));
    }
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      const Values at = Delinearize(b, unit, {plan_.batch, strips, panels});
      batch_ = at[0];
      panel_ = lanes_.Panel(b, at[2], plan_.vectors);
      columns_.clear();
      for (const GroupLanes::Vector& v : panel_) columns_.push_back(v.columns);
      PrefetchWeights();
      CopyWeights();
      Value first = b.Mul(at[1], b.Index(strip));
      Value last = b.Min(b.Add(first, b.Index(strip)), b.Index(g.out_height));
      b.For(first, last, 1, [&](Value row) {
        out_row_ = row;
        Row();
      });
    });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  enum class Border { kNone, kKnown, kChecked };

  // One output row of a panel.
  void Row() {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    // Output columns whose whole window lies inside: [first, last).
    const int64_t span = (g.kernel_width - 1) * g.dilation_w;
    const Dim first = Min(CeilDiv(g.pad_left, g.stride_w), g.out_width);
    const Dim room = Max(g.width + Dim(g.pad_left - 1 - span), -1);
    const Dim last = Max(Min(FloorDiv(room, g.stride_w) + Dim(1), g.out_width), first);
    if (g.width.is_constant() && g.out_width.is_constant() &&
        KnownParts(first.value(), last.value())) {
      return;
    }
    const int pixels = plan_.rows;
    const Dim left = Mod(last - first, pixels), whole = last - left;
    b.For(b.Index(0), b.Index(first), 1, [&](Value x) { Pixels(x, 1, Border::kChecked); });
    b.For(b.Index(first), b.Index(whole), pixels,
          [&](Value x) { Pixels(x, pixels, Border::kNone); });
    if (left.is_constant()) {
      const int rest = static_cast<int>(left.value());
      if (rest > 0) Pixels(b.Index(whole), rest, Border::kNone);
    } else {
      b.For(b.Index(whole), b.Index(last), 1, [&](Value x) { Pixels(x, 1, Border::kNone); });
    }
    b.For(b.Index(last), b.Index(g.out_width), 1, [&](Value x) { Pixels(x, 1, Border::kChecked); });
  }

  // Cuts a row of known width into parts from the left; those that lie wholly in [first, last)
  // share their code.  False, and nothing is emitted, if too many do not.
  bool KnownParts(int64_t first, int64_t last) {
    loop::Builder& b = *b_;
    const int64_t width = plan_.conv.out_width.value(), pixels = plan_.rows;
    struct Repeated {
      int64_t first, last, step;
    };
    std::vector<Repeated> parts;
    for (int64_t x = 0; x < width; x = parts.back().last) {
      const int64_t trips = x >= first ? std::max<int64_t>(last - x, 0) / pixels : 0;
      const int64_t step = std::min(pixels, width - x);
      parts.push_back({x, trips > 0 ? x + trips * pixels : x + step, step});
    }
    if (static_cast<int64_t>(parts.size()) > kMostBorderParts + 1) return false;
    for (const Repeated& part : parts) {
      const bool inside = part.first >= first && part.last <= last;
      b.For(b.Index(part.first), b.Index(part.last), part.step, [&](Value x) {
        Pixels(x, static_cast<int>(part.step), inside ? Border::kNone : Border::kKnown);
      });
    }
    return true;
  }

  // With Border::kKnown, x is a constant.
  void Pixels(Value x, int pixels, Border border) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Value top = b.Sub(b.Mul(out_row_, b.Index(g.stride_h)), b.Index(g.pad_top));
    // Kernel rows that meet the input.
    Value begin = b.Index(0), end = b.Index(g.kernel_height);
    if (g.pad_top > 0) {
      begin =
          b.Min(b.Div(b.Add(b.Max(b.Sub(b.Index(0), top), b.Index(0)), b.Index(g.dilation_h - 1)),
                      b.Index(g.dilation_h)),
                end);
    }
    if (g.pad_bottom > 0) {
      Value left = b.Max(b.Sub(b.Index(g.height), top), b.Index(0));
      end = b.Min(b.Div(b.Add(left, b.Index(g.dilation_h - 1)), b.Index(g.dilation_h)), end);
    }
    PrefetchInput(x, pixels, top);
    Values acc = Zeros(static_cast<size_t>(pixels) * plan_.vectors);
    acc = b.For(begin, end, 1, std::move(acc), [&](Value ky, absl::Span<const Value> carried) {
      const Values before(carried.begin(), carried.end());
      Values sums = is_long_ ? Zeros(before.size()) : before;
      KernelRow(x, pixels, border, b.Add(top, b.Mul(ky, b.Index(g.dilation_h))), ky, sums);
      return is_long_ ? Sum(before, sums) : sums;
    });
    if (AreBytes()) {
      for (Value& sum : acc) sum = b.Convert(sum, plan_.root->shape().dtype());
    }
    Value m = b.Add(b.Mul(out_row_, b.Index(g.out_width)), x);
    absl::Status status = epilogue_.Emit(b, batch_, {m, pixels, pixels, {}}, columns_, acc);
    if (status_.ok()) status_ = status;
  }

  // Their sums are whole numbers of f32, which are exact and as fast.
  bool AreBytes() const { return plan_.dtype == ir::DType::kS8; }

  Values Zeros(size_t count) const {
    return Values(count, b_->Splat(b_->Constant(plan_.accumulator, 0), plan_.lanes));
  }
  Values Sum(const Values& a, const Values& b) const {
    Values sums(a.size());
    for (size_t i = 0; i < a.size(); ++i) sums[i] = b_->Add(a[i], b[i]);
    return sums;
  }

  // A block of some of the channels is spread over pixels, further apart than prefetchers follow:
  // the code itself fetches the next rows.  (In MobileNetV2 7x7x960 took 12.5 us without, 8.0 with
  // it.)  All channels lie one behind the other.
  bool Fetches() const { return lanes_.Panels(plan_.vectors) > 1; }

  // Of the next panel.
  void PrefetchWeights() {
    if (!Fetches() || !lanes_.IsDepthwise()) return;
    loop::Builder& b = *b_;
    const Value channel = b.Add(panel_[0].channel, b.Index(plan_.panel()));
    b.For(b.Index(0), b.Index(plan_.k), 1, [&](Value i) {
      Value at = b.Add(b.Mul(i, b.Index(plan_.conv.channels)), channel);
      for (int v = 0; v < plan_.vectors; ++v) {
        b.Prefetch(b.Buffer(kernel_), plan_.dtype,
                   b.Add(at, b.Index(static_cast<int64_t>(v) * plan_.lanes)));
      }
    });
  }

  // Fetches the input that the group at x will read for the next output row and no row before it
  // has read; behind the last row, the first rows of the next block of channels.
  void PrefetchInput(Value x, int pixels, Value top) {
    if (!Fetches()) return;
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Value first = b.Sub(b.Mul(x, b.Index(g.stride_w)), b.Index(g.pad_left));
    Value column = b.Add(first, b.Index((g.kernel_width - 1) * g.dilation_w));
    for (int64_t s = 0; s < g.stride_h; ++s) {
      Value row = b.Add(top, b.Index((g.kernel_height - 1) * g.dilation_h + 1 + s));
      Value inside = b.Compare("lt", row, b.Index(g.height));
      row = b.Select(inside, row, b.Sub(row, b.Index(g.height)));
      Value next = b.Select(inside, b.Index(0), b.Index(lanes_.ChannelsOfPanel(plan_.vectors)));
      Value pixel =
          b.Add(b.Mul(b.Add(b.Mul(batch_, b.Index(g.height)), row), b.Index(g.width)), column);
      Value at = b.Add(b.Mul(pixel, b.Index(g.channels)), next);
      for (int64_t p = 0; p < pixels * g.stride_w; ++p) {
        lanes_.Prefetch(b, b.Buffer(input_), plan_.lhs_dtype, b.Add(at, b.Index(p * g.channels)),
                        panel_);
      }
    }
  }

  // Some taps of a kernel row, and the pixels that they see.
  struct Taps {
    int64_t first, last;  // taps
    int pixels;
    Border border;
    Value row, left,
        ky;  // where the input row begins; the column that the first pixel's tap 0 sees
  };

  // Adds what one row of the kernel sees in input row `row`.
  void KernelRow(Value x, int pixels, Border border, Value row, Value ky, Values& sums) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Taps taps = {0, g.kernel_width, pixels, border, {}, {}, ky};
    taps.left = b.Sub(b.Mul(x, b.Index(g.stride_w)), b.Index(g.pad_left));
    taps.row =
        b.Mul(b.Add(b.Mul(batch_, b.Index(g.height)), row), b.Index(g.width * Dim(g.channels)));
    if (border != Border::kChecked) return AddTaps(taps, sums);
    for (int64_t kx = 0; kx < g.kernel_width; ++kx) {
      Value column = b.Add(taps.left, b.Index(kx * g.dilation_w));
      Value inside =
          b.And(b.Compare("ge", column, b.Index(0)), b.Compare("lt", column, b.Index(g.width)));
      taps.first = kx;
      taps.last = kx + 1;
      auto add = [&] {
        Values next = sums;
        AddTaps(taps, next);
        return next;
      };
      sums = b.IfElse(inside, add, [&] { return sums; });
    }
  }

  void AddTaps(const Taps& taps, Values& sums) {
    loop::Builder& b = *b_;
    const GroupLanes::Pixel row = {b.Buffer(input_), {}, plan_.lhs_dtype, plan_.accumulator};
    const auto pixel = [&](int64_t column) {
      GroupLanes::Pixel p = row;
      const Value at = b.Mul(b.Add(taps.left, b.Index(column)), b.Index(plan_.conv.channels));
      p.place = b.Add(taps.row, at);
      return p;
    };
    if (lanes_.SharesChannels()) {
      sums = ForEachChannel(taps.last - taps.first, sums, [&](Value i, Values next) {
        const auto input = [&](int64_t column) {
          return lanes_.Shared(b, pixel(column), panel_[0], i);
        };
        AddChannel(taps, i, 0, plan_.vectors, input, next);
        return next;
      });
      return;
    }
    for (int v = 0; v < plan_.vectors; ++v) {
      std::map<int64_t, Values> windows;  // of columns
      for (int64_t i = 0; i < lanes_.in(); ++i) {
        const auto input = [&](int64_t column) {
          Values& read = windows[column];
          if (read.empty()) read = lanes_.Windows(b, pixel(column), panel_[v]);
          return lanes_.Lanes(b, read, i);
        };
        AddChannel(taps, b.Index(i), v, v + 1, input, sums);
      }
    }
  }

  // In blocks where a sum has too many terms; each channel is `terms` of them.
  Values ForEachChannel(int64_t terms, const Values& sums,
                        const std::function<Values(Value, Values)>& body) {
    loop::Builder& b = *b_;
    const auto loop = [&](Value begin, Value end, Values state) {
      return b.For(begin, end, 1, std::move(state), [&](Value i, absl::Span<const Value> carried) {
        Values next(carried.begin(), carried.begin() + sums.size());
        next = body(i, std::move(next));
        next.insert(next.end(), carried.begin() + sums.size(), carried.end());
        return next;
      });
    };
    const Dim channels(lanes_.in()), block = BlockTrips(terms, kBlockSteps);
    if (NeverEndsBlock(channels, block)) return loop(b.Index(0), b.Index(channels), sums);
    const auto halves = [&](const Values& state) {
      const auto middle = state.begin() + sums.size();
      return std::pair(Values(state.begin(), middle), Values(middle, state.end()));
    };
    Values state = Zeros(sums.size());
    state.insert(state.end(), sums.begin(), sums.end());
    const auto end_block = [&](const Values& ended) {
      const auto [current, before] = halves(ended);
      Values next = Zeros(sums.size());
      const Values total = Sum(before, current);
      next.insert(next.end(), total.begin(), total.end());
      return next;
    };
    const auto [current, before] =
        halves(ForInBlocks(b, channels, block, std::move(state), loop, end_block));
    return Sum(before, current);
  }

  // Adds channel `i` of each group to some vectors' sums.  Each vector is read once and used for
  // all pixels that it concerns.
  void AddChannel(const Taps& taps, Value i, int first, int last,
                  const std::function<Value(int64_t column)>& input, Values& sums) {
    const ConvolutionGeometry& g = plan_.conv;
    const int64_t count = last - first, begin = taps.first * g.dilation_w;
    const int64_t end = (taps.pixels - 1) * g.stride_w + (taps.last - 1) * g.dilation_w + 1;
    Values weights(g.kernel_width * count);
    for (int64_t column = begin; column < end; ++column) {
      if (taps.border == Border::kKnown) {
        const int64_t from = taps.left.constant_index() + column;
        if (from < 0 || from >= g.width.value()) continue;
      }
      Value in;
      for (int p = 0; p < taps.pixels; ++p) {
        const int64_t distance = column - p * g.stride_w;
        if (distance < 0 || distance % g.dilation_w != 0) continue;
        const int64_t kx = distance / g.dilation_w;
        if (kx < taps.first || kx >= taps.last) continue;
        if (!in) in = input(column);
        for (int v = first; v < last; ++v) {
          Value& weight = weights[kx * count + v - first];
          if (!weight) weight = Weight(taps.ky, kx, i, v);
          Value& a = sums[static_cast<size_t>(p) * plan_.vectors + v];
          a = b_->Fma(in, weight, a);
        }
      }
    }
  }

  Value Weight(Value ky, int64_t kx, Value i, int v) {
    loop::Builder& b = *b_;
    const Value tap = b.Add(b.Mul(ky, b.Index(plan_.conv.kernel_width)), b.Index(kx));
    const Value row = b.Add(b.Mul(tap, b.Index(lanes_.in())), i);
    if (!copy_) return StoredWeight(row, v);
    return b.Load(copy_, plan_.accumulator, PlaceInCopy(row, v), plan_.lanes);
  }

  // Of row `row` of [taps and channels, features].
  Value StoredWeight(Value row, int v) {
    loop::Builder& b = *b_;
    const VectorColumns& columns = columns_[v];
    const Value at = b.Add(b.Mul(row, b.Index(lanes_.features())), columns.first);
    const Value w = b.Load(b.Buffer(kernel_), plan_.dtype, at, plan_.lanes, columns.mask);
    return plan_.dtype == plan_.accumulator ? w : b.Convert(w, plan_.accumulator);
  }

  Value PlaceInCopy(Value row, int v) {
    loop::Builder& b = *b_;
    return b.Add(b.Mul(row, b.Index(plan_.panel())), b.Index(int64_t{v} * plan_.lanes));
  }

  // The panel's weights, one behind the other and converted: where they lie, rows are so far apart
  // that they share few sets of L1, and each other one is a page of its own.  (7x7x512 in groups of
  // 16 on a Zen 4 core, with two images: 81 us for each without the copy, 60 with it.)
  void CopyWeights() {
    if (!copy_) return;
    loop::Builder& b = *b_;
    b.For(b.Index(0), b.Index(plan_.k), 1, [&](Value row) {
      for (int v = 0; v < plan_.vectors; ++v) {
        b.Store(copy_, PlaceInCopy(row, v), StoredWeight(row, v));
      }
    });
  }

  const Node& fusion_;
  const ir::Graph& region_;
  const std::string& name_;
  ContractionTiling plan_;
  const GroupLanes lanes_;
  const bool is_long_;  // a row of the kernel is a block of the sum
  const Target& target_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  int input_ = 0, kernel_ = 0;
  Value copy_;  // of a panel's weights, if there is one
  Value batch_, out_row_;
  std::vector<GroupLanes::Vector> panel_;
  std::vector<VectorColumns> columns_;  // of the panel
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitGrouped(const Node& fusion, const target::Schedule& schedule,
                                          const Target& target, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(GroupedTiling plan, TileGrouped(fusion, &schedule, target));
  return GroupedEmitter(fusion, target, name, std::move(plan.contraction), plan.lanes).Run();
}

}  // namespace tektite::cpu
