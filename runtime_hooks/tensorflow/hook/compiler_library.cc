#include "runtime_hooks/tensorflow/hook/compiler_library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/run/host_memory.h"
#include "tensorflow/core/util/util.h"

namespace tektite::tf_hook {
namespace {

std::atomic<const CompilerLibrary*> open_library{nullptr};

std::string LibraryPath() {
  if (const char* path = std::getenv("TEKTITE_LIBRARY"); path != nullptr && *path != '\0') {
    return path;
  }
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&LibraryPath), &self) == 0) return "libtektite.so";
  const std::string hook = self.dli_fname;
  const size_t slash = hook.rfind('/');
  return slash == std::string::npos ? "./libtektite.so" : hook.substr(0, slash) + "/libtektite.so";
}

template <typename Function>
bool Find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

// Empty when all is well, otherwise the reason.
std::string Open(const std::string& path, CompilerLibrary* library) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return dlerror();
  decltype(&tektite_abi_version) abi_version = nullptr;
  if (!Find(handle, "tektite_abi_version", &abi_version)) {
    return absl::StrCat(path, " is not a Tektite compiler");
  }
  if (const int abi = abi_version(); abi != TEKTITE_ABI_VERSION) {
    return absl::StrCat(path, " speaks ABI ", abi, ", the hook speaks ", TEKTITE_ABI_VERSION);
  }
  bool complete = true;
#define TEKTITE_FIND(name) complete = complete && Find(handle, "tektite_" #name, &library->name);
  TEKTITE_LIBRARY_FUNCTIONS(TEKTITE_FIND)
#undef TEKTITE_FIND
  if (!complete) return absl::StrCat(path, " lacks a function of the C interface: ", dlerror());

  tektite_options options = {};
  options.struct_size = sizeof(options);
  options.flags = std::getenv("TEKTITE_FLAGS");
  const std::string host = CompilerLibrary::HostName();
  options.host = host.c_str();
  options.host_kernels =
      tensorflow::IsMKLEnabled() ? "TensorFlow with oneDNN" : "TensorFlow without oneDNN";
  OfferMemory(&options);
  tektite_status status = {};
  library->compiler = library->compiler_create(&options, &status);
  if (library->compiler == nullptr) return absl::StrCat("no compiler: ", status.message);
  return "";
}

const CompilerLibrary* OpenOnce() {
  auto library = std::make_unique<CompilerLibrary>();
  const std::string problem = Open(LibraryPath(), library.get());
  if (!problem.empty()) {
    std::fprintf(stderr, "tektite: off: %s\n", problem.c_str());
    return nullptr;
  }
  // Never destroyed: kernels may run clusters until the process ends.
  const CompilerLibrary* const opened = library.release();
  open_library.store(opened, std::memory_order_release);
  return opened;
}

}  // namespace

const CompilerLibrary* CompilerLibrary::Get() {
  static const CompilerLibrary* const library = OpenOnce();
  return library;
}

std::string CompilerLibrary::HostName() {
  // Up to 2.18 the names of TensorFlow are not global, see the loader.
  void* const tensorflow = dlopen("libtensorflow_cc.so.2", RTLD_LAZY | RTLD_NOLOAD);
  const char* (*version)() = nullptr;
  return Find(tensorflow == nullptr ? RTLD_DEFAULT : tensorflow, "TF_Version", &version)
             ? absl::StrCat("tensorflow ", version())
             : "tensorflow";
}

const CompilerLibrary* CompilerLibrary::IfOpen() {
  return open_library.load(std::memory_order_acquire);
}

}  // namespace tektite::tf_hook
