#include "backends/gpu/driver/driver.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/library_file.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

std::atomic<uint32_t> forks{0};

uint32_t Generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string TooOld(absl::string_view path) {
  return absl::StrCat("; ", path, " must be of CUDA ", VersionText(Driver::kOldestVersion),
                      " or later");
}

}  // namespace

absl::StatusOr<const Driver*> Driver::OfThisMachine() {
  static const auto* const found = new absl::StatusOr<const Driver*>(Open(kLibrary));
  if (found->ok()) TEKTITE_RETURN_IF_ERROR((**found)->status());
  return *found;
}

Driver::Driver() : generation_(Generation()) {}

absl::Status Driver::status() const {
  if (Generation() == generation_) return absl::OkStatus();
  return absl::AbortedError(
      "a card cannot be used in a child of the process that opened NVIDIA's driver: open it after "
      "the fork alone");
}

absl::StatusOr<const Driver*> Driver::Open(const std::string& path) {
  std::unique_ptr<Driver> driver(new Driver());
  TEKTITE_RETURN_IF_ERROR(driver->Find(path));
  TEKTITE_RETURN_IF_ERROR(driver->Start(path));
  // Whatever lies on a card names its driver.
  return KeepUntilExit<Driver>(std::move(driver));
}

absl::Status Driver::Find(const std::string& path) {
  LibraryFile file(path);
#define TEKTITE_DRIVER_FUNCTION(name, symbol, parameters) file.Find(#symbol, &name);
#include "backends/gpu/driver/driver_function_list.inc"
#undef TEKTITE_DRIVER_FUNCTION
  // An old driver lacks functions, and is better named by its version.
  if (DriverGetVersion != nullptr && DriverGetVersion(&version_) == kCuSuccess &&
      version_ < kOldestVersion) {
    return absl::UnavailableError(
        absl::StrCat("the NVIDIA driver is of CUDA ", version_text(), TooOld(path)));
  }
  return file.Finish("NVIDIA driver");
}

absl::Status Driver::Start(const std::string& path) {
  CuResult result = Init(0);
  if (result == kCuSuccess) result = DeviceGetCount(&num_cards_);
  if (result == kCuNoDevice || (result == kCuSuccess && num_cards_ == 0)) {
    return absl::UnavailableError("the NVIDIA driver finds no card");
  }
  if (result == kCuStubLibrary) {
    return absl::UnavailableError(
        absl::StrCat(path, " is a toolkit's stand-in for linking, and no driver"));
  }
  if (result == kCuSuccess) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the NVIDIA driver does not start: ", ErrorText(result)));
}

std::string Driver::version_text() const { return VersionText(version_); }

std::string Driver::ErrorText(CuResult result) const {
  const char *name = nullptr, *sentence = nullptr;
  if (GetErrorName(result, &name) != kCuSuccess || name == nullptr) {
    return absl::StrCat("error ", result);
  }
  if (GetErrorString(result, &sentence) != kCuSuccess || sentence == nullptr) return name;
  return absl::StrCat(name, " (", sentence, ")");
}

}  // namespace tektite::gpu
