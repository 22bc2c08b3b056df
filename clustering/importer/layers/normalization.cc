// Batch normalization: inference, training, gradient, and the fused forms; bias.
#include "clustering/importer/layers/normalization.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/activations.h"
#include "clustering/importer/layers/fused_ops.h"

namespace tektite::importer {
namespace {

struct NormAttrs {
  int feature = 0;
  double epsilon = 0;
  bool training = true;
};

absl::StatusOr<NormAttrs> RequireNormAttrs(const NodeImport& op, int image) {
  absl::string_view format = op.attrs().String("data_format", "NHWC");
  bool first = format == "NCHW" || format == "NCDHW";
  if (!first && format != "NHWC" && format != "NDHWC") return op.Refuse("format ", format);
  int rank = op.InputRank(image);
  if (rank < 2) return op.Refuse("an input of rank ", rank);
  return NormAttrs{first ? 1 : rank - 1, op.attrs().Float("epsilon", 1e-4f),
                   op.attrs().Bool("is_training", true)};
}

// Elements per feature.
Dim CountPerFeature(const Dims& dims, int feature) {
  Dim count(1);
  for (int64_t i : AllBut(static_cast<int>(dims.size()), feature)) count = count * dims[i];
  return count;
}

Value InverseDeviation(FuncBuilder& b, Value variance, double epsilon) {
  return b.Rsqrt(b.Add(variance, b.FullLike(variance, epsilon)));
}

// Whether each has one number a feature: a vector of one does not serve all of them.
bool HaveFeatures(FuncBuilder& b, std::initializer_list<Value> vectors, const Dim& features) {
  return std::all_of(vectors.begin(), vectors.end(), [&](Value v) {
    return v && v.shape().rank() == 1 && b.AssumeEqual(v.shape().dim(0), features);
  });
}

struct Moments {
  Value mean, variance, unbiased;  // unbiased: with Bessel's correction
};

Moments BatchMoments(NodeImport& op, Value x, int feature) {
  FuncBuilder& b = op.b();
  const Dims dims = x.shape().dims();
  std::vector<int64_t> axes = AllBut(x.shape().rank(), feature);
  Dim count = CountPerFeature(dims, feature);
  Value n = op.DimValue(count, x.dtype());
  Moments m;
  m.mean = b.Div(b.Reduce(x, axes, "add"), n);
  if (!m.mean) return m;
  Value centered = b.Sub(x, AlongFeature(b, m.mean, dims, feature));
  Value squares = b.Reduce(b.Mul(centered, centered), axes, "add");
  m.variance = b.Div(squares, n);
  // No less than 1, but of no elements at all: 0 / 0 is NaN, as TensorFlow's variance is there.
  Dim rest = ir::Max(count - Dim(1), ir::Min(count, Dim(1)));
  m.unbiased = b.Div(squares, op.DimValue(rest, x.dtype()));
  return m;
}

// factor * batch + (1 - factor) * running; a factor of 1 takes the batch alone.
Value RunningAverage(FuncBuilder& b, Value batch, Value running, double factor) {
  if (factor == 1 || !batch || !running) return batch;
  if (running.shape().rank() != 1 || !b.AssumeEqual(running.shape().dim(0), batch.shape().dim(0))) {
    return b.Fail(absl::UnimplementedError("statistics of another size"));
  }
  Value old = b.Mul(running, b.FullLike(running, 1 - factor));
  return b.Add(old, b.Mul(batch, b.FullLike(batch, factor)));
}

// Results after y: mean and variance as kept, mean and variance for the gradient, and for V3 a
// reserved one that CPU kernels leave unused.
absl::Status ReturnStatistics(NodeImport& op, absl::Span<const Value> statistics) {
  TEKTITE_RETURN_IF_ERROR(op.Return(statistics));
  bool third = op.op() == "FusedBatchNormV3" || op.op() == "_FusedBatchNormEx";
  return third ? op.Return(op.b().Scalar(DType::kF32, 0)) : absl::OkStatus();
}

// oneDNN's fused ReLU lets NaN end, where Relu alone and TensorFlow's own fused kernels keep it: a
// model may live on that.  The host says which kernels it has.
std::optional<Value> ActivateFused(NodeImport& op, absl::string_view name, Value x,
                                   double alpha = 0.2) {
  FuncBuilder& b = op.b();
  const bool keeps_nan = op.attrs().Bool("_tektite_without_onednn", false);
  if (!x || keeps_nan || (name != "Relu" && name != "Relu6")) return Activate(b, name, x, alpha);
  const Value zero = b.FullLike(x, 0), six = b.FullLike(x, 6);
  x = b.Select(b.Compare(x, zero, "gt"), x, zero);
  return name == "Relu6" ? b.Select(b.Compare(x, six, "lt"), x, six) : x;
}

// _FusedBatchNormEx adds a side input, then activates.
absl::StatusOr<Value> FinishNorm(NodeImport& op, Value y) {
  if (op.op() != "_FusedBatchNormEx") return y;
  if (op.attrs().Int("num_side_inputs", 0) > 0) {
    TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 5));
    y = op.b().Add(y, op.Input(5));
  }
  absl::string_view name = op.attrs().String("activation_mode", "Identity");
  std::optional<Value> activated = ActivateFused(op, name, y);
  if (!activated) return op.Refuse("activation ", name);
  return *activated;
}

