#include "backends/gpu/cudnn/cudnn.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/library_file.h"
#include "backends/gpu/driver/library_paths.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// A status is a thousand of its class and a number in it.
constexpr DnnStatus kClass = 1000;

}  // namespace

const Cudnn* Cudnn::OfThisMachine() {
  static const Cudnn* const found =
      OpenFirst<Cudnn>(LibraryPaths({"libcudnn.so.9"}, {"nvidia/cudnn/lib"}));
  return found;
}

absl::StatusOr<const Cudnn*> Cudnn::Open(const std::string& path) {
  LibraryFile file(path);
  std::unique_ptr<Cudnn> dnn(new Cudnn());
#define TEKTITE_CUDNN_FUNCTION(name, symbol, parameters) file.Find(#symbol, &dnn->name);
#include "backends/gpu/cudnn/cudnn_function_list.inc"
#undef TEKTITE_CUDNN_FUNCTION
  size_t (*version)() = nullptr;
  file.Find("cudnnGetVersion", &version);
  TEKTITE_RETURN_IF_ERROR(file.Finish("cuDNN"));
  dnn->version_ = version();
  return KeepUntilExit<Cudnn>(std::move(dnn));
}

std::string Cudnn::version_text() const { return absl::StrCat(version_); }

absl::Status DnnError(DnnStatus status, absl::string_view what) {
  if (status == kDnnSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", what, ": status ", status);
  if (status == kDnnHostAllocationFailed || status == kDnnDeviceAllocationFailed) {
    return absl::ResourceExhaustedError(message);
  }
  if (status / kClass == kDnnNotSupported / kClass) return absl::UnimplementedError(message);
  return absl::InternalError(message);
}

}  // namespace tektite::gpu
