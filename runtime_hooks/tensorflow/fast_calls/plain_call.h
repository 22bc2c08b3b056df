// Whether a call means nothing more than running a function on this machine: no graph under
// construction, tape, device scope, strategy, profiler, callback, cancellation or asynchronous
// executor.  module.cc asks for itself, and _direct.py by two functions of the module.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_PLAIN_CALL_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_PLAIN_CALL_H_

#include <Python.h>

#include "runtime_hooks/tensorflow/fast_calls/reference.h"
#include "tensorflow/c/eager/c_api.h"

namespace tektite::fast_calls {

// The places of TensorFlow's that say so.  Borrowed references that live as long as TensorFlow.
struct Places {
  PyObject* eager_context = nullptr;   // eager.context's dictionary: _context
  PyObject* cancellation = nullptr;    // eager.cancellation's dictionary: _active_context
  PyObject* run_eagerly = nullptr;     // eager_function_run's: RUN_FUNCTIONS_EAGERLY
  PyObject* default_graphs = nullptr;  // ops._default_graph_stack
  PyObject* save_context = nullptr;    // save_context._save_context
};

class PlainCalls {
 public:
  // False, with a Python error, if something is not where it is looked for.
  bool Create(const Places& places);
  // The handle of the context that a plain call runs in; null, without an error, where a call means
  // more.  Which graph is the default one is not asked.
  Reference Handle() const;
  // The context in which calls of `graph`'s kind are plain; null, without an error, where this one
  // is not.  `strategies`: the thread-local object with the graph's stack of strategies.
  TFE_Context* Context(PyObject* graph, PyObject* strategies) const;

 private:
  bool FindCancellation();
  bool IsCancellable() const;
  bool IsDefaultGraph(PyObject* graph, PyObject* strategies) const;

  Places places_;
  // From TensorFlow 2.22 on, _active_context holds a list of managers for each thread; null: it is
  // a manager, or None.
  PyObject* managers_of_threads_ = nullptr;
  PyObject *context_name_, *handle_name_, *active_name_, *run_name_, *stack_name_, *global_name_,
      *strategies_name_, *saving_name_, *managers_name_;
};

// The same of what Watch was told; null before that.
TFE_Context* PlainContext(PyObject* graph, PyObject* strategies);

// watch(...) says where to look: Places, in their order.
PyObject* Watch(PyObject* module, PyObject* args);
// plain_handle() -> the eager context's handle; None where a call is not plain.
PyObject* PlainHandle(PyObject* module, PyObject*);

}  // namespace tektite::fast_calls
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_PLAIN_CALL_H_
