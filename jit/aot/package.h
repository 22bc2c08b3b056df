// Files by which build systems find a library: a CMake package and a description for pkg-config.
//
//   WriteCmakePackage(library)    // NAMEConfig.cmake: find_package(NAME), the target NAME::NAME
//   WritePkgConfig(library, version)
//
// Both name the library by their own place, so that its folder can be moved.
#ifndef TEKTITE_JIT_AOT_PACKAGE_H_
#define TEKTITE_JIT_AOT_PACKAGE_H_

#include <string>

#include "jit/aot/library.h"

namespace tektite::aot {

std::string WriteCmakePackage(const Library& library);
std::string WritePkgConfig(const Library& library, const std::string& version);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_PACKAGE_H_
