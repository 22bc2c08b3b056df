#include "backends/gpu/cublaslt/cublaslt.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/library_paths.h"
#include "jit/base/status.h"

namespace tektite::gpu {
const CublasLt* CublasLt::OfThisMachine() {
  static const CublasLt* const found = []() -> const CublasLt* {
    for (const std::string& path :
         LibraryPaths({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
                      {"nvidia/cu13/lib", "nvidia/cublas/lib"})) {
      const absl::StatusOr<const CublasLt*> opened = Open(path);
      if (opened.ok()) return *opened;
    }
    return nullptr;
  }();
  return found;
}

absl::StatusOr<const CublasLt*> CublasLt::Open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no cuBLASLt: ", dlerror()));
  std::unique_ptr<CublasLt> lt(new CublasLt());
  const char* missing = nullptr;
#define TEKTITE_CUBLASLT_FUNCTION(name, symbol, parameters)                 \
  lt->name = reinterpret_cast<decltype(lt->name)>(dlsym(library, #symbol)); \
  if (lt->name == nullptr && missing == nullptr) missing = #symbol;
#include "backends/gpu/cublaslt/cublaslt_function_list.inc"
#undef TEKTITE_CUBLASLT_FUNCTION
  const auto version = reinterpret_cast<size_t (*)()>(dlsym(library, "cublasLtGetVersion"));
  if (version == nullptr && missing == nullptr) missing = "cublasLtGetVersion";
  if (missing != nullptr) {
    dlclose(library);
    return absl::UnavailableError(absl::StrCat(path, " has no function ", missing));
  }
  lt->version_ = version();
  // As long as the process: kernels of cards call it.
  static auto& mutex = *new std::mutex;
  static auto& opened = *new std::vector<std::unique_ptr<const CublasLt>>;
  std::lock_guard<std::mutex> lock(mutex);
  return opened.emplace_back(std::move(lt)).get();
}

std::string CublasLt::version_text() const { return absl::StrCat(version_); }

absl::Status LtError(LtStatus status, absl::string_view what) {
  if (status == kLtSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat("cuBLASLt: ", what, ": status ", status);
  switch (status) {
    case kLtAllocationFailed:
      return absl::ResourceExhaustedError(message);
    case kLtArchitectureMismatch:
    case kLtNotSupported:
      return absl::UnimplementedError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace tektite::gpu
