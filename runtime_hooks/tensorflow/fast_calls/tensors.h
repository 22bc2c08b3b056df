// TensorFlow's tensors behind Python's eager ones.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_TENSORS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_TENSORS_H_

#include <Python.h>

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime_hooks/tensorflow/fast_calls/reference.h"
#include "runtime_hooks/tensorflow/hook/reason.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/tensor_interface.h"
#include "tensorflow/core/framework/tensor.h"

namespace tektite::fast_calls {

class Tensors {
 public:
  // False if it has no content on this machine.
  bool Add(TFE_TensorHandle* handle);
  absl::Span<const tensorflow::Tensor* const> all() const { return all_; }
  void Release() { references_.clear(); }

 private:
  struct Free {
    void operator()(tensorflow::AbstractTensorInterface* tensor) const { tensor->Release(); }
  };
  absl::InlinedVector<const tensorflow::Tensor*, 8> all_;
  std::vector<std::unique_ptr<tensorflow::AbstractTensorInterface, Free>> references_;
};

// Runs a binding with them (hook/direct_calls.h), lets other threads have the interpreter
// meanwhile, and releases them.  Why not, where the hook declines; a Python error where there is no
// memory.
tf_hook::Reason CallBinding(TFE_Context* context, int64_t binding, int num_outputs,
                            Tensors* tensors, std::vector<Reference>* outputs);

// From a capsule; null, with a Python error, if it is none.
TFE_Context* ContextIn(PyObject* capsule);

}  // namespace tektite::fast_calls
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_TENSORS_H_
