// A device that work in the background uses, and that cannot go before the work has ended.
//
// Why: a session's devices go with it, and an iterator's stand-ins for them with the iterator.  The
// ops that have begun some work cannot wait for it when they go (abandonable.h).  So the device
// waits itself: TensorFlow destroys what is in a device's resource manager while the device still
// exists, and a resource of ours waits there when it is destroyed.
//
//   TF_ASSIGN_OR_RETURN(LentDevice lent, LendDevice(runtime->device(), host));
//   ... make a runtime on lent.devices, work, destroy the runtime ...
//   lent.loan = nullptr;
//
// The devices are stand-ins for the device itself, which no one else knows.  They may be used for
// longer than the loan lasts where the device is known to be there.
// Limits: none is lent where the device is a stand-in with a resource manager of its own.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_LENT_DEVICE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_LENT_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensorflow/core/common_runtime/device_mgr.h"
#include "tensorflow/core/framework/device.h"

namespace tektite::tf_hook {

struct LentDevice {
  std::unique_ptr<tensorflow::DeviceMgr> devices;
  tensorflow::Device* device = nullptr;  // of `devices`
  std::shared_ptr<void> loan;            // ends with the last copy
};

// `host`: the CPU beside `device`, which may be the same, or null.
absl::StatusOr<LentDevice> LendDevice(tensorflow::Device* device, tensorflow::Device* host);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_LENT_DEVICE_H_
