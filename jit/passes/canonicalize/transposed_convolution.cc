// Rules of convolutions over spread-out inputs, which are transposed convolutions and the gradients
// of strided ones.
//
// With a dilation of s, one of s neighbouring elements of the input is no zero, and which taps of
// the kernel meet it depends on the place alone: in one dimension, with o = s q + p,
//
//   y[o] = sum over t of w[t] x[(o + t - low) / s], where s divides o + t - low
//        = sum over u of w[s u + r] x[q + u - floor((low - p) / s)], r = (low - p) mod s
//
// So each phase p of the output is a convolution of the input as it is with every s-th tap, and all
// of them together do 1 / s of the multiplications, in each dimension, that the zeros would cost.
// Zeros that nothing multiplies also make no NaN where a weight is infinite.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "jit/ops/ops.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

using ops::ConvDims;

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

// A dimension whose input is spread out.
struct Axis {
  int spatial;
  int64_t dilation, taps, low;
  int64_t skipped;  // outputs computed before the first one that is used
  int64_t more;     // places of a phase beyond those of the input
};

bool HasWholeTaps(const Axis& axis) { return axis.taps % axis.dilation == 0; }

// Whether all phases are features of one convolution; of groups each phase has its own.
bool CanBeFeatures(const ConvDims& d, const std::vector<Axis>& axes) {
  return d.feature_groups == 1 && std::all_of(axes.begin(), axes.end(), HasWholeTaps);
}

// Nothing where no rule applies.
std::vector<Axis> SpreadAxes(const Node& node, const ConvDims& d) {
  if (d.batch_groups != 1 || !AllAre(d.strides, 1)) return {};
  std::vector<Axis> axes;
  bool is_one_tap = true;
  for (int i = 0; i < d.spatial; ++i) {
    const Dim& taps = node.operand_shape(1).dim(d.kernel_spatial[i]);
    is_one_tap &= IsOne(taps);
    if (d.lhs_dilation[i] == 1) continue;
    if (d.rhs_dilation[i] != 1 || !taps.is_constant() || taps.value() == 0) return {};
    axes.push_back({i, d.lhs_dilation[i], taps.value(), d.low[i], 0, 0});
  }
  if (is_one_tap) return {};  // ConvolutionOfSpreadInput's
  return axes;
}

// Sets axis->more.  False where there is nothing to compute.
bool CountPlaces(const Node& node, const ConvDims& d, Axis* axis) {
  const Dim &in = node.operand_shape(0).dim(d.input_spatial[axis->spatial]),
            &out = node.shape().dim(d.output_spatial[axis->spatial]);
  const int64_t s = axis->dilation;
  if (in.is_constant() && out.is_constant()) {
    axis->more = CeilDiv(out.value() + axis->skipped, s) - in.value();
    return in.value() > 0 && out.value() > 0;
  }
  // One more than needed, which is for an empty input: its results come from the padding alone.
  const int64_t beyond = axis->low + d.high[axis->spatial] - axis->taps + 2 - s;
  axis->more = CeilDiv(beyond + axis->skipped, s) + 1;
  return true;
}

// The shapes in which phases are put together: the places of a phase, then with a dimension for the
// phases behind each that is spread out, then all outputs.
struct Arrangement {
  Dims places, interleaved, merged;
  std::vector<int> phase_dims;  // of `interleaved`, for each axis
};

Arrangement Arrange(const Node& node, const ConvDims& d, const std::vector<Axis>& axes) {
  Arrangement a;
  a.places = node.shape().dims();
  a.phase_dims.resize(axes.size());
  for (const Axis& axis : axes) {
    a.places[d.output_spatial[axis.spatial]] =
        node.operand_shape(0).dim(d.input_spatial[axis.spatial]) + Dim(axis.more);
  }
  a.merged = a.places;
  for (int i = 0; i < node.shape().rank(); ++i) {
    a.interleaved.push_back(a.places[i]);
    for (size_t j = 0; j < axes.size(); ++j) {
      if (d.output_spatial[axes[j].spatial] != i) continue;
      a.phase_dims[j] = static_cast<int>(a.interleaved.size());
      a.interleaved.push_back(Dim(1));
      a.merged[i] = a.places[i] * Dim(axes[j].dilation);
    }
  }
  return a;
}

// Merges the dimensions of an interleaved array and takes the outputs of the convolution.
Value Wanted(FuncBuilder& b, const Node& node, const ConvDims& d, const std::vector<Axis>& axes,
             const Arrangement& arrangement, Value interleaved) {
  const Value y = b.Reshape(interleaved, arrangement.merged);
  if (arrangement.merged == node.shape().dims()) return y;
  Dims starts(node.shape().rank(), Dim(0)), limits = node.shape().dims();
  for (const Axis& axis : axes) {
    const int out = d.output_spatial[axis.spatial];
    starts[out] = Dim(axis.skipped);
    limits[out] = limits[out] + Dim(axis.skipped);
  }
  return b.Slice(y, starts, limits);
}

// The phase of each axis is part of `number`, the last axis' running fastest.
Value Phase(Node* node, const ConvDims& d, const std::vector<Axis>& axes, const Dims& places,
            int64_t number, FuncBuilder& b) {
  const int rank = node->shape().rank();
  Dims starts(rank, Dim(0)), limits = node->operand_shape(1).dims();
  Ints steps(rank, 1), low = d.low, high = d.high;
  bool is_empty = false;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const int64_t s = axis->dilation, phase = number % s;
    number /= s;
    const int64_t shift = FloorDiv(axis->low - phase, s), first = axis->low - phase - s * shift;
    const int64_t taps = CeilDiv(axis->taps - first, s);
    is_empty |= taps <= 0;
    starts[d.kernel_spatial[axis->spatial]] = Dim(first);
    steps[d.kernel_spatial[axis->spatial]] = s;
    low[axis->spatial] = shift;
    high[axis->spatial] = axis->more - shift + taps - 1;
  }
  if (is_empty) return b.Full(node->shape().dtype(), 0, places);
  Attributes attrs = node->attrs();
  attrs.Erase(Attr::lhs_dilation);
  attrs.Set(Attr::low, low).Set(Attr::high, high);
  return b.AddOne(Op::kConvolution,
                  {node->operand(0), b.Slice(node->operand(1), starts, limits, steps)}, attrs);
}

// The kernel whose output features are the phases', the last axis' phase running fastest.
Value PhasesAsFeatures(Node* node, const ConvDims& d, const std::vector<Axis>& axes,
                       FuncBuilder& b) {
  const Dims& kernel = node->operand_shape(1).dims();
  const int rank = static_cast<int>(kernel.size());
  // [.., taps] becomes [.., taps of a phase, phase].
  Dims split, dims = kernel;
  Ints from(rank), phases(axes.size()), permutation;
  for (int i = 0; i < rank; ++i) {
    from[i] = static_cast<int64_t>(split.size());
    split.push_back(kernel[i]);
    for (size_t j = 0; j < axes.size(); ++j) {
      if (d.kernel_spatial[axes[j].spatial] != i) continue;
      dims[i] = split.back() = Dim(axes[j].taps / axes[j].dilation);
      phases[j] = static_cast<int64_t>(split.size());
      split.push_back(Dim(axes[j].dilation));
    }
  }
  for (int i = 0; i < rank; ++i) {
    if (i == d.kernel_output) permutation.insert(permutation.end(), phases.begin(), phases.end());
    permutation.push_back(from[i]);
  }
  for (const Axis& axis : axes) {
    dims[d.kernel_output] = dims[d.kernel_output] * Dim(axis.dilation);
  }
  // Phase p begins with tap s - 1 - p.
  const Value by_phase = b.Reverse(b.Reshape(node->operand(1), split), phases);
  return b.Reshape(b.Transpose(by_phase, permutation), dims);
}

}  // namespace

