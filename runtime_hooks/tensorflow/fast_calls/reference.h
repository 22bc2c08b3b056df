// A reference to a Python object, given back in the end.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_REFERENCE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_REFERENCE_H_

#include <Python.h>

#include <memory>

namespace tektite::fast_calls {

struct GiveBack {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
// Takes over a new reference; null is fine.
using Reference = std::unique_ptr<PyObject, GiveBack>;

// A new reference to an object that has another owner.
inline Reference Hold(PyObject* object) {
  Py_XINCREF(object);
  return Reference(object);
}

}  // namespace tektite::fast_calls
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_REFERENCE_H_
