// Depthwise convolution, channels last: vectors run along the channels, a block of neighbouring
// output pixels shares the kernel's vectors.
//
// Columns of the output that read padding are computed one by one with checks; the others, nearly
// all, need none.  Rows outside the input shorten the loop over the kernel's height.

#include <algorithm>

#include "backends/cpu/contraction_plan.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_emitters.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using ir::Op;
using loop::Value;

constexpr int kMaxPixels = 6;

class DepthwiseEmitter {
 public:
  DepthwiseEmitter(const Node& fusion, const std::string& name, ContractionPlan plan)
      : fusion_(fusion), region_(fusion.region()), name_(name), plan_(std::move(plan)) {}

  absl::StatusOr<EmittedKernel> Run() {
    const ConvolutionGeometry& g = plan_.conv;
    EmittedKernel result;
    result.in_place = EpilogueInPlace(region_, *plan_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    const Dim outputs = plan_.batch * plan_.m * plan_.n;
    result.cost = Cost(outputs, static_cast<double>(plan_.k.value()) / (4.0 * plan_.lanes) + 0.1);
    const Dim units = plan_.m == Dim(0) ? Dim(0) : plan_.batch * g.out_height;
    const Dim per_chunk = UnitsPerChunk(units, result.cost);
    result.num_chunks = CeilDiv(units, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_));
    input_ = static_cast<int>(plan_.root->operand(0).node->Int(ir::Attr::index));
    kernel_ = static_cast<int>(plan_.root->operand(1).node->Int(ir::Attr::index));
    ForEachUnit(b, units, per_chunk, [&](Value unit) {
      batch_ = b.Div(unit, b.Index(g.out_height));
      out_row_ = b.Rem(unit, b.Index(g.out_height));
      b.For(b.Index(0), b.Index(plan_.n), plan_.panel(), [&](Value channel) { Row(channel); });
    });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  // One output row, a block of channels.
  void Row(Value channel) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    masks_ = epilogue_.ColumnMasks(b, channel);
    // Output columns whose whole window lies inside: [first, last).
    const int64_t span = (g.kernel_width - 1) * g.dilation_w;
    const Dim first = Min((g.pad_left + g.stride_w - 1) / g.stride_w, g.out_width);
    const Dim room = Max(g.width + Dim(g.pad_left - 1 - span), -1);
    const Dim last = Max(Min(FloorDiv(room, g.stride_w) + Dim(1), g.out_width), first);
    const int pixels = std::min(kMaxPixels, 24 / plan_.vectors);
    const Dim left = Mod(last - first, pixels), whole = last - left;
    b.For(b.Index(0), b.Index(first), 1, [&](Value x) { Pixels(channel, x, 1, true); });
    b.For(b.Index(first), b.Index(whole), pixels,
          [&](Value x) { Pixels(channel, x, pixels, false); });
    if (left.is_constant()) {
      if (left != Dim(0)) Pixels(channel, b.Index(whole), static_cast<int>(left.value()), false);
    } else {
      b.For(b.Index(whole), b.Index(last), 1, [&](Value x) { Pixels(channel, x, 1, false); });
    }
    b.For(b.Index(last), b.Index(g.out_width), 1, [&](Value x) { Pixels(channel, x, 1, true); });
  }

  void Pixels(Value channel, Value x, int pixels, bool checked) {
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
    Value left = b.Sub(b.Mul(x, b.Index(g.stride_w)), b.Index(g.pad_left));
    Value zero = b.Splat(b.Constant(plan_.accumulator, 0), plan_.lanes);
    std::vector<Value> acc(static_cast<size_t>(pixels) * plan_.vectors, zero);
    acc = b.For(begin, end, 1, std::move(acc), [&](Value ky, absl::Span<const Value> carried) {
      std::vector<Value> sums(carried.begin(), carried.end());
      Value row = b.Add(top, b.Mul(ky, b.Index(g.dilation_h)));
      Value row_at = b.Add(
          b.Mul(b.Add(b.Mul(batch_, b.Index(g.height)), row), b.Index(g.width * Dim(g.channels))),
          channel);
      for (int64_t kx = 0; kx < g.kernel_width; ++kx) {
        auto add = [&](std::vector<Value> s) {
          Value weight_at = b.Add(
              b.Mul(b.Add(b.Mul(ky, b.Index(g.kernel_width)), b.Index(kx)), b.Index(g.channels)),
              channel);
          for (int v = 0; v < plan_.vectors; ++v) {
            Value w = Read(kernel_, weight_at, v);
            for (int p = 0; p < pixels; ++p) {
              Value column = b.Add(left, b.Index(p * g.stride_w + kx * g.dilation_w));
              Value in = Read(input_, b.Add(row_at, b.Mul(column, b.Index(g.channels))), v);
              Value& a = s[static_cast<size_t>(p) * plan_.vectors + v];
              a = b.Fma(in, w, a);
            }
          }
          return s;
        };
        if (!checked) {
          sums = add(std::move(sums));
          continue;
        }
        Value column = b.Add(left, b.Index(kx * g.dilation_w));
        Value inside =
            b.And(b.Compare("ge", column, b.Index(0)), b.Compare("lt", column, b.Index(g.width)));
        sums = b.IfElse(
            inside, [&] { return add(sums); }, [&] { return sums; });
      }
      return sums;
    });
    Value m = b.Add(b.Mul(out_row_, b.Index(g.out_width)), x);
    absl::Status status = epilogue_.Emit(b, batch_, {m, pixels, pixels, {}}, channel, acc);
    if (status_.ok()) status_ = status;
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
  const int64_t needed = (features + plan.lanes - 1) / plan.lanes;
  const int most = target.vector_registers >= 32 ? 4 : 2;
  plan.vectors = static_cast<int>(std::min<int64_t>(needed, most));
  for (int v = most; v >= 2; --v) {
    if (needed % v == 0) {
      plan.vectors = v;
      break;
    }
  }
  return DepthwiseEmitter(fusion, name, std::move(plan)).Run();
}

}  // namespace tektite::cpu
