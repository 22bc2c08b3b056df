// How tests reach the stand-in for cuBLASLt.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tests/gpu/fake_cublaslt/fake_cublaslt.h"

namespace tektite::testing {

const char* FakeCublasLt::path() { return TEKTITE_FAKE_CUBLASLT_FILE; }

const FakeCublasLt& FakeCublasLt::Opened() {
  static const FakeCublasLt* const fake = [] {
    void* const library = dlopen(path(), RTLD_NOW | RTLD_LOCAL);
    void* const controls = library == nullptr ? nullptr : dlsym(library, "fake_cublaslt_controls");
    if (controls == nullptr) {
      std::fprintf(stderr, "fake cuBLASLt: %s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<const FakeCublasLt* (*)()>(controls)();
  }();
  return *fake;
}

}  // namespace tektite::testing
