#include "backends/gpu/cudnn/cudnn.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/library_paths.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// A status is a thousand of its class and a number in it.
constexpr DnnStatus kClass = 1000;

}  // namespace

const Cudnn* Cudnn::OfThisMachine() {
  static const Cudnn* const found = []() -> const Cudnn* {
    for (const std::string& path : LibraryPaths({"libcudnn.so.9"}, {"nvidia/cudnn/lib"})) {
      const absl::StatusOr<const Cudnn*> opened = Open(path);
      if (opened.ok()) return *opened;
    }
    return nullptr;
  }();
  return found;
}

absl::StatusOr<const Cudnn*> Cudnn::Open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no cuDNN: ", dlerror()));
  std::unique_ptr<Cudnn> dnn(new Cudnn());
  const char* missing = nullptr;
#define TEKTITE_CUDNN_FUNCTION(name, symbol, parameters)                      \
  dnn->name = reinterpret_cast<decltype(dnn->name)>(dlsym(library, #symbol)); \
  if (dnn->name == nullptr && missing == nullptr) missing = #symbol;
#include "backends/gpu/cudnn/cudnn_function_list.inc"
#undef TEKTITE_CUDNN_FUNCTION
  const auto version = reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  if (version == nullptr && missing == nullptr) missing = "cudnnGetVersion";
  if (missing != nullptr) {
    dlclose(library);
    return absl::UnavailableError(absl::StrCat(path, " has no function ", missing));
  }
  dnn->version_ = version();
  // As long as the process: kernels of cards call it.
  static auto& mutex = *new std::mutex;
  static auto& opened = *new std::vector<std::unique_ptr<const Cudnn>>;
  std::lock_guard<std::mutex> lock(mutex);
  return opened.emplace_back(std::move(dnn)).get();
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
