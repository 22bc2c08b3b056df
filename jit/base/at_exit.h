// Runs a function when the process ends.
//
//   RunAtExit([] { Background::Get().Stop(); });
//
// Not std::atexit: libtektite.so lets none of its static objects be destroyed and drops what is
// registered that way (runtime_hooks/c_api/keep_static_objects.cc).
// Limits: not at _exit, as ever.
#ifndef TEKTITE_JIT_BASE_AT_EXIT_H_
#define TEKTITE_JIT_BASE_AT_EXIT_H_

#include <cstdlib>

namespace tektite {

inline void RunAtExit(void (*function)()) {
  on_exit([](int, void* argument) { reinterpret_cast<void (*)()>(argument)(); },
          reinterpret_cast<void*>(function));
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_AT_EXIT_H_