struct Gradients {
  Value dx, dscale, doffset;
};

// The gradient of the scale.  Of no elements it is 0, though the statistics are NaN there.
Value ScaleGradient(NodeImport& op, Value dot, Value inverse, const Dim& count) {
  FuncBuilder& b = op.b();
  Value product = b.Mul(dot, inverse);
  if (!product || (count.is_constant() && count.value() != 0)) return product;
  Value n = op.DimValue(count, DType::kS64);
  Value is_empty = b.Compare(n, b.FullLike(n, 0), "eq");
  return b.SelectImplicit(is_empty, b.FullLike(product, 0), product);
}

Gradients InferenceGradient(NodeImport& op, Value dy, Value x, Value scale, Value mean,
                            Value inverse, int feature) {
  FuncBuilder& b = op.b();
  const Dims& dims = x.shape().dims();
  std::vector<int64_t> axes = AllBut(x.shape().rank(), feature);
  Value centered = b.Sub(x, AlongFeature(b, mean, dims, feature));
  Gradients g;
  g.dx = b.Mul(dy, AlongFeature(b, b.Mul(scale, inverse), dims, feature));
  g.dscale = ScaleGradient(op, b.Reduce(b.Mul(dy, centered), axes, "add"), inverse,
                           CountPerFeature(dims, feature));
  g.doffset = b.Reduce(dy, axes, "add");
  return g;
}

// dx = scale * inverse / n * (n * dy - sum(dy) - (x - mean) * inverse^2 * sum(dy * (x - mean)))
Gradients TrainingGradient(NodeImport& op, Value dy, Value x, Value scale, Value mean,
                           Value inverse, int feature) {
  FuncBuilder& b = op.b();
  const Dims& dims = x.shape().dims();
  std::vector<int64_t> axes = AllBut(x.shape().rank(), feature);
  const Dim count = CountPerFeature(dims, feature);
  Value n = op.DimValue(count, x.dtype());
  Value centered = b.Sub(x, AlongFeature(b, mean, dims, feature));
  Value sum = b.Reduce(dy, axes, "add");
  Value dot = b.Reduce(b.Mul(dy, centered), axes, "add");
  Value slope = b.Mul(b.Div(dot, n), b.Mul(inverse, inverse));
  Value inner = b.Sub(b.Sub(dy, AlongFeature(b, b.Div(sum, n), dims, feature)),
                      b.Mul(centered, AlongFeature(b, slope, dims, feature)));
  Gradients g;
  g.dx = b.Mul(inner, AlongFeature(b, b.Mul(scale, inverse), dims, feature));
  g.dscale = ScaleGradient(op, dot, inverse, count);
  g.doffset = sum;
  return g;
}

}  // namespace

std::vector<int64_t> AllBut(int rank, int feature) {
  std::vector<int64_t> axes;
  for (int i = 0; i < rank; ++i) {
    if (i != feature) axes.push_back(i);
  }
  return axes;
}

Value Spread(FuncBuilder& b, Value v, const Dims& dims, int axis) {
  if (!v) return v;
  return v.shape().rank() == 0 ? b.BroadcastTo(v, dims) : b.BroadcastInDim(v, dims, {axis});
}

Value AlongFeature(FuncBuilder& b, Value vector, const Dims& dims, int feature) {
  if (!vector) return vector;
  // A vector of one element does not serve all features.
  if (vector.shape().rank() == 1 && !b.AssumeEqual(vector.shape().dim(0), dims[feature])) {
    return Value();
  }
  return b.BroadcastInDim(vector, dims, {feature});
}

Value Normalize(FuncBuilder& b, Value x, const NormVectors& v, double epsilon, int feature) {
  if (!x) return Value();
  const Dims& dims = x.shape().dims();
  if (!HaveFeatures(b, {v.scale, v.offset, v.mean, v.variance}, dims[feature])) return Value();
  Value factor = b.Mul(InverseDeviation(b, v.variance, epsilon), v.scale);
  Value centered = b.Sub(x, AlongFeature(b, v.mean, dims, feature));
  return b.Add(b.Mul(centered, AlongFeature(b, factor, dims, feature)),
               AlongFeature(b, v.offset, dims, feature));
}

