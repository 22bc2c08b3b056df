// Runs a cluster's nodes with TensorFlow's own kernels.
//
// Why: whatever the compiler cannot do, for these shapes or at all, TensorFlow can, or refuses with
// an error that its users know.  The body is a function in the graph's library; it is instantiated
// at the first need (most clusters never fall back), once for each function runtime that the kernel
// meets.  That takes tens of milliseconds for a large one, so whoever can wait has it done in the
// background.
//
//   fallback.Run(context);   // sets the outputs or the status of `context`
//
//   if (fallback.PrepareInBackground(context)) ... Run takes no longer than its kernels do ...
//
// The thread that calls Run takes part in the work: it may be the last one that its pool has.
// Thread-safe.  Limits: all nodes run on the device of the cluster node.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_H_

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {

class FallbackPreparation;

class Fallback {
 public:
  // `is_repeatable`: a run changes nothing but its results.
  Fallback(std::string function_name, bool is_repeatable)
      : function_name_(std::move(function_name)), is_repeatable_(is_repeatable) {}
  ~Fallback();
  Fallback(const Fallback&) = delete;
  Fallback& operator=(const Fallback&) = delete;

  void Run(tensorflow::OpKernelContext* context);

  // Whether nothing (more) is to be prepared; otherwise it is being done.
  bool PrepareInBackground(tensorflow::OpKernelContext* context);

 private:
  using Runtime = tensorflow::FunctionLibraryRuntime;
  // The function as one runtime runs it.
  struct Instance {
    Runtime* caller;   // that the kernel met
    Runtime* runtime;  // that runs the function: the same, or a copy of it
    Runtime::Handle handle;
  };

  absl::StatusOr<Instance> InstanceFor(Runtime* caller);
  const Instance* Find(const Runtime* caller) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string function_name_;
  const bool is_repeatable_;
  tensorflow::mutex mu_;
  std::list<Instance> instances_ TF_GUARDED_BY(mu_);
  std::list<std::pair<Runtime*, std::shared_ptr<FallbackPreparation>>> preparations_
      TF_GUARDED_BY(mu_);
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_H_
