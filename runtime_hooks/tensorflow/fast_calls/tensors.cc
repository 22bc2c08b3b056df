#include "runtime_hooks/tensorflow/fast_calls/tensors.h"

#include "runtime_hooks/tensorflow/hook/direct_calls/direct_calls.h"
#include "tensorflow/c/eager/tfe_context_internal.h"
#include "tensorflow/c/eager/tfe_tensorhandle_internal.h"
#include "tensorflow/c/tf_tensor_internal.h"
#include "tensorflow/python/eager/pywrap_tfe.h"

namespace tektite::fast_calls {

bool Tensors::Add(TFE_TensorHandle* handle) {
  absl::Status status;
  references_.emplace_back(tensorflow::unwrap(handle)->Resolve(&status));
  if (!status.ok()) return false;
  all_.push_back(&tensorflow::TensorFromInterface(references_.back().get()));
  return true;
}

tf_hook::Reason CallBinding(TFE_Context* context, int64_t binding, int num_outputs,
                            Tensors* tensors, std::vector<Reference>* outputs) {
  absl::InlinedVector<tensorflow::Tensor, 4> results(num_outputs);
  tf_hook::Reason refusal = tf_hook::Reason::NONE;
  Py_BEGIN_ALLOW_THREADS;
  refusal = tf_hook::CallDirectly(binding, tensors->all(), absl::MakeSpan(results));
  tensors->Release();
  Py_END_ALLOW_THREADS;
  if (refusal != tf_hook::Reason::NONE) return refusal;
  for (tensorflow::Tensor& result : results) {
    auto* const handle =
        tensorflow::unwrap(context)->CreateLocalHandleFromTFTensor(result, /*d_name=*/nullptr);
    outputs->emplace_back(EagerTensorFromHandle(tensorflow::wrap(handle)));
    if (outputs->back() == nullptr) break;
  }
  return tf_hook::Reason::NONE;
}

TFE_Context* ContextIn(PyObject* capsule) {
  return static_cast<TFE_Context*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

}  // namespace tektite::fast_calls
