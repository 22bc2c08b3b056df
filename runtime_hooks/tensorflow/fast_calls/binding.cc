#include "runtime_hooks/tensorflow/fast_calls/binding.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime_hooks/tensorflow/fast_calls/reference.h"
#include "runtime_hooks/tensorflow/fast_calls/tensors.h"
#include "runtime_hooks/tensorflow/hook/direct_calls/direct_calls.h"
#include "tensorflow/c/eager/tfe_context_internal.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/python/eager/pywrap_tensor.h"

namespace tektite::fast_calls {
namespace {

// Where functions called from Python run.
bool FindDevice(TFE_Context* context, tf_hook::BindRequest* request) {
  tensorflow::ImmediateExecutionContext* const eager = tensorflow::unwrap(context);
  for (tensorflow::Device* const device : eager->ListLocalTfDevices()) {
    if (device->name() != eager->HostCPUName()) continue;
    request->device = device;
    request->resources = device->resource_manager();
    return true;
  }
  return false;
}

// False if one is no eager tensor, or is not here.
bool AddAll(PyObject* list, Tensors* tensors) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* const tensor = PyList_GET_ITEM(list, i);
    if (!EagerTensor_CheckExact(tensor) || !tensors->Add(EagerTensor_Handle(tensor))) return false;
  }
  return true;
}

}  // namespace

PyObject* HasWon(PyObject*, PyObject* name) {
  Py_ssize_t size = 0;
  char* text = nullptr;
  if (PyBytes_AsStringAndSize(name, &text, &size) < 0) return nullptr;
  return PyBool_FromLong(tf_hook::HasWon(std::string(text, size)));
}

PyObject* Bind(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *list = nullptr;
  const char* name = nullptr;
  tf_hook::BindRequest request;
  if (!PyArg_ParseTuple(args, "OyiO!", &capsule, &name, &request.num_args, &PyList_Type, &list)) {
    return nullptr;
  }
  TFE_Context* const context = ContextIn(capsule);
  if (context == nullptr) return nullptr;
  if (request.num_args < 0 || request.num_args > PyList_GET_SIZE(list)) {
    PyErr_SetString(PyExc_ValueError, "more arguments than tensors");
    return nullptr;
  }
  Tensors tensors;
  request.function = name;
  const bool has_all = tf_hook::IsOffered(request.function) && FindDevice(context, &request) &&
                       AddAll(list, &tensors);
  request.inputs = tensors.all();
  const std::vector<int64_t> plan = has_all ? tf_hook::Bind(request) : std::vector<int64_t>{0};
  Reference result(PyTuple_New(static_cast<Py_ssize_t>(plan.size())));
  for (size_t i = 0; result != nullptr && i < plan.size(); ++i) {
    PyObject* const number = PyLong_FromLongLong(plan[i]);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), number);
  }
  return result.release();
}

PyObject* CallBound(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *list = nullptr;
  long long binding = 0;
  int num_outputs = 0;
  if (!PyArg_ParseTuple(args, "OLiO!", &capsule, &binding, &num_outputs, &PyList_Type, &list)) {
    return nullptr;
  }
  TFE_Context* const context = ContextIn(capsule);
  if (context == nullptr) return nullptr;
  Tensors tensors;
  std::vector<Reference> outputs;
  const tf_hook::Reason refusal =
      num_outputs < 0 || !AddAll(list, &tensors)
          ? tf_hook::Reason::HOST_NO_TENSORS
          : CallBinding(context, binding, num_outputs, &tensors, &outputs);
  if (refusal != tf_hook::Reason::NONE) return PyLong_FromLong(static_cast<long>(refusal));
  if (PyErr_Occurred()) return nullptr;
  Reference result(PyList_New(static_cast<Py_ssize_t>(outputs.size())));
  for (size_t i = 0; result != nullptr && i < outputs.size(); ++i) {
    PyList_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), outputs[i].release());
  }
  return result.release();
}

}  // namespace tektite::fast_calls
