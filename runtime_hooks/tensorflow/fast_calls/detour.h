// Around Python's way where it has nothing to find: the types Skips and Detour of
// tektite._fast_calls.
//
//   Skips: a base of what _direct.py remembers of a function.  `skip` is the number of calls that
//   are to be made as TensorFlow makes them.
//
//   Detour(otherwise, ordinary, key, listener) stands in the place of the method `ordinary`.  Where
//   the instance's dictionary has a Skips under `key` whose skip is above zero it counts that down
//   and calls `ordinary`, unless `listener` (or None) has `calls` that are not None; it calls
//   `otherwise` in all other cases.
//
// Why: most functions of most programs are no single cluster.  Python took 2.7 us of each of their
// calls to find out that there is nothing to do, 4 % of the smallest.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_DETOUR_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_DETOUR_H_

#include <Python.h>

namespace tektite::fast_calls {

// New references; null with a Python error.
PyObject* CreateSkipsType();
PyObject* CreateDetourType();

}  // namespace tektite::fast_calls
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_FAST_CALLS_DETOUR_H_
