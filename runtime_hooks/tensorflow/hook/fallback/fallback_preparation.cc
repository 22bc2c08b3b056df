#include "runtime_hooks/tensorflow/hook/fallback/fallback_preparation.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/memory/memory.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/fallback/own_runtime.h"
#include "runtime_hooks/tensorflow/hook/run/closure_queue.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/lib/random/random.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

// Making oneDNN's kernels in the first call takes as long as such a call or longer; a MobileNetV2
// has 20 to 40 ms of it and calls of 3.
constexpr int64_t kLongestLightRun = 30'000'000;
constexpr size_t kMostLightBytes = size_t{16} << 20;

}  // namespace

FallbackPreparation::FallbackPreparation(std::string function)
    : function_(std::move(function)), process_(getpid()) {}

FallbackPreparation::~FallbackPreparation() = default;

std::shared_ptr<FallbackPreparation> FallbackPreparation::Start(
    tensorflow::OpKernelContext* context, const std::string& function, bool runs) {
  std::shared_ptr<FallbackPreparation> made(new FallbackPreparation(function));
  if (!made->CopyRuntime(context->function_library()).ok()) return nullptr;
  made->runs_ = runs;
  made->resources_ = context->resource_manager();
  return Schedule(std::move(made), context);
}

std::shared_ptr<FallbackPreparation> FallbackPreparation::StartMarked(
    tensorflow::OpKernelContext* context, MarkedRequest request) {
  std::shared_ptr<FallbackPreparation> made(new FallbackPreparation(""));
  if (!made->CopyRuntime(context->function_library()).ok()) return nullptr;
  made->marked_ = std::move(request);
  return Schedule(std::move(made), context);
}

bool FallbackPreparation::IsLight(tensorflow::OpKernelContext* context, int64_t compiled_ns) {
  size_t bytes = 0;
  for (int i = 0; i < context->num_inputs(); ++i) {
    const tensorflow::Tensor& input = context->input(i);
    if (input.dtype() != tensorflow::DT_RESOURCE) bytes += input.TotalBytes();
  }
  return compiled_ns >= 0 && compiled_ns <= kLongestLightRun && bytes <= kMostLightBytes;
}

bool FallbackPreparation::CanKeep(tensorflow::OpKernelContext* context,
                                  const std::string& function) {
  if (!OwnRuntime::Fits(context)) return false;
  const auto record =
      context->function_library()->GetFunctionLibraryDefinition()->FindRecord(function);
  if (record == nullptr) return false;
  const auto& nodes = record->fdef().node_def();
  return std::all_of(nodes.begin(), nodes.end(), [](const tensorflow::NodeDef& node) {
    const auto runs_function = [](const auto& attribute) { return attribute.second.has_func(); };
    if (std::any_of(node.attr().begin(), node.attr().end(), runs_function)) return false;
    const tensorflow::OpDef* op = nullptr;
    return tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &op).ok() && !op->is_stateful();
  });
}

std::shared_ptr<FallbackPreparation> FallbackPreparation::StartKept(
    tensorflow::OpKernelContext* context, const std::string& function, bool runs) {
  std::shared_ptr<FallbackPreparation> made(new FallbackPreparation(function));
  if (!made->MakeOwnRuntime(context->function_library()).ok()) return nullptr;
  made->runs_ = runs;
  made->resources_ = made->runtime_->device()->resource_manager();
  return Schedule(std::move(made), context);
}

std::shared_ptr<FallbackPreparation> FallbackPreparation::DoKept(
    tensorflow::OpKernelContext* context, const std::string& function) {
  std::shared_ptr<FallbackPreparation> made(new FallbackPreparation(function));
  if (!made->MakeOwnRuntime(context->function_library()).ok()) return nullptr;
  made->Work();
  return made->status().ok() ? made : nullptr;
}

