// How tests reach the stand-in for cuDNN.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tests/gpu/fake_cudnn/fake_cudnn.h"

namespace tektite::testing {

const char* FakeCudnn::path() { return TEKTITE_FAKE_CUDNN_FILE; }

const FakeCudnn& FakeCudnn::Opened() {
  static const FakeCudnn* const fake = [] {
    void* const library = dlopen(path(), RTLD_NOW | RTLD_LOCAL);
    void* const controls = library == nullptr ? nullptr : dlsym(library, "fake_cudnn_controls");
    if (controls == nullptr) {
      std::fprintf(stderr, "fake cuDNN: %s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<const FakeCudnn* (*)()>(controls)();
  }();
  return *fake;
}

}  // namespace tektite::testing
