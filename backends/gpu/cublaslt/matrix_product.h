// A fusion that is a product of matrices as cuBLASLt computes one, and nothing else.
//
//   TEKTITE_ASSIGN_OR_RETURN(MatrixProduct product, MatrixProduct::Of(fusion));
//   product.ToString();                    // "f32 8x[128,64]x[64,256] + bias"
//
// The region holds a dot_general whose operands are parameters of f32, f16 or bf16, or of s8 with
// sums of s32, of static sizes; batch dimensions come first, and what is summed stands at one end
// of the rest, so that every operand is a row of matrices, each as stored or transposed.  Of s8
// cuBLASLt takes [m, k] and [n, k] alone, with k and n multiples of 4.
//
// Of cuBLASLt's epilogues only a bias of f32 is one of ours.  A bias of f16 or bf16 is added before
// the rounding of the product, where our operations round each result; its GELU is an
// approximation; and NVIDIA does not say what its ReLU makes of NaN.
#ifndef TEKTITE_BACKENDS_GPU_CUBLASLT_MATRIX_PRODUCT_H_
#define TEKTITE_BACKENDS_GPU_CUBLASLT_MATRIX_PRODUCT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/library_operands.h"
#include "jit/ir/graph.h"

namespace tektite::gpu {

struct MatrixProduct : LibraryOperands {
  ir::DType dtype = ir::DType::kF32;  // of the operands
  // [batch][m, k] x [k, n]; all at least 1 and below 2^31.
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool lhs_transposed = false, rhs_transposed = false;  // stored as [k, m], [n, k]

  // Unimplemented, with a reason, for any other fusion.
  static absl::StatusOr<MatrixProduct> Of(const ir::Node& fusion);
  // Of the contraction in a fusion, whatever else is there: what ApplySchedule leaves.
  static absl::StatusOr<MatrixProduct> OfContraction(const ir::Node& fusion);

  ir::DType result() const { return dtype == ir::DType::kS8 ? ir::DType::kS32 : dtype; }
  std::string ToString() const;
  std::string Write() const;
  // InvalidArgument for bytes that are none.
  static absl::StatusOr<MatrixProduct> Read(absl::string_view bytes);
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUBLASLT_MATRIX_PRODUCT_H_
