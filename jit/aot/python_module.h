// A Python module that calls a library: ctypes and NumPy alone, for tests and for services.
//
//   WritePythonModule(library)        // the text of NAME.py, which opens libNAME.so beside it
//
//   import mlp
//   y = mlp.run(x=numpy.ones([3, 4], numpy.float32), threads=2)["y"]
#ifndef TEKTITE_JIT_AOT_PYTHON_MODULE_H_
#define TEKTITE_JIT_AOT_PYTHON_MODULE_H_

#include <string>

#include "jit/aot/library.h"

namespace tektite::aot {

std::string WritePythonModule(const Library& library);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_PYTHON_MODULE_H_
