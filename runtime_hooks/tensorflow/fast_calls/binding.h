// Functions of the module tektite._fast_calls that find a function's cluster (hook/direct_calls.h).
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_BINDING_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_BINDING_H_

#include <Python.h>

namespace tektite::fast_calls {

// has_won(name) -> bool: whether compiled code serves the calls of the function of that name, which
// is bytes.
PyObject* HasWon(PyObject* module, PyObject* name);

// bind(context, name, num_args, tensors) -> the plan, a tuple of integers. `context` is a capsule
// of the eager context, `tensors` a list of eager tensors: the arguments, then the captures.
PyObject* Bind(PyObject* module, PyObject* args);

// call(context, binding, num_outputs, tensors) -> a list of the outputs, or a string that says
// why the hook declines; see bind.
PyObject* CallBound(PyObject* module, PyObject* args);

}  // namespace tektite::fast_calls
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_BINDING_H_
