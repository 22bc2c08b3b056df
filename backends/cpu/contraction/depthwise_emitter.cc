// Depthwise convolution, channels last: vectors run along the channels, a group of neighbouring
// output pixels shares the kernel's vectors and the input's.
//
// A unit of work is a strip of output rows and a block of channels: of the input rows that an
// output row reads, all but the newest are in L1 from the row before.  Where the width is known,
// each group at the border has code of its own without the taps that read padding; otherwise those
// pixels are computed one by one with checks.  Rows outside the input shorten the loop over the
// kernel's height.

#include <algorithm>

#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_plan.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using ir::Op;
using loop::Value;

// Groups at the border that get code of their own; with more, pixels are checked one by one.
constexpr int kMostBorderGroups = 6;
// The assumed width, where it is not known, for the choice of a group's size.
constexpr int64_t kUsualWidth = 56;

// Half-cycles for a group of pixels: two multiply-adds and two loads start in each cycle, and a sum
// waits four for the one before it.
double GroupCost(const ConvolutionGeometry& g, int64_t vectors, int64_t pixels) {
  const int64_t columns = std::min(
      (pixels - 1) * g.stride_w + (g.kernel_width - 1) * g.dilation_w + 1, pixels * g.kernel_width);
  const int64_t loads = columns + g.kernel_width;
  const int64_t work = vectors * std::max(pixels * g.kernel_width, loads);
  constexpr int64_t kLatency = 8, kEntry = 30;
  return static_cast<double>(g.kernel_height * std::max(work, g.kernel_width * kLatency) + kEntry);
}

// Vectors of channels and pixels that one group takes, with as many accumulators as there are
// registers beside the kernel's vectors of a row.
void ChooseGroup(const Target& target, ContractionPlan& plan) {
  const ConvolutionGeometry& g = plan.conv;
  const int64_t width = std::max<int64_t>(g.out_width.value_or(kUsualWidth), 1);
  const int64_t needed = CeilDiv(plan.n.value(), plan.lanes);
  const int64_t room = std::min<int64_t>(target.vector_registers - g.kernel_width - 2,
                                         target.vector_registers * 3 / 4);
  double best = 0;
  for (int64_t vectors = std::min<int64_t>(needed, 4); vectors >= 1; --vectors) {
    for (int64_t pixels = std::min(std::max<int64_t>(room / vectors, 1), width); pixels >= 1;
         --pixels) {
      double cost = static_cast<double>(width / pixels) * GroupCost(g, vectors, pixels);
      if (width % pixels > 0) cost += GroupCost(g, vectors, width % pixels);
      cost *= static_cast<double>(CeilDiv(needed, vectors));
      if (best > 0 && cost >= best) continue;
      best = cost;
      plan.vectors = static_cast<int>(vectors);
      plan.rows = static_cast<int>(pixels);
    }
  }
}

class DepthwiseEmitter {
 public:
  // `plan`: its tile is a group, so many pixels x vectors of channels.
  DepthwiseEmitter(const Node& fusion, const Target& target, const std::string& name,
                   ContractionPlan plan)
      : fusion_(fusion),
        region_(fusion.region()),
        name_(name),
        plan_(std::move(plan)),
        target_(target) {}

