// cuBLASLt, NVIDIA's library of products, as a file that is opened when a card is.
//
//   const CublasLt* lt = CublasLt::OfThisMachine();      // null: there is none
//   lt->version_text();                                  // "130100", as the library counts
//
// Nothing is linked, and a machine without the library uses the kernels of emit/ alone.  A library
// that was opened stays so until the process ends.
#ifndef TEKTITE_BACKENDS_GPU_CUBLASLT_CUBLASLT_H_
#define TEKTITE_BACKENDS_GPU_CUBLASLT_CUBLASLT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/cublaslt/cublaslt_types.h"

namespace tektite::gpu {

class CublasLt {
 public:
  // Of CUDA 13, 12 or 11: where the loader looks, in a toolkit, or in the package nvidia-cublas
  // beside this one.  Looked for once.
  static const CublasLt* OfThisMachine();
  // Another file with the same functions.  Unavailable, with a reason, where it is none.
  static absl::StatusOr<const CublasLt*> Open(const std::string& path);

#define TEKTITE_CUBLASLT_FUNCTION(name, symbol, parameters) LtStatus(*name) parameters = nullptr;
#include "backends/gpu/cublaslt/cublaslt_function_list.inc"
#undef TEKTITE_CUBLASLT_FUNCTION

  std::string version_text() const;

 private:
  CublasLt() = default;
  size_t version_ = 0;
};

// What the library answered.  Unimplemented for a product that it has no code for,
// ResourceExhausted without memory, Internal for all else.
absl::Status LtError(LtStatus status, absl::string_view what);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUBLASLT_CUBLASLT_H_
