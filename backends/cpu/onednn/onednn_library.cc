#include "backends/cpu/onednn/onednn_library.h"

#include <dlfcn.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace tektite::cpu {
namespace {

constexpr const char* kFile = "libdnnl.so.3";

// The sanitizers' own symbols have to come first.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kHow = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kHow = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

// The OpenMP of a wheel (packaging/one_thread_openmp.c); elsewhere oneDNN finds the system's.
constexpr const char* kOpenMp = "libtkomp.so";

std::string BesideThisLibrary(const char* name) {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&BesideThisLibrary), &info) == 0) return name;
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? name : file.substr(0, slash + 1) + name;
}

struct Loaded {
  OneDnn dnn;
  std::string why_not;
};

template <typename Function>
void Find(void* handle, const char* name, Function* function, std::string* why_not) {
  void* const address = dlsym(handle, name);
  if (address == nullptr && why_not->empty()) *why_not = absl::StrCat(kFile, " lacks ", name);
  std::memcpy(function, &address, sizeof(address));
}

Loaded Load() {
  Loaded loaded;
  void* handle = nullptr;
  dlopen(BesideThisLibrary(kOpenMp).c_str(), kHow);  // oneDNN asks for it by its name alone
  for (const std::string& path : {BesideThisLibrary(kFile), std::string(OneDnnOfBuild())}) {
    if (path.empty()) continue;
    handle = dlopen(path.c_str(), kHow);
    if (handle != nullptr) break;
    loaded.why_not = dlerror();
  }
  if (handle == nullptr) return loaded;
  loaded.why_not.clear();
  OneDnn& dnn = loaded.dnn;
#define TEKTITE_ONEDNN_FIND(name) Find(handle, #name, &dnn.name, &loaded.why_not);
  TEKTITE_ONEDNN_FUNCTIONS(TEKTITE_ONEDNN_FIND)
#undef TEKTITE_ONEDNN_FIND
  Find(handle, "omp_set_num_threads", &dnn.omp_set_num_threads, &loaded.why_not);
  Find(handle, "omp_get_max_threads", &dnn.omp_get_max_threads, &loaded.why_not);
  if (!loaded.why_not.empty()) return loaded;
  const OneDnn::OneThread one(dnn);
  if (dnn.dnnl_version()->major != DNNL_VERSION_MAJOR) {
    loaded.why_not =
        absl::StrCat("oneDNN ", dnn.Version(), " where ", DNNL_VERSION_MAJOR, " was built against");
  } else if (dnn.dnnl_engine_create(&dnn.engine, dnnl_cpu, 0) != dnnl_success) {
    loaded.why_not = "oneDNN has no engine for this CPU";
  }
  return loaded;
}

const Loaded& TheLibrary() {
  static const Loaded* const loaded = new Loaded(Load());
  return *loaded;
}

}  // namespace

const OneDnn* OneDnn::Get() {
  const Loaded& loaded = TheLibrary();
  return loaded.why_not.empty() ? &loaded.dnn : nullptr;
}

const std::string& OneDnn::WhyNot() { return TheLibrary().why_not; }

std::string OneDnn::Version() const {
  const dnnl_version_t* const v = dnnl_version();
  return absl::StrCat(v->major, ".", v->minor, ".", v->patch);
}

}  // namespace tektite::cpu
