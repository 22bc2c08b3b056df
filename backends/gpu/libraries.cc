#include "backends/gpu/libraries.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/gpu/cublaslt/prepared_product.h"
#include "backends/gpu/cudnn/prepared_attention.h"
#include "backends/gpu/cudnn/prepared_convolution.h"
#include "jit/base/status.h"

namespace tektite::gpu {

std::string Libraries::version_text() const {
  std::vector<std::string> texts;
  if (products != nullptr) {
    texts.push_back(absl::StrCat(kCublasLtLibrary, " ", products->lt().version_text()));
  }
  if (cudnn != nullptr) {
    texts.push_back(absl::StrCat(kCudnnLibrary, " ", cudnn->dnn().version_text()));
  }
  return absl::StrJoin(texts, ", ");
}

absl::StatusOr<std::shared_ptr<const LibraryCall>> Libraries::Make(
    absl::string_view library, absl::string_view description) const {
  if (library == kCublasLtLibrary) {
    TEKTITE_ASSIGN_OR_RETURN(const MatrixProduct product, MatrixProduct::Read(description));
    if (products == nullptr) return Unimplemented("there is no cuBLASLt");
    return PreparedProduct::Create(products, product);
  }
  if (library == kCudnnLibrary) {
    TEKTITE_ASSIGN_OR_RETURN(ConvolutionCall call, ConvolutionCall::Read(description));
    if (cudnn == nullptr) return Unimplemented("there is no cuDNN");
    return PreparedConvolution::Create(cudnn, std::move(call));
  }
  if (library == kCudnnAttentionLibrary) {
    TEKTITE_ASSIGN_OR_RETURN(AttentionCall call, AttentionCall::Read(description));
    if (cudnn == nullptr) return Unimplemented("there is no cuDNN");
    return PreparedAttention::Create(cudnn, std::move(call));
  }
  return InvalidArgument("'", library, "' is no library");
}

absl::StatusOr<DescribedCall> DescribeCall(absl::string_view library,
                                           absl::string_view description) {
  if (library == kCublasLtLibrary) {
    TEKTITE_ASSIGN_OR_RETURN(const MatrixProduct product, MatrixProduct::Read(description));
    return DescribedCall{absl::StrCat("cuBLASLt: ", product.ToString()), product.operands + 1};
  }
  if (library == kCudnnLibrary) {
    TEKTITE_ASSIGN_OR_RETURN(const ConvolutionCall call, ConvolutionCall::Read(description));
    return DescribedCall{absl::StrCat("cuDNN: ", call.ToString()), call.operands + 1};
  }
  if (library == kCudnnAttentionLibrary) {
    TEKTITE_ASSIGN_OR_RETURN(const AttentionCall call, AttentionCall::Read(description));
    return DescribedCall{absl::StrCat("cuDNN: ", call.ToString()), call.operands + 1};
  }
  return InvalidArgument("'", library, "' is no library");
}

}  // namespace tektite::gpu
