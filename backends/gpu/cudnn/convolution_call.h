// A fusion that is a convolution as cuDNN computes one, and nothing else.
//
//   TEKTITE_ASSIGN_OR_RETURN(ConvolutionCall call, ConvolutionCall::Of(fusion, /*tf32=*/false));
//   call.ToString();                // "f32 [1,56,56,64] * [64,3,3,64]"
//
// Images are [n, pixels, channels], filters [features, window, channels], of f32, f16 or bf16 and
// static sizes, with one to three dimensions of pixels.  Three convolutions of the tensor IR are
// calls of cuDNN: the plain one; one whose input is spread out (lhs_dilation), which is the
// gradient of another's input; the gradient of a filter (jit/ops/filter_gradient.h).  All are
// described as the forward pass that they belong to.
//
// passes::StoreFeaturesFirst brings filters into that order.  cuDNN would fuse a bias and ReLU,
// too: f16 and bf16 then round once where our operations round each result, and f32 is slower than
// with a kernel behind it (docs/kernels/gpu_libraries.md).
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_CONVOLUTION_CALL_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_CONVOLUTION_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/library_operands.h"
#include "jit/ir/graph.h"

namespace tektite::gpu {

struct ConvolutionCall : LibraryOperands {
  enum class Kind : uint8_t { kForward, kInputGradient, kFilterGradient };

  Kind kind = Kind::kForward;
  ir::DType dtype = ir::DType::kF32;
  bool tf32 = false;  // f32 may be rounded to TF32
  // All at least 1, paddings at least 0, and below 2^31.
  int64_t batch = 1, channels = 1, features = 1, groups = 1;
  // For each dimension of the pixels, of which there are two or three: one is [1, pixels].
  std::vector<int64_t> in, window, out, strides, dilations, low, high;

  // Unimplemented, with a reason, for any other fusion.
  static absl::StatusOr<ConvolutionCall> Of(const ir::Node& fusion, bool tf32);
  // Of the convolution in a fusion whose filter is stored in any order: what remains when the
  // contraction stands alone and features come first.
  static absl::StatusOr<ConvolutionCall> OfContraction(const ir::Node& fusion, bool tf32);

  // Of the three arrays that the forward pass has: [n, channels, pixels], [features, channels of a
  // group, window], [n, features, pixels].
  std::vector<int64_t> Image() const;
  std::vector<int64_t> Filter() const;
  std::vector<int64_t> Result() const;

  std::string ToString() const;
  std::string Write() const;
  // InvalidArgument for bytes that are none.
  static absl::StatusOr<ConvolutionCall> Read(absl::string_view bytes);
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_CONVOLUTION_CALL_H_
