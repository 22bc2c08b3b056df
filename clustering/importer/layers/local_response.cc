// Local response normalization, which divides a pixel's channels by what their neighbours have:
//
//   y[c] = x[c] / (bias + alpha * sum of x[k]^2 over |k - c| <= depth_radius) ^ beta
//
// A. Krizhevsky, I. Sutskever and G. E. Hinton, "ImageNet classification with deep convolutional
// neural networks" (2012).
#include <algorithm>

#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

struct Response {
  int64_t radius;
  double bias, alpha, beta;
};

absl::StatusOr<Response> RequireResponse(const NodeImport& op) {
  if (op.InputRank(0) != 4) return op.Refuse("rank ", op.InputRank(0));
  constexpr int64_t kMostRadius = 1 << 16;
  const Response r{op.attrs().Int("depth_radius", 5), op.attrs().Float("bias", 1.0f),
                   op.attrs().Float("alpha", 1.0f), op.attrs().Float("beta", 0.5f)};
  if (r.radius < 0 || r.radius > kMostRadius) return op.Refuse("radius ", r.radius);
  return r;
}

// Sums over neighbouring channels.
Value OverNeighbours(FuncBuilder& b, Value x, int64_t radius) {
  ops::WindowDims w;
  w.strides = w.lhs_dilation = w.window_dilation = {1, 1, 1, 1};
  w.window = {1, 1, 1, 2 * radius + 1};
  w.low = w.high = {0, 0, 0, radius};
  return b.ReduceWindow(x, "add", w);
}

Value Norms(FuncBuilder& b, const Response& r, Value x) {
  Value sums = OverNeighbours(b, b.Mul(x, x), r.radius);
  if (!sums) return sums;
  return b.Add(b.Mul(sums, b.FullLike(sums, r.alpha)), b.FullLike(sums, r.bias));
}

// norms ^ -beta
Value Factors(FuncBuilder& b, const Response& r, Value norms) {
  if (r.beta == 0.5) return b.Rsqrt(norms);
  if (r.beta == 1) return b.Div(b.FullLike(norms, 1), norms);
  return b.Exp(b.Mul(b.Log(norms), b.FullLike(norms, -r.beta)));
}

}  // namespace

absl::Status ImportLrn(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Response r, RequireResponse(op));
  const DType dtype = op.InputDType(0);
  Value x = b.Convert(op.Input(0), AccumulatorType(dtype));
  Value norms = x ? Norms(b, r, x) : x;
  if (!norms) return op.Return(norms);
  return op.Return(b.Convert(b.Mul(x, Factors(b, r, norms)), dtype));
}

// dx[c] = dy[c] norms[c]^-beta - 2 alpha beta x[c] * sum of dy[k] y[k] / norms[k] over neighbours
absl::Status ImportLrnGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Response r, RequireResponse(op));
  if (op.InputRank(1) != 4 || op.InputRank(2) != 4) return op.Refuse("ranks");
  for (int d = 0; d < 4; ++d) {
    for (const int input : {1, 2}) b.AssumeEqual(op.InputDims(0)[d], op.InputDims(input)[d]);
  }
  const DType dtype = op.InputDType(0), wide = AccumulatorType(dtype);
  Value dy = b.Convert(op.Input(0), wide), x = b.Convert(op.Input(1), wide);
  Value y = b.Convert(op.Input(2), wide);
  if (!dy || !x || !y) return op.Return(Value());
  Value norms = Norms(b, r, x);
  Value shares = OverNeighbours(b, b.Div(b.Mul(dy, y), norms), r.radius);
  if (!shares) return op.Return(shares);
  Value others = b.Mul(b.Mul(x, b.FullLike(x, -2 * r.alpha * r.beta)), shares);
  Value own = b.Mul(dy, b.Exp(b.Mul(b.Log(norms), b.FullLike(norms, -r.beta))));
  return op.Return(b.Convert(b.Add(own, others), dtype));
}

}  // namespace tektite::importer
