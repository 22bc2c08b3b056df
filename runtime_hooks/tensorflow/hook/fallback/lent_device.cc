#include "runtime_hooks/tensorflow/hook/fallback/lent_device.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/fallback/abandonable.h"
#include "tensorflow/core/common_runtime/renamed_device.h"
#include "tensorflow/core/framework/resource_base.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Device;

// Lies in a device's resource manager and counts the works on the device.
class Works : public tensorflow::ResourceBase {
 public:
  // In a child made by fork the threads that work are not there.
  ~Works() override {
    if (getpid() == process_) count_->WaitUntilNone();
  }
  std::string DebugString() const override { return "Tektite's work in the background"; }
  const std::shared_ptr<WorkCount>& count() const { return count_; }

 private:
  const pid_t process_ = getpid();
  const std::shared_ptr<WorkCount> count_ = std::make_shared<WorkCount>();
};

// Null where `device` is a stand-in that does not have the resources of the device behind it.
Device* DeviceBehind(Device* device) {
  auto* const behind = static_cast<Device*>(device->UnderlyingDevice());
  return behind->resource_manager() == device->resource_manager() ? behind : nullptr;
}

absl::StatusOr<std::shared_ptr<void>> Lend(tensorflow::ResourceMgr* resources) {
  const pid_t process = getpid();
  const std::string name = absl::StrCat("background_", process);
  Works* works = nullptr;
  TF_RETURN_IF_ERROR(resources->LookupOrCreate<Works>("tektite", name, &works, [](Works** made) {
    *made = new Works;
    return absl::OkStatus();
  }));
  const tensorflow::core::ScopedUnref unref(works);
  works->count()->Add();
  return std::shared_ptr<void>(nullptr, [count = works->count(), process](void*) {
    if (getpid() == process) count->Remove();
  });
}

}  // namespace

absl::StatusOr<LentDevice> LendDevice(Device* device, Device* host) {
  std::vector<Device*> wanted = {device};
  if (host != nullptr && host != device) wanted.push_back(host);
  std::vector<std::unique_ptr<Device>> devices;
  for (Device* const one : wanted) {
    Device* const behind = DeviceBehind(one);
    if (behind == nullptr) return absl::UnimplementedError("a device with resources of its own");
    devices.push_back(tensorflow::RenamedDevice::NewRenamedDevice(
        one->name(), behind, /*owns_underlying=*/false, /*isolate_session_state=*/false));
  }
  LentDevice lent;
  lent.device = devices.front().get();
  lent.devices = std::make_unique<tensorflow::DynamicDeviceMgr>(std::move(devices));
  TF_ASSIGN_OR_RETURN(lent.loan, Lend(device->resource_manager()));
  return lent;
}

}  // namespace tektite::tf_hook
