// The library that `import tensorflow` opens from site-packages/tensorflow-plugins.
//
// What: looks which TensorFlow it is in, and opens the hook that was built for it.
// Why:  a hook is bound to one TensorFlow by hundreds of C++ symbols, and a plugin that fails to
// load
//       aborts the import.  This library needs nothing of TensorFlow but TF_Version, looked up at
//       run time, so it always loads, and where no hook fits it says so in one line and stays off.
// Example of what it finds, seen from its own folder:
//       tensorflow-plugins/libtektite_loader.so
//       tektite/lib/libtektite_tf-2.20.so        for every TensorFlow 2.20.x
//       tektite/lib/libtektite_tf-2.21.so        for every TensorFlow 2.21.x
// The hook's work in the background ends before the process does.
// With TEKTITE=1 it also has the Python half wrap TensorFlow's calls (python/tektite/_direct.py).
// Limits: Linux; one process opens one hook; the variable TEKTITE is read once, at the import.

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of glibc, as the destructors of thread_local objects are registered.
extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern "C" void* __dso_handle;

namespace {

constexpr char kFolderPattern[] = "%.*s/../tektite/lib";
constexpr char kHookPattern[] = "libtektite_tf-%d.%d.so";
constexpr int kMostHooks = 64;
constexpr size_t kPathSize = 4096;

void StayOff(const char* why, const char* detail) {
  fprintf(stderr, "tektite: off: %s%s\n", why, detail);
}

// One line that names the versions for which `folder` holds a hook.
void StayOffWithoutHook(const char* version, const char* folder) {
  int minors[kMostHooks];
  int count = 0, major = 0;
  DIR* const listing = opendir(folder);
  while (const dirent* const entry = listing == nullptr ? nullptr : readdir(listing)) {
    int minor = 0;
    char whole[sizeof(kHookPattern) + 64];
    if (count == kMostHooks || sscanf(entry->d_name, kHookPattern, &major, &minor) != 2) continue;
    snprintf(whole, sizeof(whole), kHookPattern, major, minor);
    if (strcmp(whole, entry->d_name) != 0) continue;  // something half installed
    int place = count++;
    for (; place > 0 && minors[place - 1] > minor; --place) minors[place] = minors[place - 1];
    minors[place] = minor;
  }
  if (listing != nullptr) closedir(listing);
  fprintf(stderr, "tektite: off: no hook for TensorFlow %s; there is one for", version);
  for (int i = 0; i < count; ++i) fprintf(stderr, "%s %d.%d", i == 0 ? "" : ",", major, minors[i]);
  fprintf(stderr, "%s (%s)\n", count == 0 ? " none" : "", folder);
}

bool IsKnownSwitch(const char* value) {
  return value[0] == '\0' || strcmp(value, "1") == 0 || strcmp(value, "scoped") == 0;
}

template <typename Function>
bool Find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

// TensorFlow's C interface: up to 2.18 Python opens its libraries without making their names
// global.
template <typename Function>
bool FindInTensorFlow(const char* name, Function* function) {
  if (Find(name, function)) return true;
  void* const library = dlopen("libtensorflow_cc.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  *function = reinterpret_cast<Function>(dlsym(library, name));
  dlclose(library);  // the handle, not the library
  return *function != nullptr;
}

// Calls tektite._direct.install() where this process is a Python interpreter (its C API is stable
// since 3.2, and looked up at run time like TF_Version).  Without it everything works, only calls
// take longer.
void InstallDirectCalls() {
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  void* (*import)(const char*) = nullptr;
  void* (*get)(void*, const char*) = nullptr;
  void* (*call)(void*, void*) = nullptr;
  void (*unreference)(void*) = nullptr;
  void (*print_error)() = nullptr;
  if (!Find("PyGILState_Ensure", &ensure) || !Find("PyGILState_Release", &release) ||
      !Find("PyImport_ImportModule", &import) || !Find("PyObject_GetAttrString", &get) ||
      !Find("PyObject_CallObject", &call) || !Find("Py_DecRef", &unreference) ||
      !Find("PyErr_Print", &print_error)) {
    return;
  }
  const int state = ensure();
  void* const module = import("tektite._direct");
  void* const install = module == nullptr ? nullptr : get(module, "install");
  void* const result = install == nullptr ? nullptr : call(install, nullptr);
  if (result == nullptr) {
    fprintf(stderr, "tektite: calls go through TensorFlow's function runtime, because:\n");
    print_error();
  }
  unreference(result);  // null is fine
  unreference(install);
  unreference(module);
  release(state);
}

// Stops work in the background when the process ends, before destructors of TensorFlow's libraries
// run, whose code may be at work there: Python does so (its Python half earlier in its end), and
// the main thread's end in every program.  That end destroys the thread's objects first, and only
// the end of the process does so.  A program that another thread ends is left to the compiler.
void StopBackgroundAtExit(void* hook) {
  int (*at_exit)(void (*)()) = nullptr;
  const auto stop = reinterpret_cast<void (*)()>(dlsym(hook, "tektite_hook_stop_background"));
  if (stop == nullptr) return;
  if (Find("Py_AtExit", &at_exit)) at_exit(stop);
  if (gettid() != getpid()) return;
  __cxa_thread_atexit_impl([](void* function) { reinterpret_cast<void (*)()>(function)(); },
                           reinterpret_cast<void*>(stop), &__dso_handle);
}

__attribute__((constructor)) void OpenHook() {
  const char* value = getenv("TEKTITE");
  if (value == nullptr) value = "";
  if (strcmp(value, "0") == 0) return;
  if (!IsKnownSwitch(value)) {
    fprintf(stderr, "tektite: TEKTITE=%s is not 0, 1 or scoped; treated as unset\n", value);
  }

  const char* (*version_fn)() = nullptr;
  if (!FindInTensorFlow("TF_Version", &version_fn)) {
    return StayOff("TF_Version is not in this process", "");
  }
  const char* version = version_fn();
  int major = 0;
  int minor = 0;
  if (sscanf(version, "%d.%d", &major, &minor) != 2) {
    return StayOff("no version number in TF_Version: ", version);
  }

  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&OpenHook), &self) == 0 || self.dli_fname == nullptr) {
    return StayOff("the loader cannot find its own path", "");
  }
  const char* slash = strrchr(self.dli_fname, '/');
  const int own_folder = slash == nullptr ? 0 : static_cast<int>(slash - self.dli_fname);
  char folder[kPathSize], name[sizeof(kHookPattern) + 64], path[kPathSize];
  snprintf(folder, sizeof(folder), kFolderPattern, own_folder == 0 ? 1 : own_folder,
           own_folder == 0 ? "." : self.dli_fname);
  snprintf(name, sizeof(name), kHookPattern, major, minor);
  const int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) {
    return StayOff("path too long: ", self.dli_fname);
  }
  if (access(path, R_OK) != 0) return StayOffWithoutHook(version, folder);
  void* const hook = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (hook == nullptr) {
    const char* why = dlerror();
    return StayOff("the hook does not load: ", why == nullptr ? path : why);
  }
  StopBackgroundAtExit(hook);
  if (strcmp(value, "1") == 0) InstallDirectCalls();
}

}  // namespace