// convolution(%x: f32[n,4,4,64], %w: f32[3,3,64,32]), lhs_dilation=[2,2], low=[2,2], high=[1,1]
//   ->  reshape(concatenate(concatenate(%y00, %y01), concatenate(%y10, %y11)))
// where %y01 is a convolution with taps 0 and 2 of the rows and tap 1 of the columns.
Value ConvolutionByPhases(Node* node, FuncBuilder& b) {
  const std::optional<ConvDims> d = ConvolutionDims(*node);
  if (!d) return {};
  std::vector<Axis> axes = SpreadAxes(*node, *d);
  if (axes.empty() || CanBeFeatures(*d, axes)) return {};
  int64_t num_phases = 1;
  for (Axis& axis : axes) {
    num_phases *= axis.dilation;
    if (num_phases > ops::kMostPhases || !CountPlaces(*node, *d, &axis)) return {};
  }
  const Arrangement arrangement = Arrange(*node, *d, axes);
  std::vector<Value> parts;
  for (int64_t number = 0; number < num_phases; ++number) {
    parts.push_back(
        b.Reshape(Phase(node, *d, axes, arrangement.places, number, b), arrangement.interleaved));
  }
  for (size_t j = axes.size(); j-- > 0;) {
    const auto count = static_cast<size_t>(axes[j].dilation);
    std::vector<Value> joined;
    for (size_t i = 0; i < parts.size(); i += count) {
      joined.push_back(
          b.Concatenate(absl::MakeConstSpan(parts).subspan(i, count), arrangement.phase_dims[j]));
    }
    parts = std::move(joined);
  }
  return Wanted(b, *node, *d, axes, arrangement, parts[0]);
}

// convolution(%x: f32[n,4,4,64], %w: f32[2,2,64,32]), lhs_dilation=[2,2], low=[1,1], high=[1,1]
//   ->  reshape(transpose(reshape(convolution(%x, %v: f32[1,1,64,128]))))
// where all phases have equally many taps: they are features of one convolution.
Value ConvolutionOfEqualPhases(Node* node, FuncBuilder& b) {
  const std::optional<ConvDims> d = ConvolutionDims(*node);
  if (!d) return {};
  std::vector<Axis> axes = SpreadAxes(*node, *d);
  if (axes.empty() || !CanBeFeatures(*d, axes)) return {};
  Ints low = d->low, high = d->high;
  for (Axis& axis : axes) {
    // So that all phases begin with the same place of the input: then phase p has the taps
    // s u + s - 1 - p.
    axis.skipped =
        axis.dilation - 1 - (axis.low - axis.dilation * FloorDiv(axis.low, axis.dilation));
    if (!CountPlaces(*node, *d, &axis)) return {};
    low[axis.spatial] = FloorDiv(axis.low + axis.skipped, axis.dilation);
    high[axis.spatial] = axis.more - low[axis.spatial] + axis.taps / axis.dilation - 1;
  }
  const Arrangement arrangement = Arrange(*node, *d, axes);

  Attributes attrs = node->attrs();
  attrs.Erase(Attr::lhs_dilation);
  attrs.Set(Attr::low, low).Set(Attr::high, high);
  const Value y =
      b.AddOne(Op::kConvolution, {node->operand(0), PhasesAsFeatures(node, *d, axes, b)}, attrs);

  // From [.., phases, features] to [places, phases of the first axis, ..].
  Dims split;
  Ints from(y.shape().rank()), phases(axes.size()), permutation;
  for (int i = 0; i < y.shape().rank(); ++i) {
    Dim size = arrangement.places[i];
    if (i == d->output_feature) {
      for (size_t j = 0; j < axes.size(); ++j) {
        phases[j] = static_cast<int64_t>(split.size());
        split.push_back(Dim(axes[j].dilation));
      }
      size = node->shape().dim(i);
    }
    from[i] = static_cast<int64_t>(split.size());
    split.push_back(size);
  }
  for (int i = 0; i < y.shape().rank(); ++i) {
    permutation.push_back(from[i]);
    for (size_t j = 0; j < axes.size(); ++j) {
      if (d->output_spatial[axes[j].spatial] == i) permutation.push_back(phases[j]);
    }
  }
  return Wanted(b, *node, *d, axes, arrangement, b.Transpose(b.Reshape(y, split), permutation));
}

}  // namespace tektite::passes::rules
