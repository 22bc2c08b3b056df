#include "runtime_hooks/tensorflow/fast_calls/plain_call.h"

#include <memory>
#include <string_view>
#include <utility>

#include "runtime_hooks/tensorflow/fast_calls/tensors.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/core/profiler/lib/traceme.h"
#include "tensorflow/python/eager/pywrap_tfe.h"

namespace tektite::fast_calls {
namespace {

// An attribute that is an empty list, or false.
bool IsNothing(PyObject* object, PyObject* name) {
  const Reference value(PyObject_GetAttr(object, name));
  if (value == nullptr) {
    PyErr_Clear();  // a thread that has never asked for it has none yet
    return false;
  }
  return value.get() == Py_False ||
         (PyList_CheckExact(value.get()) && PyList_GET_SIZE(value.get()) == 0);
}

bool IsTrue(PyObject* object) {
  if (object == nullptr || object == Py_None) return false;
  const int truth = PyObject_IsTrue(object);
  if (truth < 0) PyErr_Clear();
  return truth != 0;
}

bool IsAsync(TFE_Context* context) {
  TFE_Executor* const executor = TFE_ContextGetExecutorForThread(context);
  const bool is_async = TFE_ExecutorIsAsync(executor);
  TFE_DeleteExecutor(executor);
  return is_async;
}

}  // namespace

bool PlainCalls::Create(const Places& places) {
  places_ = places;
  const std::pair<PyObject**, const char*> names[] = {
      {&context_name_, "_context"},
      {&handle_name_, "_context_handle"},
      {&active_name_, "_active_context"},
      {&run_name_, "RUN_FUNCTIONS_EAGERLY"},
      {&stack_name_, "stack"},
      {&global_name_, "_global_default_graph"},
      {&strategies_name_, "_distribution_strategy_stack"},
      {&saving_name_, "_in_save_context"},
      {&managers_name_, "manager_stack"},
  };
  for (const auto& [name, text] : names) {
    *name = PyUnicode_InternFromString(text);
    if (*name == nullptr) return false;
  }
  for (const auto& [dictionary, name] : {std::pair(places.eager_context, context_name_),
                                         {places.cancellation, active_name_},
                                         {places.run_eagerly, run_name_}}) {
    if (PyDict_GetItemWithError(dictionary, name) != nullptr) continue;
    if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name);
    return false;
  }
  for (const auto& [object, name] : {std::pair(places.default_graphs, stack_name_),
                                     {places.default_graphs, global_name_},
                                     {places.save_context, saving_name_}}) {
    if (Reference(PyObject_GetAttr(object, name)) == nullptr) return false;
  }
  return FindCancellation();
}

bool PlainCalls::FindCancellation() {
  PyObject* const active = PyDict_GetItem(places_.cancellation, active_name_);
  if (active == Py_None) return true;
  const std::string_view type = Py_TYPE(active)->tp_name;
  if (type != "_thread._local") {
    PyErr_Format(PyExc_TypeError,
                 "cancellation._active_context is a %s, and None or a _thread._local is known",
                 type.data());
    return false;
  }
  managers_of_threads_ = Hold(active).release();
  return true;
}

bool PlainCalls::IsCancellable() const {
  PyObject* const active = PyDict_GetItem(places_.cancellation, active_name_);
  if (managers_of_threads_ == nullptr) return active != Py_None;
  if (active != managers_of_threads_) return true;
  const Reference managers(PyObject_GetAttr(active, managers_name_));
  if (managers != nullptr) {
    return !PyList_CheckExact(managers.get()) || PyList_GET_SIZE(managers.get()) != 0;
  }
  // A thread that has had none yet.  TensorFlow makes it a list when it has one; an empty one now
  // spares its further calls the error.
  PyErr_Clear();
  const Reference none(PyList_New(0));
  if (none == nullptr || PyObject_SetAttr(active, managers_name_, none.get()) < 0) PyErr_Clear();
  return false;
}

bool PlainCalls::IsDefaultGraph(PyObject* graph, PyObject* strategies) const {
  if (!IsNothing(places_.default_graphs, stack_name_) || !IsNothing(strategies, strategies_name_)) {
    return false;
  }
  const Reference global(PyObject_GetAttr(places_.default_graphs, global_name_));
  if (global == nullptr) PyErr_Clear();
  return global.get() == graph;
}

Reference PlainCalls::Handle() const {
  if (IsCancellable() || tsl::profiler::TraceMe::Active()) return nullptr;
  PyObject* const context = PyDict_GetItem(places_.eager_context, context_name_);
  if (context == nullptr || context == Py_None) return nullptr;
  const tensorflow::EagerContextThreadLocalData* const local =
      tensorflow::GetEagerContextThreadLocalData(context);
  if (local == nullptr || !local->is_eager || IsTrue(local->device_name.get()) ||
      IsTrue(local->op_callbacks.get())) {
    if (local == nullptr) PyErr_Clear();
    return nullptr;
  }
  const Reference no_tape(TFE_Py_TapeSetIsEmpty());
  if (no_tape.get() != Py_True) return nullptr;
  Reference handle(PyObject_GetAttr(context, handle_name_));
  TFE_Context* const result = handle == nullptr ? nullptr : ContextIn(handle.get());
  if (result == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  return IsAsync(result) ? nullptr : std::move(handle);
}

TFE_Context* PlainCalls::Context(PyObject* graph, PyObject* strategies) const {
  if (PyDict_GetItem(places_.run_eagerly, run_name_) != Py_False ||
      !IsDefaultGraph(graph, strategies) || !IsNothing(places_.save_context, saving_name_)) {
    return nullptr;
  }
  const Reference handle = Handle();
  return handle == nullptr ? nullptr : ContextIn(handle.get());
}

namespace {

PlainCalls* plain_calls = nullptr;  // what Watch has made, for good

}  // namespace

TFE_Context* PlainContext(PyObject* graph, PyObject* strategies) {
  return plain_calls == nullptr ? nullptr : plain_calls->Context(graph, strategies);
}

PyObject* Watch(PyObject*, PyObject* args) {
  Places places;
  if (!PyArg_ParseTuple(args, "O!O!O!OO", &PyDict_Type, &places.eager_context, &PyDict_Type,
                        &places.cancellation, &PyDict_Type, &places.run_eagerly,
                        &places.default_graphs, &places.save_context)) {
    return nullptr;
  }
  auto calls = std::make_unique<PlainCalls>();
  if (!calls->Create(places)) return nullptr;
  for (PyObject* place : {places.eager_context, places.cancellation, places.run_eagerly,
                          places.default_graphs, places.save_context}) {
    Py_INCREF(place);
  }
  plain_calls = calls.release();
  Py_RETURN_NONE;
}

PyObject* PlainHandle(PyObject*, PyObject*) {
  Reference handle = plain_calls == nullptr ? nullptr : plain_calls->Handle();
  return handle == nullptr ? Hold(Py_None).release() : handle.release();
}

}  // namespace tektite::fast_calls
