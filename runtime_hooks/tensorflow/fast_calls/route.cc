#include "runtime_hooks/tensorflow/fast_calls/route.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime_hooks/tensorflow/fast_calls/tensors.h"
#include "tensorflow/c/eager/tfe_tensorhandle_internal.h"
#include "tensorflow/python/eager/pywrap_tensor.h"

namespace tektite::fast_calls {
namespace {

// The elements of a tuple of integers.
template <typename T>
bool Read(PyObject* tuple, std::vector<T>* values) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const int64_t value = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (value == -1 && PyErr_Occurred()) return false;
    values->push_back(static_cast<T>(value));
  }
  return true;
}

bool Read(PyObject* tuple, std::vector<Pattern>* patterns) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    int dtype = 0;
    PyObject* dims = nullptr;
    Pattern& pattern = patterns->emplace_back();
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "iO!", &dtype, &PyTuple_Type, &dims) ||
        !Read(dims, &pattern.dims)) {
      return false;
    }
    pattern.dtype = static_cast<TF_DataType>(dtype);
  }
  return true;
}

bool Fits(const Pattern& pattern, PyObject* arg) {
  if (!EagerTensor_CheckExact(arg)) return false;
  const auto* const tensor = tensorflow::unwrap(EagerTensor_Handle(arg));
  if (static_cast<TF_DataType>(tensor->DataType()) != pattern.dtype) return false;
  int rank = 0;
  if (!tensor->NumDims(&rank).ok() || rank != static_cast<int>(pattern.dims.size())) return false;
  for (int i = 0; i < rank; ++i) {
    int64_t size = 0;
    if (pattern.dims[i] < 0) continue;
    if (!tensor->Dim(i, &size).ok() || size != pattern.dims[i]) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Route> Route::Create(PyObject* args) {
  auto route = std::make_unique<Route>();
  PyObject *patterns, *order, *results, *concrete, *captures, *traces, *graph, *strategies, *pack;
  long long binding = 0;
  if (!PyArg_ParseTuple(args, "LO!O!iO!OO!O!OOO", &binding, &PyTuple_Type, &patterns, &PyTuple_Type,
                        &order, &route->num_outputs_, &PyTuple_Type, &results, &concrete,
                        &PyTuple_Type, &captures, &PyDict_Type, &traces, &graph, &strategies,
                        &pack) ||
      !Read(patterns, &route->patterns_) || !Read(order, &route->order_) ||
      !Read(results, &route->results_)) {
    return nullptr;
  }
  route->binding_ = binding;
  const auto is_within = [](const std::vector<int>& places, size_t size) {
    return std::all_of(places.begin(), places.end(),
                       [&](int i) { return i >= 0 && i < static_cast<int>(size); });
  };
  if (route->num_outputs_ < 0 || (pack == Py_None && route->results_.size() != 1) ||
      !is_within(route->order_, route->patterns_.size()) ||
      !is_within(route->results_, static_cast<size_t>(route->num_outputs_))) {
    PyErr_SetString(PyExc_ValueError, "places beyond the arguments or outputs");
    return nullptr;
  }
  route->concrete_ = Hold(concrete);
  route->captures_ = Hold(captures);
  route->traces_ = Hold(traces);
  route->num_traces_ = PyDict_Size(traces);
  route->graph_ = Hold(graph);
  route->strategies_ = Hold(strategies);
  if (pack != Py_None) route->pack_ = Hold(pack);
  route->captured_name_ = Reference(PyUnicode_InternFromString("_captured_inputs"));
  return route->captured_name_ == nullptr ? nullptr : std::move(route);
}

bool Route::Fits(PyObject* const* args, Py_ssize_t num_args) const {
  const auto count = static_cast<Py_ssize_t>(patterns_.size());
  if (num_args != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!fast_calls::Fits(patterns_[i], args[i])) return false;
  }
  return true;
}

bool Route::IsCurrent() const {
  if (PyDict_Size(traces_.get()) != num_traces_) return false;
  const Reference captured(PyObject_GetAttr(concrete_.get(), captured_name_.get()));
  if (captured == nullptr || !PyList_CheckExact(captured.get())) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(captures_.get());
  if (PyList_GET_SIZE(captured.get()) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyList_GET_ITEM(captured.get(), i) != PyTuple_GET_ITEM(captures_.get(), i)) return false;
  }
  return true;
}

PyObject* Route::Run(TFE_Context* context, PyObject* const* args) const {
  Tensors tensors;
  for (const int place : order_) {
    if (!tensors.Add(EagerTensor_Handle(args[place]))) return nullptr;
  }
  std::vector<Reference> outputs;
  if (CallBinding(context, binding_, num_outputs_, &tensors, &outputs) != tf_hook::Reason::NONE) {
    return nullptr;
  }
  if (PyErr_Occurred()) return nullptr;
  return Pack(std::move(outputs)).release();
}

Reference Route::Pack(std::vector<Reference> outputs) const {
  if (pack_ == nullptr) return std::move(outputs[results_[0]]);
  const auto count = static_cast<Py_ssize_t>(results_.size());
  const Reference list(PyList_New(count));
  if (list == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyList_SET_ITEM(list.get(), i, Hold(outputs[results_[i]].get()).release());
  }
  return Reference(PyObject_CallFunctionObjArgs(pack_.get(), list.get(), nullptr));
}

int Route::Traverse(visitproc visit, void* arg) const {
  for (const Reference* held : {&concrete_, &graph_, &strategies_, &captures_, &traces_, &pack_}) {
    Py_VISIT(held->get());
  }
  return 0;
}

}  // namespace tektite::fast_calls
