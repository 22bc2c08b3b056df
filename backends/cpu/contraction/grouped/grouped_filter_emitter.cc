// The gradient of the filter of a convolution of groups, channels last, depthwise ones among them:
// for each tap a sum over all images and pixels of the input, moved by the tap, times the result's
// gradient.
//
//   %df: f32[3,3,i,o] = convolution(%x: f32[n,30,30,c], %dy: f32[n,28,28,o])
//       {batch_group_count = c / i, input_layout = "f01b", kernel_layout = "i01o",
//        output_layout = "01bf"}
//
// Vectors run along the features; group_lanes.h says which channels their lanes read.  A step
// computes some taps of a row, some of a group's channels and a panel of features: its sums are
// registers, and each vector of either operand is read once for several pixels and all of them.
// A unit of work is a panel and some steps, which go together from one block of pixels to the next,
// so that its operands come from L2 for all steps but the first.  (A sum of products for each tap
// reads both operands from L3 each time: 32x16x16x48 with 7x7 taps on a Sapphire Rapids core,
// 22 ms.)
//
// Limits: no padding inside, at most two spatial dimensions.

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/grouped/group_lanes.h"
#include "backends/cpu/contraction/grouped/grouped_filter_tiling.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/long_sum.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using Values = std::vector<Value>;

// Additions, one after the other, into a sum before a block ends (long_sum.h).
constexpr int64_t kRowSteps = 512;

class GroupedFilterEmitter {
 public:
  GroupedFilterEmitter(const Node& fusion, const Target& target, const std::string& name,
                       GroupedFilterTiling plan)
      : fusion_(fusion),
        target_(target),
        name_(name),
        p_(std::move(plan)),
        plan_(p_.contraction),
        num_sums_(static_cast<size_t>(p_.taps * p_.channels * plan_.vectors)) {}

