// The arguments of a cluster in one call, and which of them have not changed since the last one.
//
// Why: Keras weights are variables, so nothing about them may be computed in advance, unless one
// knows that they have not changed.  While we hold a reference to a variable's tensor, TensorFlow
// must copy the buffer on every dense update, so *the same buffer under the variable means the same
// content*.  Such an argument gets a version, and the compiler keeps the results that it computed
// from it (packed filters, folded batch norms).
//
// Example(tensorflow::OpKernelContext* context, InputReader& reader, InputReader::Inputs inputs):
//   InputReader::Call call;  // one for each run; there is one reader for each kernel
//   const Reason why = reader.Read(context, inputs, {}, &call);
//   if (why != Reason::NONE) return;  // TensorFlow's kernels run
//   tektite_call arguments = {};
//   arguments.args = call.args.data();  // valid while `call` lives
//
// Rules
//  * A variable is held from its first read.
//    When its buffer is found changed, it is released at once, and held again only after 3 runs,
//    then 6, 12, ...: a variable in training is soon left alone, so that its updates stay in place
//    and cost nothing.  64 quiet runs forgive the past.
//  * A variable with copy_on_read_mode is never held: sparse updates write in place under a shared
//    lock.  It is read under its lock, which the call keeps until it ends.
//  * A variable that the cluster itself updates is never held; no other input is the same variable.
//    One in copy_on_read_mode is locked for the call alone, since nothing would tell that its
//    content has changed between its reading and the update.
//  * The output of a constant node is held for good.
// Limits: an unheld, unchanged variable costs a tensor copy (a reference) a call; a held one, a
// lock and three comparisons (some 0.1 us).  A held buffer outlives its variable until the next
// call or the kernel's end.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_HELD_INPUTS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_HELD_INPUTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/tensorflow/hook/reason.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/mutex.h"
#include "tensorflow/core/platform/refcount.h"

namespace tektite::tf_hook {

class InputReader {
  struct Snapshot;

 public:
  using Inputs = absl::Span<const tensorflow::Tensor* const>;  // as the cluster has them

  // Everything one call borrows; the destructor unlocks and releases it.
  class Call {
   public:
    Call() = default;
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();

    absl::InlinedVector<tektite_tensor, 8> args;
    // The argument as a tensor, or null when it may not be shared (copy_on_read_mode).
    const tensorflow::Tensor* Shareable(int index) const;

    // For variable_updates.h.  The variable behind an input that the cluster updates, else null.
    tensorflow::Var* UpdatedVariable(int index) const;
    // Whether the variable behind an input is locked until the call ends: for reading, or, where
    // the cluster updates it, for the call alone.
    bool IsLocked(int index) const;
    // Whether any other still has the content that was read, `now` being its tensor.
    bool IsUnchanged(int index, const tensorflow::Tensor& now) const;
    // Drops the call's reference to the tensor that was read; the variable keeps it alive.
    void Release(int index);
    // Whether some variables are locked until the call ends.
    bool HoldsLocks() const { return !locked_.empty(); }

   private:
    friend class InputReader;
    Inputs inputs_;
    std::shared_ptr<const Snapshot> snapshot_;
    absl::InlinedVector<int64_t, 32> dims_;
    // For variables: our own reference, when the snapshot's was not good.
    std::vector<tensorflow::Tensor> owned_;
    absl::InlinedVector<std::pair<int, tensorflow::Var*>, 2> updated_;  // ascending
    std::vector<tensorflow::core::RefCountPtr<tensorflow::Var>> variables_;
    struct Lock {
      tensorflow::mutex* mu;
      bool is_exclusive;
    };
    absl::InlinedVector<Lock, 2> locked_;  // in the order of their addresses
    absl::InlinedVector<int, 2> unshareable_;
  };

  // `variable_types` has an entry for every input: the type its variable must have, or DT_RESOURCE
  // for any.  `updated_inputs` are variables that the cluster itself writes.  `spaces`: as
  // ClusterAttributes::input_spaces.
  InputReader(std::vector<tensorflow::DataType> input_types,
              std::vector<tensorflow::DataType> variable_types,
              const std::vector<int>& constant_inputs, const std::vector<int>& updated_inputs,
              std::vector<int32_t> spaces);

  // Whether any input is a variable or a constant.
  bool has_held_inputs() const { return has_held_inputs_; }

  // Fills `call` from `inputs`, which must outlive it; `context` finds variables that have names.
  // `known`: for each input the variable that its handle keeps alive, or null; or nothing at all.
  // Returns Reason::NONE, or why TensorFlow's own kernels must run (and tell the user what
  // is wrong).
  Reason Read(tensorflow::OpKernelContext* context, Inputs inputs,
              absl::Span<tensorflow::Var* const> known, Call* call);

 private:
  using VariableList = std::vector<std::pair<int, tensorflow::Var*>>;  // with their inputs' indices
  using Tensors = absl::InlinedVector<const tensorflow::Tensor*, 8>;   // null: as it is held
  enum class Kind : uint8_t { kTensor, kConstant, kVariable, kUpdated };

  // The facts about one held input that a run needs; never changed once another thread can see
  // them.
  struct Held {
    tensorflow::Tensor tensor;
    uint64_t version = 0;     // 0: not held
    tektite_tensor arg = {};  // what a call passes while it is held; its dims are `dims`
    absl::InlinedVector<int64_t, 4> dims;
    // Set for variables that are found by name, so that the resource manager is asked only once.
    tensorflow::Tensor handle;
    // (Behind a pointer, since a WeakPtr to nothing cannot be copied.)
    std::shared_ptr<const tensorflow::core::WeakPtr<tensorflow::Var>> variable;
  };
  struct Snapshot {
    std::vector<Held> held;  // one per input
  };
  struct History {
    int64_t runs_seen = 0;  // since its release
    int64_t runs_to_wait = 0;
    int changes = 0;
    int64_t held_since = 0;
    const void* last_buffer = nullptr;
  };

  tensorflow::Var* FindVariable(tensorflow::OpKernelContext* context, int index, Call* call,
                                bool* found_by_name);
  Reason FindVariables(tensorflow::OpKernelContext* context,
                       absl::Span<tensorflow::Var* const> known, Call* call,
                       VariableList* variables, VariableList* named);
  bool IsVariable(int index) const {
    return kinds_[index] == Kind::kVariable || kinds_[index] == Kind::kUpdated;
  }
  // Whether an updated variable is that of another input, too.
  static bool HasAliases(const VariableList& variables, const Call& call);
  void Describe(const Tensors& tensors, Call* call) const;
  int32_t SpaceOf(int index, const tensorflow::Tensor& tensor) const;
  void LockUnshareable(const VariableList& sparse, Call* call);
  void Update(const std::vector<int>& changed, const VariableList& named, Call* call);

  const std::vector<tensorflow::DataType> variable_types_;
  const std::vector<int32_t> spaces_;
  std::vector<Kind> kinds_;
  bool has_held_inputs_ = false;
  std::atomic<int64_t> runs_{0};

  tensorflow::mutex mu_;
  std::shared_ptr<const Snapshot> snapshot_ TF_GUARDED_BY(mu_);
  std::vector<History> history_ TF_GUARDED_BY(mu_);
  uint64_t next_version_ TF_GUARDED_BY(mu_) = 1;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_HELD_INPUTS_H_
