#include "runtime_hooks/tensorflow/hook/fallback.h"

#include <functional>
#include <memory>
#include <vector>

#include "runtime_hooks/tensorflow/hook/closure_queue.h"
#include "runtime_hooks/tensorflow/hook/counters.h"
#include "runtime_hooks/tensorflow/hook/fallback_preparation.h"
#include "tensorflow/core/platform/errors.h"

namespace tektite::tf_hook {

using tensorflow::FunctionLibraryRuntime;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

Fallback::~Fallback() {
  for (const auto& [caller, preparation] : preparations_) preparation->Abandon();
}

// Takes what has been prepared meanwhile.
const Fallback::Instance* Fallback::Find(const Runtime* caller) {
  for (const Instance& instance : instances_) {
    if (instance.caller == caller) return &instance;
  }
  for (const auto& [of, preparation] : preparations_) {
    if (of != caller || !preparation->is_done() || !preparation->status().ok()) continue;
    return &instances_.emplace_back(Instance{of, preparation->runtime(), preparation->handle()});
  }
  return nullptr;
}

absl::StatusOr<Fallback::Instance> Fallback::InstanceFor(Runtime* caller) {
  tensorflow::mutex_lock lock(mu_);
  if (const Instance* const found = Find(caller); found != nullptr) return *found;
  Instance instance = {caller, caller, tensorflow::kInvalidHandle};
  TF_RETURN_IF_ERROR(
      caller->Instantiate(function_name_, tensorflow::AttrSlice(), &instance.handle));
  instances_.push_back(instance);
  return instance;
}

bool Fallback::PrepareInBackground(OpKernelContext* context) {
  Runtime* const caller = context->function_library();
  tensorflow::mutex_lock lock(mu_);
  if (caller == nullptr || Find(caller) != nullptr) return true;
  for (const auto& [of, preparation] : preparations_) {
    if (of == caller) return preparation->is_done();  // with an error: Run will have it, too
  }
  std::shared_ptr<FallbackPreparation> preparation =
      FallbackPreparation::Start(context, function_name_, is_repeatable_);
  if (preparation == nullptr) return true;
  HookCounters().prepared_fallbacks.fetch_add(1, std::memory_order_relaxed);
  preparations_.emplace_back(caller, std::move(preparation));
  return false;
}

void Fallback::Run(OpKernelContext* context) {
  Runtime* const caller = context->function_library();
  OP_REQUIRES(context, caller != nullptr,
              absl::InternalError("no function library for a Tektite cluster"));
  const absl::StatusOr<Instance> instance = InstanceFor(caller);
  OP_REQUIRES_OK(context, instance.status());

  const auto queue = std::make_shared<ClosureQueue>(*context->runner());
  std::function<void(std::function<void()>)> runner = [queue](std::function<void()> closure) {
    queue->Add(std::move(closure));
  };
  FunctionLibraryRuntime::Options options(context->step_id());
  options.rendezvous = context->rendezvous();
  options.cancellation_manager = context->cancellation_manager();
  options.collective_executor = context->collective_executor();
  options.step_container = context->step_container();
  options.stats_collector = context->stats_collector();
  options.runner = &runner;
  options.run_all_kernels_inline = context->run_all_kernels_inline();

  std::vector<Tensor> arguments;
  arguments.reserve(context->num_inputs());
  for (int i = 0; i < context->num_inputs(); ++i) arguments.push_back(context->input(i));
  std::vector<Tensor> results;
  absl::Status status;
  instance->runtime->Run(options, instance->handle, arguments, &results,
                         [queue, &status](const absl::Status& outcome) {
                           status = outcome;
                           queue->Finish();
                         });
  queue->RunUntilFinished();
  OP_REQUIRES_OK(context, status);
  for (size_t i = 0; i < results.size(); ++i) {
    context->set_output(static_cast<int>(i), std::move(results[i]));
  }
}

}  // namespace tektite::tf_hook
