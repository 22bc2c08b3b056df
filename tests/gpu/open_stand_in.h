// A library that stands in for one of NVIDIA's, as tests reach it: by the address of its controls.
//
//   static const FakeCudnn& fake = OpenStandIn<FakeCudnn>(path(), "fake_cudnn_controls");
#ifndef TEKTITE_TESTS_GPU_OPEN_STAND_IN_H_
#define TEKTITE_TESTS_GPU_OPEN_STAND_IN_H_

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace tektite::testing {

// `controls` is the name of a function of the library that returns const Fake*.  Ends the process
// where there is none.
template <typename Fake>
const Fake& OpenStandIn(const char* path, const char* controls) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, controls);
  if (function == nullptr) {
    std::fprintf(stderr, "%s: %s\n", controls, dlerror());
    std::abort();
  }
  return *reinterpret_cast<const Fake* (*)()>(function)();
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_OPEN_STAND_IN_H_
