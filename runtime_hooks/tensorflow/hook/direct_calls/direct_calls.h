// Calls of a function that go past its graph, to the one cluster that is all of it.
//
// Why: TensorFlow takes 50 us for a call of the smallest function and 0.9 ms for one that captures
// 262 variables.  So the caller (fast_calls, python/tektite/_direct.py) learns once which cluster a
// function is and its captures, and from then on runs the cluster itself:
//   std::vector<int64_t> plan = Bind(request);                    // once
//   Reason why = CallDirectly(plan[0], args, outputs);  // each time
// plan[0] names the binding, 0 if there is none.  The outputs of the cluster follow, one for each
// result of the function.
// CallDirectly serves what compiled code has already won in the comparison.  It declines, and
// nothing has happened, when TensorFlow's kernels are to run or to be measured, when there is no
// code, or when the binding is gone: then the caller makes the call in the ordinary way.
//
// A binding holds the captures and goes with the function; it never keeps one alive.
// Graphs cannot name any of this: there is no op for it.
//
// Thread-safe.  Limits: the last binding of a function is the one that counts.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_DIRECT_CALLS_DIRECT_CALLS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_DIRECT_CALLS_DIRECT_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_function.h"
#include "runtime_hooks/tensorflow/hook/run/cluster_runner.h"
#include "tensorflow/core/framework/device_base.h"

namespace tektite::tf_hook {

// `device`: where the function is; another process-wide table of functions (a session's) may have
// another function of that name.
void OfferToDirectCalls(const WholeFunction& function, const tensorflow::DeviceBase* device,
                        const std::shared_ptr<ClusterRunner>& runner);

struct BindRequest {
  std::string function;
  int num_args = 0;
  tensorflow::DeviceBase* device = nullptr;  // on which functions called from there run
  tensorflow::ResourceMgr* resources = nullptr;
  absl::Span<const tensorflow::Tensor* const> inputs;  // every argument and capture
};
__attribute__((visibility("default"))) std::vector<int64_t> Bind(const BindRequest& request);

// Whether the function was found to be a cluster.
__attribute__((visibility("default"))) bool IsOffered(const std::string& function);

// Whether the function's calls have failed so often that compiled code is hardly tried any more.
bool HasGivenWay(const std::string& function);

// Whether compiled code is known to be faster than a function's kernels at some shapes.
__attribute__((visibility("default"))) bool HasWon(const std::string& function);

// Sets the outputs and returns Reason::NONE, or says why not, and nothing has happened.
__attribute__((visibility("default"))) Reason CallDirectly(
    int64_t id, absl::Span<const tensorflow::Tensor* const> args,
    absl::Span<tensorflow::Tensor> outputs);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_DIRECT_CALLS_DIRECT_CALLS_H_
