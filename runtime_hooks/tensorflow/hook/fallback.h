// Runs a cluster's nodes with TensorFlow's own kernels.
//
// Why: whatever the compiler cannot do, for these shapes or at all, TensorFlow can, or refuses with
// an error that its users know.  The body is a function in the graph's library; it is instantiated
// at the first need (most clusters never fall back), once for each function runtime that the kernel
// meets.
//
//   fallback.Run(ctx, std::move(done));   // sets the outputs or the status of `ctx`, then calls
//   done
//
// Limits: all nodes run on the device of the cluster node.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_H_

#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {

class Fallback {
 public:
  explicit Fallback(std::string function_name) : function_name_(std::move(function_name)) {}

  void Run(tensorflow::OpKernelContext* context, tensorflow::AsyncOpKernel::DoneCallback done);

 private:
  absl::StatusOr<tensorflow::FunctionLibraryRuntime::Handle> HandleFor(
      tensorflow::FunctionLibraryRuntime* runtime);

  const std::string function_name_;
  tensorflow::mutex mu_;
  std::vector<
      std::pair<tensorflow::FunctionLibraryRuntime*, tensorflow::FunctionLibraryRuntime::Handle>>
      handles_ TF_GUARDED_BY(mu_);
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_H_