  absl::StatusOr<EmittedKernel> Run() {
    const ConvolutionGeometry& g = plan_.conv;
    EmittedKernel result;
    result.in_place = EpilogueInPlace(region_, *plan_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    const Dim outputs = plan_.batch * plan_.m * plan_.n;
    const double cycles = static_cast<double>(plan_.k.value()) / plan_.lanes + 0.4;
    result.cost = Cost(outputs, target_.ns(cycles));
    // Strips whose input stays in L2 from one block of channels to the next.
    const Dim row_bytes = g.width * Dim(g.channels * g.stride_h * ir::DTypeBytes(plan_.dtype));
    const Dim row_cost = FloorDiv(result.cost, Max(plan_.batch * g.out_height, 1));
    // A strip reads some rows that the one before it has read.
    const double shared_rows = 0.25 * static_cast<double>(g.kernel_height - 1) / g.stride_h;
    const double strip_ns = shared_rows * static_cast<double>(row_cost.value_or(0)) / kCostPerNs;
    const Dim strip =
        EvenBlock({plan_.batch, g.out_height, FloorDiv(target_.l2_bytes / 2, Max(row_bytes, 1)),
                   row_cost, strip_ns});
    const Dim strips = plan_.m == Dim(0) ? Dim(0) : CeilDiv(g.out_height, strip);
    const Dim units = plan_.batch * strips * plan_.panels();
    const Dim per_chunk = UnitsPerChunk(units, result.cost);
    result.num_chunks = CeilDiv(units, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_));
    input_ = static_cast<int>(plan_.root->operand(0).node->Int(ir::Attr::index));
    kernel_ = static_cast<int>(plan_.root->operand(1).node->Int(ir::Attr::index));
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      const std::vector<Value> at = Delinearize(b, unit, {plan_.batch, strips, plan_.panels()});
      batch_ = at[0];
      Value channel = b.Mul(at[2], b.Index(plan_.panel()));
      masks_ = epilogue_.ColumnMasks(b, channel);
      PrefetchWeights(b.Add(channel, b.Index(plan_.panel())));
      Value first = b.Mul(at[1], b.Index(strip));
      Value last = b.Min(b.Add(first, b.Index(strip)), b.Index(g.out_height));
      b.For(first, last, 1, [&](Value row) {
        out_row_ = row;
        Row(channel);
      });
    });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  enum class Border { kNone, kKnown, kChecked };

  // One output row of a block of channels.
  void Row(Value channel) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    // Output columns whose whole window lies inside: [first, last).
    const int64_t span = (g.kernel_width - 1) * g.dilation_w;
    const Dim first = Min(CeilDiv(g.pad_left, g.stride_w), g.out_width);
    const Dim room = Max(g.width + Dim(g.pad_left - 1 - span), -1);
    const Dim last = Max(Min(FloorDiv(room, g.stride_w) + Dim(1), g.out_width), first);
    if (g.width.is_constant() && g.out_width.is_constant() &&
        KnownGroups(channel, first.value(), last.value())) {
      return;
    }
    const int pixels = plan_.rows;
    const Dim left = Mod(last - first, pixels), whole = last - left;
    b.For(b.Index(0), b.Index(first), 1, [&](Value x) { Pixels(channel, x, 1, Border::kChecked); });
    b.For(b.Index(first), b.Index(whole), pixels,
          [&](Value x) { Pixels(channel, x, pixels, Border::kNone); });
    if (left.is_constant()) {
      const int rest = static_cast<int>(left.value());
      if (rest > 0) Pixels(channel, b.Index(whole), rest, Border::kNone);
    } else {
      b.For(b.Index(whole), b.Index(last), 1,
            [&](Value x) { Pixels(channel, x, 1, Border::kNone); });
    }
    b.For(b.Index(last), b.Index(g.out_width), 1,
          [&](Value x) { Pixels(channel, x, 1, Border::kChecked); });
  }

  // Cuts a row of known width into groups from the left; those that lie wholly in [first, last)
  // share their code.  False, and nothing is emitted, if too many do not.
  bool KnownGroups(Value channel, int64_t first, int64_t last) {
    loop::Builder& b = *b_;
    const int64_t width = plan_.conv.out_width.value(), pixels = plan_.rows;
    struct Part {
      int64_t first, last, step;
    };
    std::vector<Part> parts;
    for (int64_t x = 0; x < width; x = parts.back().last) {
      const int64_t trips = x >= first ? std::max<int64_t>(last - x, 0) / pixels : 0;
      const int64_t step = std::min(pixels, width - x);
      parts.push_back({x, trips > 0 ? x + trips * pixels : x + step, step});
    }
    if (static_cast<int64_t>(parts.size()) > kMostBorderGroups + 1) return false;
    for (const Part& part : parts) {
      const bool inside = part.first >= first && part.last <= last;
      b.For(b.Index(part.first), b.Index(part.last), part.step, [&](Value x) {
        Pixels(channel, x, static_cast<int>(part.step), inside ? Border::kNone : Border::kKnown);
      });
    }
    return true;
  }

  // With Border::kKnown, x is a constant.
  void Pixels(Value channel, Value x, int pixels, Border border) {
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
    PrefetchInput(channel, x, pixels, top);
    Value zero = b.Splat(b.Constant(plan_.accumulator, 0), plan_.lanes);
    std::vector<Value> acc(static_cast<size_t>(pixels) * plan_.vectors, zero);
    acc = b.For(begin, end, 1, std::move(acc), [&](Value ky, absl::Span<const Value> carried) {
      std::vector<Value> sums(carried.begin(), carried.end());
      KernelRow(channel, x, pixels, border, b.Add(top, b.Mul(ky, b.Index(g.dilation_h))), ky, sums);
      return sums;
    });
    Value m = b.Add(b.Mul(out_row_, b.Index(g.out_width)), x);
    absl::Status status = epilogue_.Emit(b, batch_, {m, pixels, pixels, {}}, channel, acc);
    if (status_.ok()) status_ = status;
  }

  // A block of some of the channels is spread over pixels, further apart than prefetchers follow:
  // the code itself fetches the next rows.  (In MobileNetV2 7x7x960 took 12.5 us without, 8.0 with
  // it.)  All channels lie one behind the other.
  bool Fetches() const { return plan_.n.value() > plan_.panel(); }

  void PrefetchWeights(Value channel) {
    if (!Fetches()) return;
    loop::Builder& b = *b_;
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
  void PrefetchInput(Value channel, Value x, int pixels, Value top) {
    if (!Fetches()) return;
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Value first = b.Sub(b.Mul(x, b.Index(g.stride_w)), b.Index(g.pad_left));
    Value column = b.Add(first, b.Index((g.kernel_width - 1) * g.dilation_w));
    for (int64_t s = 0; s < g.stride_h; ++s) {
      Value row = b.Add(top, b.Index((g.kernel_height - 1) * g.dilation_h + 1 + s));
      Value inside = b.Compare("lt", row, b.Index(g.height));
      row = b.Select(inside, row, b.Sub(row, b.Index(g.height)));
      Value next = b.Select(inside, channel, b.Add(channel, b.Index(plan_.panel())));
      Value pixel =
          b.Add(b.Mul(b.Add(b.Mul(batch_, b.Index(g.height)), row), b.Index(g.width)), column);
      Value at = b.Add(b.Mul(pixel, b.Index(g.channels)), next);
      for (int64_t p = 0; p < pixels * g.stride_w; ++p) {
        for (int v = 0; v < plan_.vectors; ++v) {
          b.Prefetch(b.Buffer(input_), plan_.dtype,
                     b.Add(at, b.Index(p * g.channels + static_cast<int64_t>(v) * plan_.lanes)));
        }
      }
    }
  }

  // Adds what one row of the kernel sees in input row `row`.  Each vector is read once and used
  // for all pixels that it concerns.
  void KernelRow(Value channel, Value x, int pixels, Border border, Value row, Value ky,
                 std::vector<Value>& sums) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Value left = b.Sub(b.Mul(x, b.Index(g.stride_w)), b.Index(g.pad_left));
    Value row_at = b.Add(
        b.Mul(b.Add(b.Mul(batch_, b.Index(g.height)), row), b.Index(g.width * Dim(g.channels))),
        channel);
    auto weight = [&](int64_t kx, int v) {
      Value at = b.Mul(b.Add(b.Mul(ky, b.Index(g.kernel_width)), b.Index(kx)), b.Index(g.channels));
      return Read(kernel_, b.Add(at, channel), v);
    };
    auto input = [&](int64_t column, int v) {
      Value at = b.Mul(b.Add(left, b.Index(column)), b.Index(g.channels));
      return Read(input_, b.Add(row_at, at), v);
    };
    if (border == Border::kChecked) {
      for (int64_t kx = 0; kx < g.kernel_width; ++kx) {
        Value column = b.Add(left, b.Index(kx * g.dilation_w));
        Value inside =
            b.And(b.Compare("ge", column, b.Index(0)), b.Compare("lt", column, b.Index(g.width)));
        auto add = [&] {
          std::vector<Value> next = sums;
          for (int v = 0; v < plan_.vectors; ++v) {
            next[v] = b.Fma(input(kx * g.dilation_w, v), weight(kx, v), next[v]);
          }
          return next;
        };
        sums = b.IfElse(inside, add, [&] { return sums; });
      }
      return;
    }
    const int64_t columns = (pixels - 1) * g.stride_w + (g.kernel_width - 1) * g.dilation_w + 1;
    for (int v = 0; v < plan_.vectors; ++v) {
      std::vector<Value> weights(g.kernel_width);
      for (int64_t column = 0; column < columns; ++column) {
        if (border == Border::kKnown) {
          const int64_t from = left.constant_index() + column;
          if (from < 0 || from >= g.width.value()) continue;
        }
        Value in;
        for (int p = 0; p < pixels; ++p) {
          const int64_t distance = column - p * g.stride_w;
          if (distance < 0 || distance % g.dilation_w != 0) continue;
          const int64_t kx = distance / g.dilation_w;
          if (kx >= g.kernel_width) continue;
          if (!in) in = input(column, v);
          if (!weights[kx]) weights[kx] = weight(kx, v);
          Value& a = sums[static_cast<size_t>(p) * plan_.vectors + v];
          a = b.Fma(in, weights[kx], a);
        }
      }
    }
  }

  Value Read(int buffer, Value at, int vector) {
    Value v = b_->Load(b_->Buffer(buffer), plan_.dtype,
                       b_->Add(at, b_->Index(static_cast<int64_t>(vector) * plan_.lanes)),
                       plan_.lanes, masks_[vector]);
    return plan_.dtype == plan_.accumulator ? v : b_->Convert(v, plan_.accumulator);
  }

  const Node& fusion_;
  const ir::Graph& region_;
  const std::string& name_;
  ContractionPlan plan_;
  const Target& target_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  int input_ = 0, kernel_ = 0;
  Value batch_, out_row_;
  std::vector<Value> masks_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitDepthwise(const Node& fusion, const Target& target,
                                            const std::string& name) {
  const Node* root = ops::FindContraction(fusion.region());
  if (root == nullptr || root->op() != Op::kConvolution) {
    return Unimplemented("not a depthwise convolution");
  }
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims,
                           ops::GetConvDims(root->operand_shape(0).rank(), root->attrs()));
  ContractionPlan plan;
  TEKTITE_ASSIGN_OR_RETURN(plan.conv, GeometryOf(*root, dims));
  if (dims.spatial > 2) return Unimplemented(root->Describe(), ": depthwise over a volume");
  const int64_t features = root->shape().dim(root->shape().rank() - 1).value_or(-1);
  if (dims.feature_groups != plan.conv.channels || dims.batch_groups != 1 ||
      features != plan.conv.channels || plan.conv.channels == 1) {
    return Unimplemented(root->Describe(), ": not depthwise with one filter per channel");
  }
  plan.root = root;
  plan.is_convolution = true;
  plan.dtype = plan.accumulator = root->shape().dtype();
  if (!ir::IsFloat(plan.dtype)) {
    return Unimplemented(root->Describe(), ": depthwise in ", ir::DTypeName(plan.dtype));
  }
  if (root->operand(0).node->op() != Op::kParameter ||
      root->operand(1).node->op() != Op::kParameter) {
    return Unimplemented(root->Describe(), ": an operand is not in memory");
  }
  if (ir::DTypeBytes(plan.dtype) == 2) plan.accumulator = ir::DType::kF32;
  plan.lanes = target.lanes(ir::DTypeBytes(plan.accumulator));
  plan.batch = root->operand_shape(0).dim(0);
  plan.m = plan.conv.out_height * plan.conv.out_width;
  plan.n = features;
  plan.k = plan.conv.kernel_height * plan.conv.kernel_width;
  ChooseGroup(target, plan);
  return DepthwiseEmitter(fusion, target, name, std::move(plan)).Run();
}

}  // namespace tektite::cpu
