// Runs the compiled code of one cluster for either caller: its node in a graph (cluster_op.cc), or
// a call that goes past the graph (direct_calls.h).
//
//   auto runner = std::make_shared<ClusterRunner>(attributes);       // with the kernel
//   runner->Prepare(context, body, inputs);                          // at each run from a graph
//   const Reason why = runner->Run(context, inputs, {}, &kernels);
//   if (why != Reason::NONE) kernels.Run(why, "");   // nothing is set: TensorFlow's kernels
//
// The compiler decides which side runs a call, and asks `kernels` for TensorFlow's.  The hook
// leaves calls to TensorFlow before it asks the compiler where inputs cannot be read
// (held_inputs.h), and where XLA's results count (xla_guard.h).
//
// Thread-safe.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLUSTER_RUNNER_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLUSTER_RUNNER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/tensorflow/hook/fallback/fallback_preparation.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_attributes.h"
#include "runtime_hooks/tensorflow/hook/reason.h"
#include "runtime_hooks/tensorflow/hook/run/held_inputs.h"
#include "runtime_hooks/tensorflow/hook/run/prepared_cluster.h"
#include "runtime_hooks/tensorflow/hook/run/xla_guard.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {

// TensorFlow's kernels for one call.
class TensorFlowKernels {
 public:
  virtual ~TensorFlowKernels() = default;
  // Whether they are made, so that Run takes their own time alone; otherwise that has begun, in the
  // background.  `compiled_ns`: what a call like this one took compiled code; negative: not known.
  virtual bool AreReady(int64_t compiled_ns) = 0;
  // Whether AreReady has nothing more to do, and needs to know no time.
  virtual bool is_ready() const = 0;
  // Sets the outputs of the context, or its status.  `message`: the compiler's, where no code can
  // be made.
  virtual void Run(Reason why, const char* message) = 0;
};

class ClusterRunner {
 public:
  using Inputs = InputReader::Inputs;

  explicit ClusterRunner(const ClusterAttributes& attributes);
  ~ClusterRunner();
  ClusterRunner(const ClusterRunner&) = delete;
  ClusterRunner& operator=(const ClusterRunner&) = delete;

  // Does something at the first run only: many kernels are made that never run.
  void Prepare(tensorflow::OpKernelContext* context, const std::string& body, Inputs inputs) {
    absl::call_once(once_, [&] { PrepareFirst(context, body, inputs); });
  }

  // Sets the outputs of `context`, which are the cluster's, or has `kernels` do so, and returns
  // Reason::NONE; otherwise why not.
  // `variables`: see InputReader::Read.  `kernels` null: the caller has none, and is served only
  // where compiled code has won, and no comparison or check is due.
  Reason Run(tensorflow::OpKernelContext* context, Inputs inputs,
             absl::Span<tensorflow::Var* const> variables, TensorFlowKernels* kernels);
  // Whether calls have failed so often that compiled code is hardly tried any more, or are XLA's.
  bool HasGivenWay() const {
    return (is_prepared() && prepared_->Standing() < 0) || guard_.IsXlasForGood();
  }
  // XLA has run a call in the place of which Run returned Reason::HOST_UNLIKE_XLA.
  void ExamineXla(tensorflow::OpKernelContext* context);

  // Nothing else is in the cluster's function.  Before the first run.
  void SetAlone() { is_alone_ = true; }

  const tensorflow::DataTypeVector& input_types() const { return input_types_; }
  const tensorflow::DataTypeVector& output_types() const { return output_types_; }
  // The values of the inputs that come from constants, once prepared; those of all other inputs are
  // empty.
  const std::vector<tensorflow::Tensor>& constants() const { return constants_; }
  // Whether compiled code is known to be faster at some shapes.
  bool HasWon() const { return is_prepared() && prepared_->Standing() > 0; }
  // Where a fallback of this cluster may wait for the next op; null where the cluster itself does
  // not.  Once prepared.
  KeptFallback* kept_fallback() const {
    return body_.empty() ? nullptr : prepared_->kept_fallback();
  }
  bool is_prepared() const { return is_prepared_.load(std::memory_order_acquire); }

  // Keeps `binding` (direct_calls.h) alive in the place of an earlier one.
  void SetBinding(std::shared_ptr<const void> binding) {
    has_binding_.store(true, std::memory_order_relaxed);
    tensorflow::mutex_lock lock(mu_);
    binding_.swap(binding);
  }

 private:
  struct HostCall;
  void PrepareFirst(tensorflow::OpKernelContext* context, const std::string& body, Inputs inputs);

  tensorflow::DataTypeVector input_types_, output_types_;
  std::string cluster_name_;
  bool is_alone_ = false;
  const bool on_card_;
  const std::vector<int32_t> output_spaces_;  // empty: all in the host's memory
  std::vector<int> constant_inputs_, updated_inputs_;
  std::unique_ptr<InputReader> reader_;
  absl::once_flag once_;
  std::unique_ptr<PreparedCluster> prepared_;
  std::vector<tensorflow::Tensor> constants_;
  std::atomic<bool> is_prepared_{false};
  std::atomic<int64_t> last_run_ns_{-1};  // of compiled code, while TensorFlow's are not ready
  std::atomic<bool> has_binding_{false};
  XlaGuard guard_;
  tensorflow::mutex mu_;
  std::shared_ptr<const void> binding_ TF_GUARDED_BY(mu_);
  std::string body_;  // where the prepared cluster is left to the next that has this body
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLUSTER_RUNNER_H_
