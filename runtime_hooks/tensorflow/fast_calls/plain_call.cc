#include "runtime_hooks/tensorflow/fast_calls/plain_call.h"

#include <utility>

#include "runtime_hooks/tensorflow/fast_calls/reference.h"
#include "runtime_hooks/tensorflow/fast_calls/tensors.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/core/profiler/lib/traceme.h"
#include "tensorflow/python/eager/pywrap_tfe.h"

namespace tektite::fast_calls {
namespace {

// An attribute that is an empty list, or false: none of what it may hold.
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
  return true;
}

bool PlainCalls::IsDefaultGraph(PyObject* graph, PyObject* strategies) const {
  if (!IsNothing(places_.default_graphs, stack_name_) || !IsNothing(strategies, strategies_name_)) {
    return false;
  }
  const Reference global(PyObject_GetAttr(places_.default_graphs, global_name_));
  if (global == nullptr) PyErr_Clear();
  return global.get() == graph;
}

TFE_Context* PlainCalls::Context(PyObject* graph, PyObject* strategies) const {
  if (PyDict_GetItem(places_.run_eagerly, run_name_) != Py_False ||
      PyDict_GetItem(places_.cancellation, active_name_) != Py_None ||
      tsl::profiler::TraceMe::Active()) {
    return nullptr;
  }
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
  if (no_tape.get() != Py_True || !IsDefaultGraph(graph, strategies) ||
      !IsNothing(places_.save_context, saving_name_)) {
    return nullptr;
  }
  const Reference handle(PyObject_GetAttr(context, handle_name_));
  TFE_Context* const result = handle == nullptr ? nullptr : ContextIn(handle.get());
  if (result == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  return IsAsync(result) ? nullptr : result;
}

}  // namespace tektite::fast_calls
