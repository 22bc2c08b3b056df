#include "runtime_hooks/tensorflow/hook/fallback.h"

#include <memory>

#include "tensorflow/core/platform/errors.h"

namespace tektite::tf_hook {

using tensorflow::FunctionLibraryRuntime;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

absl::StatusOr<FunctionLibraryRuntime::Handle> Fallback::HandleFor(
    FunctionLibraryRuntime* runtime) {
  tensorflow::mutex_lock lock(mu_);
  for (const auto& [known, handle] : handles_) {
    if (known == runtime) return handle;
  }
  FunctionLibraryRuntime::Handle handle;
  TF_RETURN_IF_ERROR(runtime->Instantiate(function_name_, tensorflow::AttrSlice(), &handle));
  handles_.emplace_back(runtime, handle);
  return handle;
}

void Fallback::Run(OpKernelContext* context, tensorflow::AsyncOpKernel::DoneCallback done) {
  FunctionLibraryRuntime* const runtime = context->function_library();
  OP_REQUIRES_ASYNC(context, runtime != nullptr,
                    absl::InternalError("no function library for a Tektite cluster"), done);
  const absl::StatusOr<FunctionLibraryRuntime::Handle> handle = HandleFor(runtime);
  OP_REQUIRES_OK_ASYNC(context, handle.status(), done);

  FunctionLibraryRuntime::Options options(context->step_id());
  options.rendezvous = context->rendezvous();
  options.cancellation_manager = context->cancellation_manager();
  options.collective_executor = context->collective_executor();
  options.step_container = context->step_container();
  options.stats_collector = context->stats_collector();
  options.runner = context->runner();
  options.run_all_kernels_inline = context->run_all_kernels_inline();

  std::vector<Tensor> arguments;
  arguments.reserve(context->num_inputs());
  for (int i = 0; i < context->num_inputs(); ++i) arguments.push_back(context->input(i));
  auto results = std::make_shared<std::vector<Tensor>>();
  runtime->Run(options, *handle, arguments, results.get(),
               [context, results, done = std::move(done)](const absl::Status& status) {
                 if (!status.ok()) {
                   context->SetStatus(status);
                 } else {
                   for (size_t i = 0; i < results->size(); ++i) {
                     context->set_output(static_cast<int>(i), std::move((*results)[i]));
                   }
                 }
                 done();
               });
}

}  // namespace tektite::tf_hook
