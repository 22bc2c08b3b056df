// How tests reach the stand-in driver.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {

const char* FakeDriver::path() { return TEKTITE_FAKE_DRIVER_FILE; }

const FakeDriver& FakeDriver::Opened() {
  static const FakeDriver* const fake = [] {
    void* const library = dlopen(path(), RTLD_NOW | RTLD_LOCAL);
    void* const controls = library == nullptr ? nullptr : dlsym(library, "fake_driver_controls");
    if (controls == nullptr) {
      std::fprintf(stderr, "fake driver: %s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<const FakeDriver* (*)()>(controls)();
  }();
  return *fake;
}

}  // namespace tektite::testing