std::shared_ptr<FallbackPreparation> FallbackPreparation::Schedule(
    std::shared_ptr<FallbackPreparation> made, tensorflow::OpKernelContext* context) {
  const CompilerLibrary* const library = CompilerLibrary::IfOpen();
  if (library == nullptr) return nullptr;
  for (int i = 0; made->runs_ && i < context->num_inputs(); ++i) {
    made->arguments_.push_back(context->input(i));
  }
  // Never freed where the end of the process drops the task.
  auto task = std::make_unique<std::shared_ptr<FallbackPreparation>>(made);
  const auto run = [](void* argument) {
    const auto owned =
        absl::WrapUnique(static_cast<std::shared_ptr<FallbackPreparation>*>(argument));
    (*owned)->Work();
  };
  if (library->run_in_background(run, task.get()) == 0) return nullptr;
  task.release();
  return made;
}

absl::Status FallbackPreparation::CopyRuntime(Runtime* caller) {
  TF_ASSIGN_OR_RETURN(lent_, LendDevice(caller->device(), caller->device_mgr()->HostCPU()));
  // It shares the functions themselves.
  functions_ = std::make_unique<tensorflow::FunctionLibraryDefinition>(
      *caller->GetFunctionLibraryDefinition());
  owned_ = std::make_unique<tensorflow::ProcessFunctionLibraryRuntime>(
      lent_.devices.get(), tensorflow::Env::Default(), caller->config_proto(),
      caller->graph_def_version(), functions_.get(), tensorflow::OptimizerOptions());
  runtime_ = owned_->GetFLR(lent_.device->name());
  return runtime_ == nullptr ? absl::InternalError("no function runtime") : absl::OkStatus();
}

absl::Status FallbackPreparation::MakeOwnRuntime(Runtime* caller) {
  TF_ASSIGN_OR_RETURN(OwnRuntime own, OwnRuntime::Create(caller, function_));
  functions_ = std::move(own.functions);
  owned_ = std::move(own.process);
  runtime_ = own.runtime;
  return absl::OkStatus();
}

absl::Status FallbackPreparation::Instantiate() {
  if (marked_) {
    TF_ASSIGN_OR_RETURN(function_, AddMarkedFallback(*marked_, runtime_, functions_.get()));
    HookCounters().remade_clusters.fetch_add(1, std::memory_order_relaxed);
  }
  Runtime::InstantiateOptions options;
  options.lib_def = functions_.get();
  options.create_kernels_eagerly = true;
  return runtime_->Instantiate(function_, tensorflow::AttrSlice(), options, &handle_);
}

void FallbackPreparation::Work() {
  if (getpid() != process_ || !work_.Begin()) return;
  const std::shared_ptr<void> loan = std::move(lent_.loan);
  status_ = Instantiate();
  if (status_.ok() && runs_ && !work_.is_abandoned()) RunOnce();
  arguments_.clear();
  if (!work_.End()) Release();
}

// The run's results are dropped, an error included.
void FallbackPreparation::RunOnce() {
  HookCounters().runs_in_advance.fetch_add(1, std::memory_order_relaxed);
  // All on this thread, however many closures there are.
  const auto queue = std::make_shared<ClosureQueue>([](ClosureQueue::Closure) {});
  std::function<void(ClosureQueue::Closure)> runner = [queue](ClosureQueue::Closure closure) {
    queue->Add(std::move(closure));
  };
  Runtime::Options options(-static_cast<int64_t>(tensorflow::random::New64() >> 1));
  tensorflow::ScopedStepContainer container(options.step_id, [this](const std::string& name) {
    resources_->Cleanup(name).IgnoreError();
  });
  options.step_container = &container;
  options.create_rendezvous = true;
  options.runner = &runner;
  std::vector<tensorflow::Tensor> results;
  runtime_->Run(options, handle_, arguments_, &results,
                [queue](const absl::Status&) { queue->Finish(); });
  queue->RunUntilFinished();
}

void FallbackPreparation::Release() {
  arguments_.clear();
  owned_ = nullptr;  // before the device that it is on
}

void FallbackPreparation::Abandon() {
  if (getpid() != process_ || !work_.Abandon()) return;
  Release();
  lent_.loan = nullptr;
}

}  // namespace tektite::tf_hook
