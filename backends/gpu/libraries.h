// The vendor's libraries that a card's kernels may be left to, as far as this machine has them.
//
//   Libraries libraries;
//   libraries.products = std::make_shared<ProductLibrary>(&card, CublasLt::OfThisMachine());
//   auto call = libraries.Make(kCublasLtLibrary, product.Write());     // Unimplemented without it
#ifndef TEKTITE_BACKENDS_GPU_LIBRARIES_H_
#define TEKTITE_BACKENDS_GPU_LIBRARIES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/driver/library_call.h"

namespace tektite::gpu {

class CudnnOnCard;
class ProductLibrary;

inline constexpr char kCublasLtLibrary[] = "cublaslt";
inline constexpr char kCudnnLibrary[] = "cudnn";
inline constexpr char kCudnnAttentionLibrary[] = "cudnn_attention";

struct Libraries {
  std::shared_ptr<ProductLibrary> products;  // cuBLASLt; null: there is none
  std::shared_ptr<CudnnOnCard> cudnn;        // null: there is none

  bool empty() const { return products == nullptr && cudnn == nullptr; }
  // Their versions, "cublaslt 130100, cudnn 91900"; empty: there are none.
  std::string version_text() const;
  // From a call's description.  InvalidArgument for bytes that are none, Unimplemented where the
  // library is not there or has no code for it.
  absl::StatusOr<std::shared_ptr<const LibraryCall>> Make(absl::string_view library,
                                                          absl::string_view description) const;
};

// What a call computes, "cuBLASLt: f32 [65,40] x [40,33]", and how many buffers it has.
// InvalidArgument for bytes that are no description.
struct DescribedCall {
  std::string text;
  int num_buffers = 0;
};
absl::StatusOr<DescribedCall> DescribeCall(absl::string_view library,
                                           absl::string_view description);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_LIBRARIES_H_
