// Stores what a cluster assigns to variables, by the rules that TensorFlow's own kernels keep.
//
//   VariableUpdates updates(context, &inputs);              // of one call
//   if (!updates.Begin(asked)) { ... nothing has changed: run TensorFlow's kernels ... }
//   ... the new values are written where `asked` says ...
//   updates.Commit();                                       // variables have them
//
// Begin locks every variable that is written, in the order of the mutexes' addresses as TensorFlow
// does, and keeps the locks until Commit: a call's updates are seen all or none.  It refuses when a
// variable is no longer what the call has read, since another thread's update would be lost (the
// call holds a reference, so other writers had to copy, and the same buffer is the same content).
// A variable whose buffer nothing else refers to is overwritten in place; otherwise it gets a new
// one, so that a holder of the old value (held_inputs.h of another cluster, a user's tensor) keeps
// it.
//
// A variable in copy_on_read_mode has been locked since it was read (held_inputs.h), and nothing
// else refers to its buffer.  It stays locked until the call ends.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_VARIABLE_UPDATES_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_VARIABLE_UPDATES_H_

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/tensorflow/hook/run/held_inputs.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/mutex.h"

namespace tektite::tf_hook {

class VariableUpdates {
 public:
  VariableUpdates(tensorflow::OpKernelContext* context, InputReader::Call* inputs)
      : context_(*context), inputs_(*inputs) {}
  ~VariableUpdates() { Unlock(); }
  VariableUpdates(const VariableUpdates&) = delete;
  VariableUpdates& operator=(const VariableUpdates&) = delete;

  // Fills in `memory`.  Called at most once; `asked` names an argument once.
  // `keeps_old`: no variable is overwritten, so that nothing has changed before Commit.
  bool Begin(absl::Span<tektite_update> asked, bool keeps_old);
  // With keeps_old: calls `visit` with each new value before Commit.
  template <typename Visit>
  void ForEachFresh(Visit visit) const {
    for (const Update& update : updates_) {
      if (update.is_fresh) visit(update.fresh);
    }
  }
  void Commit();

 private:
  struct Update {
    tensorflow::Var* variable = nullptr;
    int input = 0;
    tensorflow::Tensor fresh;  // the new value's memory where it is not the old one's
    bool is_fresh = false;
  };
  bool Lock();
  void Unlock();

  tensorflow::OpKernelContext& context_;
  InputReader::Call& inputs_;
  absl::InlinedVector<Update, 4> updates_;
  absl::InlinedVector<tensorflow::mutex*, 4> locked_;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_VARIABLE_UPDATES_H_
