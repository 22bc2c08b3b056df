// The way from a tf.function's arguments to the cluster that it is, learned by _direct.py.
//
// A route belongs to arguments of certain types and shapes.  It is good for as long as the function
// has not been traced again and has the same captures; whether its binding is, CallDirectly says
// (hook/direct_calls.h).
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_ROUTE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_ROUTE_H_

#include <Python.h>

#include <cstdint>
#include <vector>

#include "runtime_hooks/tensorflow/fast_calls/reference.h"
#include "tensorflow/c/eager/c_api.h"

namespace tektite::fast_calls {

// The properties that an argument must have.
struct Pattern {
  TF_DataType dtype;
  std::vector<int64_t> dims;  // -1: any size

  bool operator==(const Pattern& other) const { return dtype == other.dtype && dims == other.dims; }
};

class Route {
 public:
  // From the arguments of Routes.add.  Null, with a Python error, if one has the wrong type.
  static std::unique_ptr<Route> Create(PyObject* args);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  PyObject* graph() const { return graph_.get(); }
  PyObject* strategies() const { return strategies_.get(); }

  // `args`: those of the call, without the function.
  bool Fits(PyObject* const* args, Py_ssize_t num_args) const;
  bool IsCurrent() const;
  // The function's result.  Null, without an error, where the hook has declined.  Lets other
  // threads have the interpreter while it runs.
  PyObject* Run(TFE_Context* context, PyObject* const* args) const;

  int Traverse(visitproc visit, void* arg) const;

 private:
  Reference Pack(std::vector<Reference> outputs) const;

  std::vector<Pattern> patterns_;
  int64_t binding_ = 0;
  int num_outputs_ = 0;
  std::vector<int> order_;    // for each argument of the binding the function's
  std::vector<int> results_;  // for each result the output
  Reference concrete_, graph_, strategies_, captures_, traces_;
  Reference pack_;  // makes the result of a list; null: the only one is the result
  Reference captured_name_;
  Py_ssize_t num_traces_ = 0;
};

}  // namespace tektite::fast_calls
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_ROUTE_H_
