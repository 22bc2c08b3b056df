#include "runtime_hooks/tensorflow/hook/fallback_preparation.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/memory/memory.h"
#include "runtime_hooks/tensorflow/hook/closure_queue.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/own_runtime.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/lib/random/random.h"

namespace tektite::tf_hook {

FallbackPreparation::FallbackPreparation(std::string function)
    : function_(std::move(function)), process_(getpid()) {}

FallbackPreparation::~FallbackPreparation() = default;

std::shared_ptr<FallbackPreparation> FallbackPreparation::Start(
    tensorflow::OpKernelContext* context, const std::string& function, bool is_repeatable) {
  std::shared_ptr<FallbackPreparation> made(new FallbackPreparation(function));
  if (!made->CopyRuntime(context->function_library()).ok()) return nullptr;
  made->is_repeatable_ = is_repeatable;
  made->resources_ = context->resource_manager();
  return Schedule(std::move(made), context);
}

bool FallbackPreparation::CanKeep(tensorflow::OpKernelContext* context,
                                  const std::string& function) {
  if (!OwnRuntime::Fits(context)) return false;
  const auto record =
      context->function_library()->GetFunctionLibraryDefinition()->FindRecord(function);
  if (record == nullptr) return false;
  const auto& nodes = record->fdef().node_def();
  return std::all_of(nodes.begin(), nodes.end(), [](const tensorflow::NodeDef& node) {
    const tensorflow::OpDef* op = nullptr;
    return tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &op).ok() && !op->is_stateful();
  });
}

std::shared_ptr<FallbackPreparation> FallbackPreparation::StartKept(
    tensorflow::OpKernelContext* context, const std::string& function) {
  std::shared_ptr<FallbackPreparation> made(new FallbackPreparation(function));
  if (!made->MakeOwnRuntime(context->function_library()).ok()) return nullptr;
  made->is_repeatable_ = true;
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
  for (int i = 0; made->is_repeatable_ && i < context->num_inputs(); ++i) {
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
  // It shares the functions themselves.
  functions_ = std::make_unique<tensorflow::FunctionLibraryDefinition>(
      *caller->GetFunctionLibraryDefinition());
  return caller->Clone(&empty_, &owned_, &runtime_, /*skip_flib_def=*/true);
}

absl::Status FallbackPreparation::MakeOwnRuntime(Runtime* caller) {
  TF_ASSIGN_OR_RETURN(OwnRuntime own, OwnRuntime::Create(caller, function_));
  functions_ = std::move(own.functions);
  owned_ = std::move(own.process);
  runtime_ = own.runtime;
  return absl::OkStatus();
}

void FallbackPreparation::Work() {
  tensorflow::mutex_lock lock(mu_);
  if (is_abandoned_ || getpid() != process_) return;
  Runtime::InstantiateOptions options;
  options.lib_def = functions_.get();
  options.create_kernels_eagerly = true;
  status_ = runtime_->Instantiate(function_, tensorflow::AttrSlice(), options, &handle_);
  if (status_.ok() && is_repeatable_) RunOnce();
  arguments_.clear();
  is_done_.store(true, std::memory_order_release);
}

// What comes of it, an error included, nobody wants to know.
void FallbackPreparation::RunOnce() {
  // All on this thread, however many closures there are.
  const auto queue = std::make_shared<ClosureQueue>([](ClosureQueue::Closure) {});
  std::function<void(ClosureQueue::Closure)> runner = [queue](ClosureQueue::Closure closure) {
    queue->Add(std::move(closure));
  };
  Runtime::Options options(-static_cast<int64_t>(tensorflow::random::New64() >> 1));
  tensorflow::ScopedStepContainer container(options.step_id, [this](const std::string& name) {
    resources_->Cleanup(name).IgnoreError();
  });
  tensorflow::CancellationManager cancellation;
  options.step_container = &container;
  options.cancellation_manager = &cancellation;
  options.create_rendezvous = true;
  options.runner = &runner;
  std::vector<tensorflow::Tensor> results;
  runtime_->Run(options, handle_, arguments_, &results,
                [queue](const absl::Status&) { queue->Finish(); });
  queue->RunUntilFinished();
}

void FallbackPreparation::Abandon() {
  if (getpid() != process_) return;  // the lock may be a thread's that the child does not have
  tensorflow::mutex_lock lock(mu_);
  is_abandoned_ = true;
  arguments_.clear();
  owned_ = nullptr;  // the background thread may be the last to let go of this
}

}  // namespace tektite::tf_hook