absl::Status ImportFusedBatchNorm(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(NormAttrs attrs, RequireNormAttrs(op, 0));
  Value input = op.Input(0);
  NormVectors v{op.Input(1), op.Input(2), op.Input(3), op.Input(4)};
  if (!input || !v.scale || !v.variance) return op.Return(Value());
  Value x = b.Convert(input, v.scale.dtype());  // 16-bit images have f32 statistics
  if (!attrs.training) {
    Value y = b.Convert(Normalize(b, x, v, attrs.epsilon, attrs.feature), input.dtype());
    TEKTITE_ASSIGN_OR_RETURN(y, FinishNorm(op, y));
    TEKTITE_RETURN_IF_ERROR(op.Return(y));
    return ReturnStatistics(op, {v.mean, v.variance, v.mean, v.variance});
  }
  Moments m = BatchMoments(op, x, attrs.feature);
  Value y = Normalize(b, x, {v.scale, v.offset, m.mean, m.variance}, attrs.epsilon, attrs.feature);
  TEKTITE_ASSIGN_OR_RETURN(y, FinishNorm(op, b.Convert(y, input.dtype())));
  TEKTITE_RETURN_IF_ERROR(op.Return(y));
  double factor = op.attrs().Float("exponential_avg_factor", 1.0f);
  return ReturnStatistics(op,
                          {RunningAverage(b, m.mean, v.mean, factor),
                           RunningAverage(b, m.unbiased, v.variance, factor), m.mean, m.variance});
}

absl::Status ImportFusedBatchNormGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(NormAttrs attrs, RequireNormAttrs(op, 1));
  Value dy = op.Input(0), x = op.Input(1), scale = op.Input(2);
  Value mean = op.Input(3), variance = op.Input(4);
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 1));
  if (!dy || !x || !HaveFeatures(b, {scale, mean, variance}, x.shape().dim(attrs.feature))) {
    return op.Return(Value());
  }
  DType image_type = x.dtype();
  dy = b.Convert(dy, scale.dtype());
  x = b.Convert(x, scale.dtype());
  Value inverse = InverseDeviation(b, variance, attrs.epsilon);
  Gradients g = attrs.training ? TrainingGradient(op, dy, x, scale, mean, inverse, attrs.feature)
                               : InferenceGradient(op, dy, x, scale, mean, inverse, attrs.feature);
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Convert(g.dx, image_type)));
  TEKTITE_RETURN_IF_ERROR(op.Return({g.dscale, g.doffset}));
  Value unused = b.Full(scale.dtype(), 0, {Dim(0)});
  return op.Return({unused, unused});
}

absl::Status ImportBiasAdd(NodeImport& op) {
  bool first = op.attrs().String("data_format", "NHWC") == "NCHW";
  int feature = first ? 1 : op.InputRank(0) - 1;
  if (op.InputRank(0) < 2 || op.InputRank(1) != 1) return op.Refuse("rank ", op.InputRank(0));
  FuncBuilder& b = op.b();
  return op.Return(b.Add(op.Input(0), AlongFeature(b, op.Input(1), op.InputDims(0), feature)));
}

absl::Status ImportBiasAddGrad(NodeImport& op) {
  bool first = op.attrs().String("data_format", "NHWC") == "NCHW";
  int rank = op.InputRank(0), feature = first ? 1 : rank - 1;
  if (rank < 2) return op.Refuse("rank ", rank);
  return op.Return(op.b().Reduce(op.Input(0), AllBut(rank, feature), "add"));
}

absl::StatusOr<Value> ApplyFusedOps(NodeImport& op, Value y, int feature, int next_input) {
  FuncBuilder& b = op.b();
  double epsilon = op.attrs().Float("epsilon", 1e-4f);
  double alpha = op.attrs().Float("leakyrelu_alpha", 0.2f);
  for (const std::string& name : op.Strings("fused_ops")) {
    if (!y) return y;
    int needed = name == "BiasAdd" || name == "Add" || name == "Mul" ? 1
                 : name == "FusedBatchNorm"                          ? 4
                                                                     : 0;
    if (next_input + needed > op.num_inputs()) return op.Refuse("no operand for ", name);
    if (name == "BiasAdd" && op.InputRank(next_input) == 1) {
      y = b.Add(y, AlongFeature(b, op.Input(next_input), y.shape().dims(), feature));
    } else if (name == "Mul") {
      y = b.Mul(y, op.Input(next_input));
    } else if (needed == 1) {
      y = b.Add(y, op.Input(next_input));
    } else if (name == "FusedBatchNorm") {
      std::vector<Value> v = op.Inputs(next_input, next_input + 4);
      y = Normalize(b, y, {v[0], v[1], v[2], v[3]}, epsilon, feature);
    } else {
      std::optional<Value> activated = ActivateFused(op, name, y, alpha);
      if (!activated) return op.Refuse("fused op ", name);
      y = *activated;
    }
    next_input += needed;
  }
  return y;
}

}  // namespace tektite::importer
