// A fallback function that is being instantiated, and run once where that is done in the background
// by the compiler's thread of low priority.
//
// Why: with its kernels, and with what oneDNN's make in their first call, that takes TensorFlow 20
// to 40 ms for a MobileNetV2, and the request that would be the first to need it must not wait so
// long.
//
//   auto preparation = FallbackPreparation::Start(context, name, /*runs=*/true);
//   if (preparation == nullptr) ... the caller instantiates the function ...
//   if (preparation->is_done() && preparation->status().ok()) use its runtime() and handle()
//   preparation->Abandon();   // by its owner, before the device of its function goes
//
// The run takes TensorFlow's memory for all that the function computes, beside a request: only
// light calls are made in advance (IsLight).  A heavier function has its kernels made in advance
// and pays for oneDNN's in its first call, of which they are a small part.  XLA compiles a call of
// its own in that run, for seconds.  The owner never waits for that (abandonable.h), but its device
// does (lent_device.h): runtime and library are copies, since what belongs to a session or a
// dataset may go meanwhile.  One that is kept (KeptFallback) has a runtime on a device that stays
// (own_runtime.h), and is not abandoned.  Thread-safe.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_PREPARATION_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_PREPARATION_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime_hooks/tensorflow/hook/fallback/abandonable.h"
#include "runtime_hooks/tensorflow/hook/fallback/lent_device.h"
#include "runtime_hooks/tensorflow/hook/fallback/marked_fallback.h"
#include "tensorflow/core/common_runtime/process_function_library_runtime.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {

class FallbackPreparation {
 public:
  using Runtime = tensorflow::FunctionLibraryRuntime;

  // Whether a call that took compiled code so many nanoseconds (negative: not known) is one of a
  // few milliseconds and few megabytes.
  static bool IsLight(tensorflow::OpKernelContext* context, int64_t compiled_ns);
  // Null if it cannot be done in the background.  With `runs` the function, which must change
  // nothing, is run once, with what the inputs are now.
  static std::shared_ptr<FallbackPreparation> Start(tensorflow::OpKernelContext* context,
                                                    const std::string& function, bool runs);
  // To be kept, where CanKeep it.  The first is done in the background, the second before it
  // returns, without a run.  Null if they cannot be done.
  static std::shared_ptr<FallbackPreparation> StartKept(tensorflow::OpKernelContext* context,
                                                        const std::string& function, bool runs);
  static std::shared_ptr<FallbackPreparation> DoKept(tensorflow::OpKernelContext* context,
                                                     const std::string& function);
  // As Start, of the function that MarkedFallback makes of a cluster's body (marked_fallback.h);
  // nothing is run.
  static std::shared_ptr<FallbackPreparation> StartMarked(tensorflow::OpKernelContext* context,
                                                          MarkedRequest request);
  // Whether it does the same in any runtime: none of its ops has a state.
  static bool CanKeep(tensorflow::OpKernelContext* context, const std::string& function);
  ~FallbackPreparation();

  bool is_done() const { return work_.is_done(); }
  // Once it is done.
  const absl::Status& status() const { return status_; }
  Runtime* runtime() const { return runtime_; }
  Runtime::Handle handle() const { return handle_; }

  // Does not wait.  The function is gone, or goes when the work has ended.
  void Abandon();

 private:
  explicit FallbackPreparation(std::string function);
  static std::shared_ptr<FallbackPreparation> Schedule(std::shared_ptr<FallbackPreparation> made,
                                                       tensorflow::OpKernelContext* context);
  absl::Status CopyRuntime(Runtime* caller);
  absl::Status MakeOwnRuntime(Runtime* caller);
  absl::Status Instantiate();
  void Work();
  void RunOnce();
  void Release();

  std::string function_;
  std::optional<MarkedRequest> marked_;
  const pid_t process_;  // whose it is: in a child made by fork nothing can be said of TensorFlow
  Abandonable work_;
  LentDevice lent_;
  std::unique_ptr<tensorflow::FunctionLibraryDefinition> functions_;
  std::unique_ptr<tensorflow::ProcessFunctionLibraryRuntime> owned_;
  Runtime* runtime_ = nullptr;
  Runtime::Handle handle_ = tensorflow::kInvalidHandle;
  absl::Status status_;
  tensorflow::ResourceMgr* resources_ = nullptr;
  std::vector<tensorflow::Tensor> arguments_;
  bool runs_ = false;
};

// A place where a cluster's fallback waits for the next op of that cluster (prepared_cluster.h).
// Thread-safe.
class KeptFallback {
 public:
  std::shared_ptr<FallbackPreparation> Get() {
    tensorflow::mutex_lock lock(mu_);
    return preparation_;
  }
  void Set(std::shared_ptr<FallbackPreparation> preparation) {
    tensorflow::mutex_lock lock(mu_);
    preparation_.swap(preparation);
  }

 private:
  tensorflow::mutex mu_;
  std::shared_ptr<FallbackPreparation> preparation_ TF_GUARDED_BY(mu_);
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_PREPARATION_H_
