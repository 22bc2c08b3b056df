// The gradient of a depthwise filter, channels last: for each tap a sum over all images and pixels
// of the input, moved by the tap, times the result's gradient.
//
//   %df: f32[7,7,1,c] = convolution(%x: f32[n,22,22,c], %dy: f32[n,16,16,c])
//       {batch_group_count = c, input_layout = "f01b", kernel_layout = "i01o",
//        output_layout = "01bf"}
//
// Vectors run along the channels.  A unit of work is a row of taps and a block of channels: its
// sums are registers, and each vector of either operand is read once for several pixels and all
// taps of the row.  (A sum of products for each tap reads both operands from L3 each time:
// 32x16x16x48 with 7x7 taps on a Sapphire Rapids core, 22 ms.)
//
// Limits: one filter for each channel, no padding inside, at most two spatial dimensions.

#include <algorithm>

#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/loops/long_sum.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using loop::Value;
using Values = std::vector<Value>;

// Additions, one after the other, into a sum before a block ends (long_sum.h).
constexpr int64_t kBlockSteps = 512;
// Pixels whose vectors are in registers together.
constexpr int64_t kPixels = 4;

// Sizes of one spatial dimension.
struct Axis {
  Dim in = 1, out = 1;  // pixels of x and of dy
  int64_t taps = 1;
  int64_t tap_step = 1, step = 1;  // pixels of x from tap to tap, and from pixel of dy to pixel
};

struct Geometry {
  Dim images;
  int64_t channels = 1;
  Axis y, x;
};

absl::StatusOr<Geometry> GeometryOfFilter(const Node& root) {
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims,
                           ops::GetConvDims(root.operand_shape(0).rank(), root.attrs()));
  const ir::Shape &x = root.operand_shape(0), &dy = root.operand_shape(1);
  const Dim channels = x.dims().back();
  auto all_are = [](const std::vector<int64_t>& values, int64_t v) {
    return std::all_of(values.begin(), values.end(), [v](int64_t value) { return value == v; });
  };
  if (!ops::IsFilterGradient(dims) || !channels.is_constant() || dims.spatial > 2 ||
      dims.batch_groups != channels.value() || dy.dims().back() != channels) {
    return Unimplemented(root.Describe(), ": not the gradient of a depthwise filter");
  }
  if (!all_are(dims.low, 0) || !all_are(dims.high, 0) || !all_are(dims.lhs_dilation, 1)) {
    return Unimplemented(root.Describe(), ": padding inside the gradient of a filter");
  }
  Geometry g;
  g.images = x.dim(0);
  g.channels = channels.value();
  Axis* const axes[] = {&g.y, &g.x};
  for (int i = 0; i < dims.spatial; ++i) {
    const Dim& taps = root.shape().dim(i);
    if (!taps.is_constant()) return Unimplemented(root.Describe(), ": any number of taps");
    *axes[2 - dims.spatial + i] = {x.dim(1 + i), dy.dim(1 + i), taps.value(), dims.strides[i],
                                   dims.rhs_dilation[i]};
  }
  return g;
}

// Of channels in a block, `needed` in all: sums enough to hide the latency of an addition, no more
// than there are registers for, and as few idle ones in the last block as may be.
int ChooseVectors(const Target& target, int64_t needed, int64_t taps) {
  needed = std::max<int64_t>(needed, 1);
  const int64_t least = std::min(CeilDiv(kEnoughAccumulators, taps), needed);
  int64_t best = least;
  for (int64_t v = least; v <= needed && v * taps <= target.vector_registers * 3 / 4; ++v) {
    if (CeilDiv(needed, v) * v < CeilDiv(needed, best) * best) best = v;
  }
  return static_cast<int>(best);
}

class GroupedFilterEmitter {
 public:
  // `plan`: rows of its tile are the taps of a row, columns are channels.
  GroupedFilterEmitter(const Node& fusion, const Target& target, const std::string& name,
                       ContractionPlan plan, Geometry geometry)
      : fusion_(fusion),
        target_(target),
        name_(name),
        plan_(std::move(plan)),
        g_(std::move(geometry)) {}

