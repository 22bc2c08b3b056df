#include "backends/gpu/cublaslt/cublaslt.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/library_file.h"
#include "backends/gpu/driver/library_paths.h"
#include "jit/base/status.h"

namespace tektite::gpu {

const CublasLt* CublasLt::OfThisMachine() {
  static const CublasLt* const found = OpenFirst<CublasLt>(
      LibraryPaths({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
                   {"nvidia/cu13/lib", "nvidia/cublas/lib"}));
  return found;
}

absl::StatusOr<const CublasLt*> CublasLt::Open(const std::string& path) {
  LibraryFile file(path);
  std::unique_ptr<CublasLt> lt(new CublasLt());
#define TEKTITE_CUBLASLT_FUNCTION(name, symbol, parameters) file.Find(#symbol, &lt->name);
#include "backends/gpu/cublaslt/cublaslt_function_list.inc"
#undef TEKTITE_CUBLASLT_FUNCTION
  size_t (*version)() = nullptr;
  file.Find("cublasLtGetVersion", &version);
  TEKTITE_RETURN_IF_ERROR(file.Finish("cuBLASLt"));
  lt->version_ = version();
  return KeepUntilExit<CublasLt>(std::move(lt));
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
