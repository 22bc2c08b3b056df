// NVIDIA's driver, opened when a card is asked for.
//
//   TEKTITE_ASSIGN_OR_RETURN(const Driver* driver, Driver::OfThisMachine());
//   int cards = 0;
//   driver->DeviceGetCount(&cards);
//
// Nothing is linked and nothing is opened before that, so a process that asks for no card starts as
// if there were no driver.  What is missing is said in one line, with Unavailable: no library, a
// driver that is too old, no card.  A driver that was opened stays so until the process ends.
//
// A process that was forked from one that has opened the driver cannot use it: status() is Aborted
// there, and no function may be called.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_DRIVER_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_DRIVER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/driver/driver_types.h"

namespace tektite::gpu {

class Driver {
 public:
  // CUDA's version, as 1000 * major + 10 * minor: the oldest whose driver knows sm_90a and graphs
  // that are instantiated with flags.
  static constexpr int kOldestVersion = 12000;

  // The machine's, opened at the first call.  Every later call returns what that one found.
  static absl::StatusOr<const Driver*> OfThisMachine();
  // Another library with the same functions; it is never closed.
  static absl::StatusOr<const Driver*> Open(const std::string& path);

#define TEKTITE_DRIVER_FUNCTION(name, symbol, parameters) CuResult(*name) parameters = nullptr;
#include "backends/gpu/driver/driver_function_list.inc"
#undef TEKTITE_DRIVER_FUNCTION

  // OK, or Aborted in a child of the process that opened it.
  absl::Status status() const;
  int version() const { return version_; }
  std::string version_text() const;
  int num_cards() const { return num_cards_; }  // at least 1
  // "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)".
  std::string ErrorText(CuResult result) const;

 private:
  Driver();
  absl::Status Find(const std::string& path);
  absl::Status Start(const std::string& path);

  const uint32_t generation_;  // of the process, counted in forks
  int version_ = 0, num_cards_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_DRIVER_H_
