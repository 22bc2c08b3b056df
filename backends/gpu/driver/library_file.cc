#include "backends/gpu/driver/library_file.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace tektite::gpu {

LibraryFile::LibraryFile(const std::string& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
  if (handle_ == nullptr) error_ = dlerror();
}

LibraryFile::~LibraryFile() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* LibraryFile::Address(const char* symbol) {
  void* const address = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
  if (address == nullptr && missing_ == nullptr) missing_ = symbol;
  return address;
}

absl::Status LibraryFile::Finish(absl::string_view library) {
  if (handle_ == nullptr) return absl::UnavailableError(absl::StrCat("no ", library, ": ", error_));
  if (missing_ != nullptr) {
    return absl::UnavailableError(absl::StrCat(path_, " has no function ", missing_));
  }
  handle_ = nullptr;
  return absl::OkStatus();
}

}  // namespace tektite::gpu
