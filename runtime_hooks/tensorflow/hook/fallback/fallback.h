// Runs a cluster's nodes with TensorFlow's own kernels.
//
// Why: whatever the compiler cannot do, for these shapes or at all, TensorFlow can, or refuses with
// an error that its users know.  The body is a function in the graph's library; it is instantiated
// at the first need (most clusters never fall back), once for each function runtime that the kernel
// meets.  That takes tens of milliseconds for a large one, so a caller that can wait has it done in
// the background.  Where there is a place to keep it, and its kernels need nothing of the caller's,
// it is instantiated in a runtime of its own and serves the next op of the same body as well.
//
//   fallback.Run(context, kept);   // sets the outputs or the status of `context`
//
//   if (fallback.PrepareInBackground(context, kept, ns)) ... Run takes only its kernels' time ...
//
// `kept` is null where nothing must be kept, and outlives the Fallback.  The thread that calls Run
// takes part in the work: it may be the last one that its pool has.  Thread-safe.  Limits: all
// nodes run on the device of the cluster node.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {

class FallbackPreparation;
class KeptFallback;
struct MarkedRequest;

class Fallback {
 public:
  // `is_repeatable`: a run changes nothing but its results.
  Fallback(std::string function_name, bool is_repeatable)
      : function_name_(std::move(function_name)), is_repeatable_(is_repeatable) {}
  ~Fallback();
  Fallback(const Fallback&) = delete;
  Fallback& operator=(const Fallback&) = delete;

  void Run(tensorflow::OpKernelContext* context, KeptFallback* kept);

  // Whether nothing (more) needs preparation; otherwise it is in progress.  `compiled_ns`: what a
  // call like this one took compiled code, negative if that is not known.
  bool PrepareInBackground(tensorflow::OpKernelContext* context, KeptFallback* kept,
                           int64_t compiled_ns);
  // From some later call on Run takes the function that AddMarkedFallback makes
  // (marked_fallback.h). Begins that in the background, once.
  void MarkInBackground(tensorflow::OpKernelContext* context, const MarkedRequest& request);
  // Whether PrepareInBackground has had nothing to do: then nothing needs to know times for it.
  bool is_prepared() const { return is_prepared_.load(std::memory_order_relaxed); }

 private:
  using Runtime = tensorflow::FunctionLibraryRuntime;
  // The function as one runtime runs it.
  struct Instance {
    Runtime* caller;   // that the kernel met
    Runtime* runtime;  // that runs the function: the same, or a copy of it
    Runtime::Handle handle;
  };

  absl::StatusOr<Instance> InstanceFor(tensorflow::OpKernelContext* context, KeptFallback* kept);
  const Instance* Find(Runtime* caller, KeptFallback* kept) TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const Instance* Take(Runtime* caller, const FallbackPreparation* preparation)
      TF_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string function_name_;
  const bool is_repeatable_;
  std::atomic<bool> is_prepared_{false};
  std::atomic<bool> is_marked_{false};  // whether it has begun
  tensorflow::mutex mu_;
  std::list<Instance> instances_ TF_GUARDED_BY(mu_);  // the one to take first
  Runtime* marked_caller_ TF_GUARDED_BY(mu_) = nullptr;
  std::shared_ptr<FallbackPreparation> marked_ TF_GUARDED_BY(mu_);
  // Those that are not kept.
  std::list<std::pair<Runtime*, std::shared_ptr<FallbackPreparation>>> preparations_
      TF_GUARDED_BY(mu_);
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_H_