  absl::StatusOr<EmittedKernel> Run() {
    const ir::Graph& region = fusion_.region();
    EmittedKernel result;
    result.in_place = EpilogueInPlace(region, *plan_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    const double fmas_per_ns = target_.vector_fmas_per_ns() / 2 * p_.lanes.features_of_vector();
    result.cost = Cost(plan_.m * plan_.n * plan_.k, 1 / fmas_per_ns);
    const Dim panels(p_.lanes.Panels(plan_.vectors)), parts(CeilDiv(p_.steps(), p_.unit_steps));
    const Dim per_chunk = UnitsPerChunk(panels * parts, result.cost);
    result.num_chunks = CeilDiv(panels * parts, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region, plan_));
    x_ = static_cast<int>(plan_.root->operand(0).node->Int(ir::Attr::index));
    dy_ = static_cast<int>(plan_.root->operand(1).node->Int(ir::Attr::index));
    AllocateSums();
    ForEachUnit(b, panels * parts, per_chunk, [&](Value unit) {
      const Values at = Delinearize(b, unit, {parts, panels});
      panel_ = p_.lanes.Panel(b, at[1], plan_.vectors);
      columns_.clear();
      for (const GroupLanes::Vector& v : panel_) columns_.push_back(v.columns);
      const Value first = b.Mul(at[0], b.Index(p_.unit_steps));
      Unit(first, b.Min(b.Add(first, b.Index(p_.unit_steps)), b.Index(p_.steps())));
    });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  // What a step computes.  Channels are constants where they are shuffled.
  struct Step {
    Value tap_y, tap_x, channel;
  };

  Dim TripsOfRow() const { return CeilDiv(p_.x.out, kRowSteps); }
  Dim Trips() const { return p_.images * p_.y.out * TripsOfRow(); }
  Dim BlockOfTrips() const {
    return BlockTrips(TripsOfRow() == Dim(1) ? p_.x.out : Dim(kRowSteps), kRowSteps);
  }

  // Sums of blocks, upper parts and lower ones, of all steps of a unit.
  void AllocateSums() {
    if (NeverEndsBlock(Trips(), BlockOfTrips())) return;
    const auto vectors = static_cast<int64_t>(num_sums_) * p_.unit_steps * p_.channel_blocks();
    scratch_ = b_->AllocateScratch(plan_.accumulator, Dim(2 * vectors * plan_.lanes));
  }

  // Emits `body` for all blocks of channels of a step, with the number of the block among all of
  // the unit's, which begin with step `first`.
  void ForEachBlockOf(Value step, Value first,
                      const std::function<void(const Step&, Value)>& body) {
    loop::Builder& b = *b_;
    const int64_t tap_blocks = p_.x.taps / p_.taps, loops = p_.looped_channel_blocks();
    const Values at = Delinearize(b, step, {Dim(p_.y.taps), Dim(tap_blocks), Dim(loops)});
    Step s = {at[0], b.Mul(at[1], b.Index(p_.taps)), b.Mul(at[2], b.Index(p_.channels))};
    const Value number = b.Sub(step, first);
    if (p_.lanes.SharesChannels()) return body(s, number);
    for (int64_t i = 0; i < p_.channel_blocks(); ++i) {
      s.channel = b.Index(i * p_.channels);
      body(s, b.Add(b.Mul(number, b.Index(p_.channel_blocks())), b.Index(i)));
    }
  }

  // Steps [first, last) of the panel, over all images and pixels.
  void Unit(Value first, Value last) {
    loop::Builder& b = *b_;
    const auto for_each_block = [&](const std::function<void(const Step&, Value)>& body) {
      b.For(first, last, 1, [&](Value step) { ForEachBlockOf(step, first, body); });
    };
    if (!scratch_) {
      for_each_block([&](const Step& step, Value) {
        Finish(step, Block(step, b.Index(0), b.Index(Trips())));
      });
      return;
    }
    const Dim trips = Trips(), block = BlockOfTrips();
    const Value bytes = b.Index(static_cast<int64_t>(num_sums_) * p_.channel_blocks() * 2 *
                                plan_.lanes * ir::DTypeBytes(plan_.accumulator));
    b.Zero(scratch_, b.Mul(b.Sub(last, first), bytes));
    b.For(b.Index(0), b.Index(CeilDiv(trips, block)), 1, [&](Value n) {
      const Value begin = b.Mul(n, b.Index(block));
      const Value end = b.Min(b.Add(begin, b.Index(block)), b.Index(trips));
      for_each_block([&](const Step& step, Value number) {
        const Values sums = Block(step, begin, end);
        for (size_t i = 0; i < num_sums_; ++i) {
          const LongSum sum = Plus(b, Stored(number, i), sums[i]);
          b.Store(scratch_, Place(number, i, 0), sum.high);
          b.Store(scratch_, Place(number, i, 1), sum.low);
        }
      });
    });
    for_each_block([&](const Step& step, Value number) {
      Values sums(num_sums_);
      for (size_t i = 0; i < num_sums_; ++i) sums[i] = Total(b, Stored(number, i));
      Finish(step, sums);
    });
  }

  Value Place(Value number, size_t i, int part) const {
    loop::Builder& b = *b_;
    const Value vector = b.Add(b.Mul(number, b.Index(static_cast<int64_t>(2 * num_sums_))),
                               b.Index(static_cast<int64_t>(2 * i) + part));
    return b.Mul(vector, b.Index(plan_.lanes));
  }
  LongSum Stored(Value number, size_t i) const {
    const auto load = [&](int part) {
      return b_->Load(scratch_, plan_.accumulator, Place(number, i, part), plan_.lanes);
    };
    return {load(0), load(1)};
  }

  // Sums lie tap by tap, and channel by channel in them.
  size_t SumOf(int64_t tap, int64_t i, int v) const {
    return static_cast<size_t>((tap * p_.channels + i) * plan_.vectors + v);
  }

  void Finish(const Step& step, const Values& sums) {
    loop::Builder& b = *b_;
    const int64_t in = p_.lanes.in(), rest = in % p_.channels;
    for (int64_t tap = 0; tap < p_.taps; ++tap) {
      const Value x = b.Add(step.tap_x, b.Index(tap));
      const Value row = b.Add(b.Mul(step.tap_y, b.Index(p_.x.taps)), x);
      RowTile tile;
      tile.first = b.Add(b.Mul(row, b.Index(in)), step.channel);
      tile.rows = static_cast<int>(p_.channels);
      tile.sure = static_cast<int>(rest > 0 ? rest : p_.channels);
      tile.left = b.Sub(b.Index(in), step.channel);
      const Values own(sums.begin() + SumOf(tap, 0, 0), sums.begin() + SumOf(tap + 1, 0, 0));
      status_.Update(epilogue_.Emit(b, b.Index(0), tile, columns_, own));
    }
  }

  // The sums over rows of pixels, or parts of them, [begin, end).
  Values Block(const Step& step, Value begin, Value end) {
    loop::Builder& b = *b_;
    Values sums(num_sums_, b.Splat(b.Float(plan_.accumulator, 0), plan_.lanes));
    return b.For(begin, end, 1, std::move(sums), [&](Value trip, absl::Span<const Value> carried) {
      const Values at = Delinearize(b, trip, {p_.images, p_.y.out, TripsOfRow()});
      return RowOfPixels(step, at, Values(carried.begin(), carried.end()));
    });
  }

  // Adds the pixels of `at` = (image, row, part of the row).
  Values RowOfPixels(const Step& step, const Values& at, Values sums) {
    loop::Builder& b = *b_;
    const Value y =
        b.Add(b.Mul(at[1], b.Index(p_.y.step)), b.Mul(step.tap_y, b.Index(p_.y.tap_step)));
    const Value x = b.Add(b.Mul(b.Add(b.Mul(at[0], b.Index(p_.y.in)), y), b.Index(p_.x.in)),
                          b.Mul(step.tap_x, b.Index(p_.x.tap_step)));
    const Value dy = b.Mul(b.Add(b.Mul(at[0], b.Index(p_.y.out)), at[1]), b.Index(p_.x.out));
    const Value begin = b.Mul(at[2], b.Index(kRowSteps));
    const Value end = b.Min(b.Add(begin, b.Index(kRowSteps)), b.Index(p_.x.out));
    auto pixels = [&](Value from, Value to, int64_t count, Values s) {
      return b.For(from, to, count, std::move(s), [&](Value p, absl::Span<const Value> carried) {
        const Value first_x = b.Add(x, b.Mul(p, b.Index(p_.x.step)));
        return Pixels(step, first_x, b.Add(dy, p), count, Values(carried.begin(), carried.end()));
      });
    };
    const Value left = b.Rem(b.Sub(end, begin), b.Index(p_.pixels)), whole = b.Sub(end, left);
    sums = pixels(begin, whole, p_.pixels, std::move(sums));
    const bool is_known = TripsOfRow() == Dim(1) && p_.x.out.is_constant();
    const int64_t rest = is_known ? p_.x.out.value() % p_.pixels : 0;
    return pixels(whole, end, std::max<int64_t>(rest, 1), std::move(sums));
  }

  // Adds `count` neighbours of a row, in order.  `x`: the pixel that the first one's first tap
  // reads.
  Values Pixels(const Step& step, Value x, Value dy, int64_t count, Values sums) {
    loop::Builder& b = *b_;
    GroupLanes::Pixel pixel = {b.Buffer(x_), {}, plan_.dtype, plan_.accumulator};
    const auto place = [&](int64_t column) {
      pixel.place = b.Mul(b.Add(x, b.Index(column)), b.Index(p_.lanes.channels()));
      return pixel;
    };
    if (p_.lanes.SharesChannels()) {
      const Value last = b.Index(p_.lanes.in() - 1);
      AddPixels(dy, count, 0, plan_.vectors, &sums, [&](int64_t column, int64_t i) {
        Value channel = b.Add(step.channel, b.Index(i));
        if (p_.lanes.in() % p_.channels != 0) channel = b.Min(channel, last);
        return p_.lanes.Shared(b, place(column), panel_[0], channel);
      });
      return sums;
    }
    for (int v = 0; v < plan_.vectors; ++v) {
      std::map<int64_t, Values> windows;  // of columns
      AddPixels(dy, count, v, v + 1, &sums, [&](int64_t column, int64_t i) {
        Values& read = windows[column];
        if (read.empty()) read = p_.lanes.Windows(b, place(column), panel_[v]);
        const int64_t last = p_.lanes.in() - 1;
        return p_.lanes.Lanes(b, read, std::min(step.channel.constant_index() + i, last));
      });
    }
    return sums;
  }

  // Adds to vectors [first, last) of all sums.  Each value of `input` is used for all pixels that
  // it concerns.
  void AddPixels(Value dy, int64_t count, int first, int last, Values* sums,
                 const std::function<Value(int64_t column, int64_t channel)>& input) {
    Values gradients(count * (last - first));
    const int64_t columns = (count - 1) * p_.x.step + (p_.taps - 1) * p_.x.tap_step + 1;
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t i = 0; i < p_.channels; ++i) {
        Value in;
        for (int64_t p = 0; p < count; ++p) {
          const int64_t distance = column - p * p_.x.step;
          if (distance < 0 || distance % p_.x.tap_step != 0) continue;
          const int64_t tap = distance / p_.x.tap_step;
          if (tap >= p_.taps) continue;
          if (!in) in = input(column, i);
          for (int v = first; v < last; ++v) {
            Value& gradient = gradients[p * (last - first) + v - first];
            if (!gradient) gradient = Gradient(dy, p, v);
            Value& sum = (*sums)[SumOf(tap, i, v)];
            sum = b_->Fma(in, gradient, sum);
          }
        }
      }
    }
  }

  Value Gradient(Value dy, int64_t pixel, int v) {
    loop::Builder& b = *b_;
    const Value at =
        b.Add(b.Mul(b.Add(dy, b.Index(pixel)), b.Index(p_.lanes.features())), columns_[v].first);
    const Value g = b.Load(b.Buffer(dy_), plan_.dtype, at, plan_.lanes, columns_[v].mask);
    return plan_.dtype == plan_.accumulator ? g : b.Convert(g, plan_.accumulator);
  }

  const Node& fusion_;
  const Target& target_;
  const std::string& name_;
  const GroupedFilterTiling p_;
  const ContractionTiling& plan_;
  const size_t num_sums_;  // of a step
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  int x_ = 0, dy_ = 0;
  Value scratch_;
  std::vector<GroupLanes::Vector> panel_;
  std::vector<VectorColumns> columns_;  // of the panel
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitGroupedFilter(const Node& fusion,
                                                const target::Schedule& schedule,
                                                const Target& target, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(GroupedFilterTiling plan, TileGroupedFilter(fusion, &schedule, target));
  return GroupedFilterEmitter(fusion, target, name, std::move(plan)).Run();
}

}  // namespace tektite::cpu
