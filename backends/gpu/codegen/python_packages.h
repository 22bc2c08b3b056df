// Where NVIDIA's files lie that pip installs: beside the Python package that this code is in.
//
//   PythonPackages()        // ".../site-packages", of .../site-packages/tektite/lib/libtektite.so
//
// Empty where this code lies in no such place.  Nothing looks whether the folder is one of
// Python's: who asks looks for a file in it.
#ifndef TEKTITE_BACKENDS_GPU_CODEGEN_PYTHON_PACKAGES_H_
#define TEKTITE_BACKENDS_GPU_CODEGEN_PYTHON_PACKAGES_H_

#include <string>

namespace tektite::gpu {

std::string PythonPackages();

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CODEGEN_PYTHON_PACKAGES_H_
