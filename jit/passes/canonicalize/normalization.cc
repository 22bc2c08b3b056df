// Rules of batch normalization.
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {

// batch_norm_inference(%x, %gamma, %beta, %mean, %variance)
//   ->  %scale = mul(rsqrt(add(%variance, epsilon)), %gamma)
//       %shift = sub(%beta, mul(%mean, %scale))
//       add(mul(%x, broadcast_in_dim(%scale)), broadcast_in_dim(%shift))
// Per channel first, as Keras spells it: two operations an element remain, and the rest depends on
// weights alone.  Rounds otherwise than (x - mean) * scale + beta: by an ulp of mean * scale.
// 16-bit floats are computed in 32 bits.
Value BatchNormInference(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  const int64_t feature = node->Int(Attr::feature_index);
  const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  auto parameter = [&](int i) { return b.Convert(node->operand(i), dtype); };
  Value gamma = parameter(1), beta = parameter(2), mean = parameter(3), variance = parameter(4);
  const Dims& dims = x.shape().dims();
  const Literal epsilon = Literal::ScalarOf(dtype, node->attrs().Double(Attr::epsilon));
  Value stable = b.Binary(Op::kAdd, variance, SplatTo(b, epsilon, variance.shape().dims()));
  Value scale = b.Binary(Op::kMul, b.Rsqrt(stable), gamma);
  Value shift = b.Binary(Op::kSub, beta, b.Binary(Op::kMul, mean, scale));
  Value y = b.Convert(x, dtype);
  y = b.Binary(Op::kMul, y, b.BroadcastInDim(scale, dims, {feature}));
  y = b.Binary(Op::kAdd, y, b.BroadcastInDim(shift, dims, {feature}));
  return b.Convert(y, x.dtype());
}

}  // namespace tektite::passes::rules
