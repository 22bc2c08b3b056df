#include "runtime_hooks/tensorflow/hook/fallback/own_runtime.h"

#include <utility>

#include "tensorflow/core/common_runtime/device_mgr.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/device_factory.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Device;
using tensorflow::DeviceMgr;

// With the process's threads, where devices share them. Null where none can be made.
const DeviceMgr* OwnDevices() {
  static const DeviceMgr* const devices = []() -> const DeviceMgr* {
    std::unique_ptr<Device> device = tensorflow::DeviceFactory::NewDevice(
        tensorflow::DEVICE_CPU, tensorflow::SessionOptions(), "/job:localhost/replica:0/task:0");
    if (device == nullptr) return nullptr;
    return new tensorflow::DynamicDeviceMgr(std::move(device));
  }();
  return devices;
}

const tensorflow::thread::ThreadPool* WorkersOf(const tensorflow::DeviceBase& device) {
  const auto* const threads = device.tensorflow_cpu_worker_threads();
  return threads == nullptr ? nullptr : threads->workers;
}

}  // namespace

bool OwnRuntime::Fits(tensorflow::OpKernelContext* context) {
  if (context->device()->tensorflow_accelerator_device_info() != nullptr) return false;
  const DeviceMgr* const devices = OwnDevices();
  return devices != nullptr && WorkersOf(*devices->HostCPU()) == WorkersOf(*context->device());
}

absl::StatusOr<OwnRuntime> OwnRuntime::Create(tensorflow::FunctionLibraryRuntime* caller,
                                              const std::string& function) {
  auto record = caller->GetFunctionLibraryDefinition()->FindRecord(function);
  if (record == nullptr) return absl::NotFoundError(function);
  OwnRuntime own;
  own.functions =
      std::make_unique<tensorflow::FunctionLibraryDefinition>(tensorflow::OpRegistry::Global());
#if TEKTITE_TF_MINOR >= 17
  TF_RETURN_IF_ERROR(own.functions->AddFunctionRecord(std::move(record)));
#else
  TF_RETURN_IF_ERROR(own.functions->AddFunctionDef(record->fdef(), record->stack_traces()));
#endif
  own.process = std::make_unique<tensorflow::ProcessFunctionLibraryRuntime>(
      OwnDevices(), tensorflow::Env::Default(), caller->config_proto(), caller->graph_def_version(),
      own.functions.get(), tensorflow::OptimizerOptions());
  own.runtime = own.process->GetFLR(OwnDevices()->HostCPU()->name());
  if (own.runtime == nullptr) return absl::InternalError("no function runtime on the own device");
  return own;
}

}  // namespace tektite::tf_hook
