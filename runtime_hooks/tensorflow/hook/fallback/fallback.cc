#include "runtime_hooks/tensorflow/hook/fallback/fallback.h"

#include <functional>
#include <memory>
#include <vector>

#include "runtime_hooks/tensorflow/hook/fallback/fallback_preparation.h"
#include "runtime_hooks/tensorflow/hook/fallback/own_runtime.h"
#include "runtime_hooks/tensorflow/hook/run/closure_queue.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/platform/errors.h"

namespace tektite::tf_hook {

using tensorflow::FunctionLibraryRuntime;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

Fallback::~Fallback() {
  for (const auto& [caller, preparation] : preparations_) preparation->Abandon();
  if (marked_ != nullptr) marked_->Abandon();
}

const Fallback::Instance* Fallback::Take(Runtime* caller, const FallbackPreparation* preparation) {
  if (preparation == nullptr || !preparation->is_done() || !preparation->status().ok()) {
    return nullptr;
  }
  return &instances_.emplace_back(Instance{caller, preparation->runtime(), preparation->handle()});
}

// Takes the function that has been prepared meanwhile.
const Fallback::Instance* Fallback::Find(Runtime* caller, KeptFallback* kept) {
  if (marked_caller_ == caller && marked_->is_done()) {
    if (marked_->status().ok()) {
      instances_.push_front({caller, marked_->runtime(), marked_->handle()});
    }
    marked_caller_ = nullptr;
  }
  for (const Instance& instance : instances_) {
    if (instance.caller == caller) return &instance;
  }
  for (const auto& [of, preparation] : preparations_) {
    if (of != caller) continue;
    if (const Instance* const taken = Take(caller, preparation.get()); taken != nullptr) {
      return taken;
    }
  }
  return kept == nullptr ? nullptr : Take(caller, kept->Get().get());
}

absl::StatusOr<Fallback::Instance> Fallback::InstanceFor(OpKernelContext* context,
                                                         KeptFallback* kept) {
  Runtime* const caller = context->function_library();
  tensorflow::mutex_lock lock(mu_);
  if (const Instance* const found = Find(caller, kept); found != nullptr) return *found;
  if (kept != nullptr && kept->Get() == nullptr &&
      FallbackPreparation::CanKeep(context, function_name_)) {
    kept->Set(FallbackPreparation::DoKept(context, function_name_));
    if (const Instance* const found = Find(caller, kept); found != nullptr) return *found;
  }
  Instance instance = {caller, caller, tensorflow::kInvalidHandle};
  TF_RETURN_IF_ERROR(
      caller->Instantiate(function_name_, tensorflow::AttrSlice(), &instance.handle));
  instances_.push_back(instance);
  return instance;
}

bool Fallback::PrepareInBackground(OpKernelContext* context, KeptFallback* kept,
                                   int64_t compiled_ns) {
  Runtime* const caller = context->function_library();
  if (kept != nullptr && !OwnRuntime::Fits(context)) kept = nullptr;
  tensorflow::mutex_lock lock(mu_);
  if (caller == nullptr || Find(caller, kept) != nullptr) {
    is_prepared_.store(true, std::memory_order_relaxed);
    return true;
  }
  for (const auto& [of, preparation] : preparations_) {
    if (of == caller) return preparation->is_done();  // with an error: Run will have it, too
  }
  if (kept != nullptr) {
    if (const auto preparation = kept->Get(); preparation != nullptr) return preparation->is_done();
  }
  const bool is_kept = kept != nullptr && FallbackPreparation::CanKeep(context, function_name_);
  const bool runs = is_repeatable_ && FallbackPreparation::IsLight(context, compiled_ns);
  std::shared_ptr<FallbackPreparation> preparation =
      is_kept ? FallbackPreparation::StartKept(context, function_name_, runs)
              : FallbackPreparation::Start(context, function_name_, runs);
  if (preparation == nullptr) return true;
  HookCounters().prepared_fallbacks.fetch_add(1, std::memory_order_relaxed);
  if (is_kept) {
    kept->Set(std::move(preparation));
  } else {
    preparations_.emplace_back(caller, std::move(preparation));
  }
  return false;
}

void Fallback::MarkInBackground(OpKernelContext* context, const MarkedRequest& request) {
  if (context->function_library() == nullptr || is_marked_.exchange(true)) return;
  std::shared_ptr<FallbackPreparation> marked = FallbackPreparation::StartMarked(context, request);
  if (marked == nullptr) return;
  tensorflow::mutex_lock lock(mu_);
  marked_caller_ = context->function_library();
  marked_ = std::move(marked);
}

void Fallback::Run(OpKernelContext* context, KeptFallback* kept) {
  OP_REQUIRES(context, context->function_library() != nullptr,
              absl::InternalError("no function library for a Tektite cluster"));
  if (kept != nullptr && !OwnRuntime::Fits(context)) kept = nullptr;
  const absl::StatusOr<Instance> instance = InstanceFor(context, kept);
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
  OP_REQUIRES(context, results.size() == static_cast<size_t>(context->num_outputs()),
              absl::InternalError("a cluster's function has another number of results"));
  for (size_t i = 0; i < results.size(); ++i) {
    OP_REQUIRES(context, results[i].dtype() == context->expected_output_dtype(static_cast<int>(i)),
                absl::InternalError("a cluster's function has a result of another type"));
    context->set_output(static_cast<int>(i), std::move(results[i]));
  }
}

}  // namespace tektite::tf_hook