  absl::StatusOr<EmittedKernel> Run() {
    const ir::Graph& region = fusion_.region();
    EmittedKernel result;
    result.in_place = EpilogueInPlace(region, *plan_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    result.cost =
        Cost(plan_.m * plan_.n * plan_.k, 1 / (target_.vector_fmas_per_ns() / 2 * plan_.lanes));
    const Dim units = Dim(g_.y.taps) * plan_.panels();
    const Dim per_chunk = UnitsPerChunk(units, result.cost);
    result.num_chunks = CeilDiv(units, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    TEKTITE_ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Create(region, plan_));
    x_ = static_cast<int>(plan_.root->operand(0).node->Int(ir::Attr::index));
    dy_ = static_cast<int>(plan_.root->operand(1).node->Int(ir::Attr::index));
    const int taps = plan_.rows;
    absl::Status status;
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      const Values at = Delinearize(b, unit, {Dim(g_.y.taps), plan_.panels()});
      channel_ = b.Mul(at[1], b.Index(plan_.panel()));
      masks_ = epilogue.ColumnMasks(b, channel_);
      const Value first = b.Mul(at[0], b.Index(taps));
      status.Update(epilogue.Emit(b, b.Index(0), {first, taps, taps, {}}, channel_, Sums(at[0])));
    });
    TEKTITE_RETURN_IF_ERROR(status);
    return result;
  }

 private:
  // Of the taps in row `tap_y`, over all images and pixels.
  Values Sums(Value tap_y) {
    loop::Builder& b = *b_;
    const Value zero = b.Splat(b.Float(plan_.accumulator, 0), plan_.lanes);
    const size_t count = static_cast<size_t>(plan_.rows) * plan_.vectors;
    // The current block's sums, then the upper and the lower parts of those before.
    Values state(3 * count, zero);
    const Dim parts = CeilDiv(g_.x.out, kBlockSteps), rows = g_.images * g_.y.out;
    const Dim trips = rows * parts;
    const Dim block = BlockTrips(parts == Dim(1) ? g_.x.out : Dim(kBlockSteps), kBlockSteps);
    auto body = [&](Value begin, Value end, Values s) {
      return b.For(begin, end, 1, std::move(s), [&](Value trip, absl::Span<const Value> carried) {
        const Values at = Delinearize(b, trip, {g_.images, g_.y.out, parts});
        Values sums(carried.begin(), carried.begin() + count);
        sums = Part(tap_y, at, std::move(sums));
        sums.insert(sums.end(), carried.begin() + count, carried.end());
        return sums;
      });
    };
    auto end_block = [&](const Values& s) {
      Values next(3 * count, zero);
      for (size_t i = 0; i < count; ++i) {
        const LongSum sum = Plus(b, {s[count + i], s[2 * count + i]}, s[i]);
        next[count + i] = sum.high;
        next[2 * count + i] = sum.low;
      }
      return next;
    };
    state = ForInBlocks(b, trips, block, std::move(state), body, end_block);
    Values sums(state.begin(), state.begin() + count);
    if (NeverEndsBlock(trips, block)) return sums;
    for (size_t i = 0; i < count; ++i) {
      sums[i] = Total(b, Plus(b, {state[count + i], state[2 * count + i]}, sums[i]));
    }
    return sums;
  }

  // Adds the pixels of part `at` = (image, row, part of the row).
  Values Part(Value tap_y, const Values& at, Values sums) {
    loop::Builder& b = *b_;
    const Dim channels(g_.channels);
    const Value row_of_x =
        b.Add(b.Mul(at[1], b.Index(g_.y.step)), b.Mul(tap_y, b.Index(g_.y.tap_step)));
    const Value x =
        b.Add(b.Mul(b.Add(b.Mul(at[0], b.Index(g_.y.in)), row_of_x), b.Index(g_.x.in * channels)),
              channel_);
    const Value dy =
        b.Add(b.Mul(b.Add(b.Mul(at[0], b.Index(g_.y.out)), at[1]), b.Index(g_.x.out * channels)),
              channel_);
    const Value begin = b.Mul(at[2], b.Index(kBlockSteps));
    const Value end = b.Min(b.Add(begin, b.Index(kBlockSteps)), b.Index(g_.x.out));
    const Value whole =
        b.Add(begin, b.Mul(b.Div(b.Sub(end, begin), b.Index(kPixels)), b.Index(kPixels)));
    auto pixels = [&](Value from, Value to, int64_t step, Values s) {
      return b.For(from, to, step, std::move(s), [&](Value p, absl::Span<const Value> carried) {
        return Pixels(x, dy, p, step, Values(carried.begin(), carried.end()));
      });
    };
    sums = pixels(begin, whole, kPixels, std::move(sums));
    return pixels(whole, end, 1, std::move(sums));
  }

  // Adds `count` neighbours of a row, in order.  Each vector of x is read once, for all of them.
  Values Pixels(Value x, Value dy, Value first, int64_t count, Values sums) {
    loop::Builder& b = *b_;
    const Value from = b.Mul(first, b.Index(g_.x.step));
    const int64_t columns = (count - 1) * g_.x.step + (g_.x.taps - 1) * g_.x.tap_step + 1;
    for (int v = 0; v < plan_.vectors; ++v) {
      Values gradients(count), inputs(columns);
      for (int64_t p = 0; p < count; ++p) {
        gradients[p] = Read(dy_, dy, b.Add(first, b.Index(p)), v);
        for (int64_t t = 0; t < g_.x.taps; ++t) {
          const int64_t column = p * g_.x.step + t * g_.x.tap_step;
          Value& input = inputs[column];
          if (!input) input = Read(x_, x, b.Add(from, b.Index(column)), v);
          Value& sum = sums[static_cast<size_t>(t) * plan_.vectors + v];
          sum = b.Fma(input, gradients[p], sum);
        }
      }
    }
    return sums;
  }

  Value Read(int buffer, Value row, Value pixel, int vector) {
    loop::Builder& b = *b_;
    const Value at = b.Add(b.Add(row, b.Mul(pixel, b.Index(g_.channels))),
                           b.Index(static_cast<int64_t>(vector) * plan_.lanes));
    const Value v = b.Load(b.Buffer(buffer), plan_.dtype, at, plan_.lanes, masks_[vector]);
    return plan_.dtype == plan_.accumulator ? v : b.Convert(v, plan_.accumulator);
  }

  const Node& fusion_;
  const Target& target_;
  const std::string& name_;
  const ContractionPlan plan_;
  const Geometry g_;
  loop::Builder* b_ = nullptr;
  int x_ = 0, dy_ = 0;
  Value channel_;
  Values masks_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitGroupedFilter(const Node& fusion, const Target& target,
                                                const std::string& name) {
  const Node* root = ops::FindContraction(fusion.region());
  if (root == nullptr || root->op() != ir::Op::kConvolution) {
    return Unimplemented("not a depthwise convolution");
  }
  TEKTITE_ASSIGN_OR_RETURN(Geometry g, GeometryOfFilter(*root));
  ContractionPlan plan;
  plan.root = root;
  plan.is_convolution = plan.is_filter_gradient = true;
  plan.dtype = plan.accumulator = root->shape().dtype();
  if (!ir::IsFloat(plan.dtype)) {
    return Unimplemented(root->Describe(), ": depthwise in ", ir::DTypeName(plan.dtype));
  }
  if (root->operand(0).node->op() != ir::Op::kParameter ||
      root->operand(1).node->op() != ir::Op::kParameter) {
    return Unimplemented(root->Describe(), ": an operand is not in memory");
  }
  if (ir::DTypeBytes(plan.dtype) == 2) plan.accumulator = ir::DType::kF32;
  plan.lanes = target.lanes(ir::DTypeBytes(plan.accumulator));
  plan.m = g.y.taps * g.x.taps;
  plan.n = g.channels;
  plan.k = g.images * g.y.out * g.x.out;
  plan.rows = static_cast<int>(g.x.taps);
  plan.vectors = ChooseVectors(target, CeilDiv(g.channels, plan.lanes), g.x.taps);
  return GroupedFilterEmitter(fusion, target, name, std::move(plan), std::move(g)).Run();
}

}  // namespace tektite::cpu
