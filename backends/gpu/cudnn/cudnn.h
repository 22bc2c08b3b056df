// cuDNN, NVIDIA's library of convolutions, as a file that is opened when a card is.
//
//   const Cudnn* dnn = Cudnn::OfThisMachine();           // null: there is none
//   dnn->version_text();                                 // "91900", as the library counts
//
// Nothing is linked, and a machine without the library uses the kernels of emit/ alone.  A library
// that was opened stays so until the process ends.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/cudnn/cudnn_types.h"

namespace tektite::gpu {

class Cudnn {
 public:
  // cuDNN 9: where the loader looks, in a toolkit, or in the package nvidia-cudnn beside this one.
  // Looked for once.
  static const Cudnn* OfThisMachine();
  // Another file with the same functions.  Unavailable, with a reason, where it is none.
  static absl::StatusOr<const Cudnn*> Open(const std::string& path);

#define TEKTITE_CUDNN_FUNCTION(name, symbol, parameters) DnnStatus(*name) parameters = nullptr;
#include "backends/gpu/cudnn/cudnn_function_list.inc"
#undef TEKTITE_CUDNN_FUNCTION

  std::string version_text() const;

 private:
  Cudnn() = default;
  size_t version_ = 0;
};

// What the library answered.  Unimplemented for a graph that it has no code for, ResourceExhausted
// without memory, Internal for all else.
absl::Status DnnError(DnnStatus status, absl::string_view what);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_H_
