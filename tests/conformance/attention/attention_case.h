// Attention of f16 and bf16 as the tests of its kernels make it: products of that type, a softmax
// of f32 between them.
#ifndef TEKTITE_TESTS_CONFORMANCE_ATTENTION_CASE_H_
#define TEKTITE_TESTS_CONFORMANCE_ATTENTION_CASE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>

#include "tests/conformance/harness.h"

namespace tektite::testing {

struct AttentionCase {
  int64_t batch, heads, rows, keys, width, columns;
  friend std::ostream& operator<<(std::ostream& out, const AttentionCase& c) {
    return out << c.batch << "x" << c.heads << " heads, " << c.rows << " rows, " << c.keys
               << " keys, " << c.width << " -> " << c.columns;
  }
};

// As TensorFlow's Softmax of a narrow type is imported.
inline ir::Value NarrowSoftmax(ops::FuncBuilder& b, ir::Value x) {
  const int last = x.shape().rank() - 1;
  ir::Value wide = b.Convert(x, ir::DType::kF32);
  ir::Value e = b.Exp(b.Sub(wide, b.ReduceKeep(wide, {last}, "max")));
  ir::Value sum = b.ReduceKeep(e, {last}, "add");
  return b.Convert(b.Mul(e, b.Div(b.FullLike(sum, 1), sum)), x.dtype());
}

// Of [batch, length, heads, width] operands.
inline ir::Value ScaledScores(ops::FuncBuilder& b, ir::Value q, ir::Value k) {
  ir::Value s = b.DotGeneral(q, k, {{0, 2}, {0, 2}, {3}, {3}, {}, {}});
  return b.Mul(s, b.Scalar(q.dtype(), 0.125));
}
inline ir::Value ContextOf(ops::FuncBuilder& b, ir::Value logits, ir::Value v) {
  ir::Value o = b.DotGeneral(NarrowSoftmax(b, logits), v, {{0, 1}, {0, 2}, {3}, {1}, {}, {}});
  return b.Transpose(o, {0, 2, 1, 3});
}

struct AttentionOperands {
  ir::Value q, k, v;
};
inline AttentionOperands ParametersOf(ops::FuncBuilder& b, ir::DType dtype,
                                      const AttentionCase& c) {
  return {b.Parameter(Of(dtype, {c.batch, c.rows, c.heads, c.width})),
          b.Parameter(Of(dtype, {c.batch, c.keys, c.heads, c.width})),
          b.Parameter(Of(dtype, {c.batch, c.keys, c.heads, c.columns}))};
}

// `mask`, if any, is added to the scores.
inline ir::Value Attend(ops::FuncBuilder& b, const AttentionOperands& p, ir::Value mask = {}) {
  const ir::Value s = ScaledScores(b, p.q, p.k);
  return ContextOf(b, mask ? b.Add(s, mask) : s, p.v);
}

// The kinds of masks, of scores [batch, heads, rows, keys].
enum class Mask { kOfKeys, kOfPairs, kCausal, kKept };
inline constexpr Mask kMasks[] = {Mask::kOfKeys, Mask::kOfPairs, Mask::kCausal, Mask::kKept};
inline ir::Value MaskOf(ops::FuncBuilder& b, ir::DType dtype, Mask kind, const AttentionCase& c) {
  const ir::Dims space = {c.batch, c.heads, c.rows, c.keys};
  const auto place = [&](int dimension) { return b.Iota(ir::DType::kS32, space, dimension); };
  switch (kind) {
    case Mask::kOfKeys:
      return b.Parameter(Of(dtype, {c.batch, 1, 1, c.keys}));
    case Mask::kOfPairs:
      return b.Parameter(Of(dtype, {c.rows, c.keys}));
    case Mask::kCausal:
      return b.Select(b.Compare(place(3), place(2), "gt"), b.Full(dtype, -1e9, space),
                      b.Full(dtype, 0, space));
    case Mask::kKept:  // as a mask of tf.keras
      break;
  }
  ir::Value kept = b.Parameter(Of(ir::DType::kBool, {c.batch, 1, c.rows, c.keys}));
  return b.Mul(b.Sub(b.Scalar(dtype, 1), b.Convert(kept, dtype)), b.Scalar(dtype, -1e9));
}

// Of q [b, n, 2, width], k and v [b, k, 2, ...], with a mask of keys.
inline void ReturnAttentionOfUnknownSizes(ops::FuncBuilder& b, ir::DType dtype, int64_t width,
                                          int64_t columns) {
  const ir::Dim batch = ir::Dim::Symbol("b"), rows = ir::Dim::Symbol("n"),
                keys = ir::Dim::Symbol("k");
  const AttentionOperands p = {b.Parameter(ir::Shape(dtype, {batch, rows, 2, width})),
                               b.Parameter(ir::Shape(dtype, {batch, keys, 2, width})),
                               b.Parameter(ir::Shape(dtype, {batch, keys, 2, columns}))};
  const ir::Value mask =
      b.Reshape(b.Parameter(ir::Shape(dtype, {batch, 1, 1, keys})), {batch, keys});
  b.Return({Attend(b, p, b.BroadcastInDim(mask, {batch, 2, rows, keys}, {0, 3}))});
}

// Rows of a mask of pairs that leave nothing, little, and what is not finite.
inline constexpr int64_t kSpecialMaskRows = 9;
inline void SetSpecialMask(ir::Literal* mask, int64_t keys) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  auto* const m = mask->mutable_data<ir::BFloat16>();
  const auto set = [&](int64_t row, int64_t key, float v) {
    m[row * keys + key] = ir::BFloat16(v);
  };
  for (int64_t key = 0; key < keys; ++key) {
    set(0, key, -kInf);                       // nothing
    set(1, key, key < keys - 3 ? -kInf : 0);  // the last three
    set(2, key, key > 2 ? -kInf : 0);         // the first three
    set(3, key, key == keys / 2 ? kInf : 0);
    set(4, key, key == keys - 1 ? nan : 0);
    set(5, key, key == 0 ? nan : -kInf);
    set(6, key, static_cast<float>(key) * 100 - 9000);  // weights that vanish
    set(7, key, 3e38F);
    set(8, key, key % 2 == 0 ? -3e38F : -kInf);
  }
}

// Weights are rounded before they are divided by their sum, not after.
inline Tolerance NarrowRounding(ir::DType dtype) {
  return Tolerance::Relative(dtype == ir::DType::kBF16 ? 1.6e-2 : 2e-3);
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_ATTENTION_CASE_H_
