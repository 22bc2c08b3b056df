// No static object of libtektite.so is destroyed.
//
// Why: a process may end while a thread compiles.  That thread is asked to stop and waited for
// (jit/compiler/background.h), but what LLVM has made static since that was registered, such as its
// table of value types, is destroyed before: the thread, in the middle of a kernel, then reads
// freed memory.  Whether a thread compiles or not, memory goes with the process.
//
// How: the linker redirects every call that registers a destructor (--wrap=__cxa_atexit), LLVM's
// included, to this file.  std::atexit is such a call, too: code that has to run at exit registers
// with RunAtExit (jit/base/at_exit.h). Limits: the library must stay loaded until the process ends,
// as it does (its threads run its code).

extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }
