// Runs a function when the process ends.
//
//   RunAtExit([] { Background::Get().Stop(); });
//
// Not std::atexit: libtektite.so lets none of its static objects be destroyed and drops what is
// registered that way (runtime_hooks/c_api/keep_static_objects.cc).
//
// RunFirstAtExit runs it before static objects of any library are destroyed, even those that are
// made later, which RunAtExit comes after.  A process that its main thread ends destroys that
// thread's objects first, and this is one.
// Limits: not at _exit, as ever.  RunFirstAtExit does nothing on another thread than the main one,
// and what it registered does not run where another thread ends the process: call RunAtExit too.
#ifndef TEKTITE_JIT_BASE_AT_EXIT_H_
#define TEKTITE_JIT_BASE_AT_EXIT_H_

#include <unistd.h>

#include <cstdlib>

// Of glibc, as the destructors of thread_local objects are registered.
extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern "C" void* __dso_handle;

namespace tektite {

inline void RunAtExit(void (*function)()) {
  on_exit([](int, void* argument) { reinterpret_cast<void (*)()>(argument)(); },
          reinterpret_cast<void*>(function));
}

inline void RunFirstAtExit(void (*function)()) {
  if (gettid() != getpid()) return;  // its objects may go before the process does
  __cxa_thread_atexit_impl([](void* argument) { reinterpret_cast<void (*)()>(argument)(); },
                           reinterpret_cast<void*>(function), &__dso_handle);
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_AT_EXIT_H_
