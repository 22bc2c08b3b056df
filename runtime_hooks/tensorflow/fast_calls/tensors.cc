#include "runtime_hooks/tensorflow/fast_calls/tensors.h"

#include "tensorflow/c/eager/tfe_tensorhandle_internal.h"
#include "tensorflow/c/tf_tensor_internal.h"

namespace tektite::fast_calls {

bool Tensors::Add(TFE_TensorHandle* handle) {
  absl::Status status;
  references_.emplace_back(tensorflow::unwrap(handle)->Resolve(&status));
  if (!status.ok()) return false;
  all_.push_back(&tensorflow::TensorFromInterface(references_.back().get()));
  return true;
}

TFE_Context* ContextIn(PyObject* capsule) {
  return static_cast<TFE_Context*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

}  // namespace tektite::fast_calls
