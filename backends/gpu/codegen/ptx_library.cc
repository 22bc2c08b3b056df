// NVIDIA's PTX compiler in a shared library of its own, opened when it is needed.
//
// Its functions are declared here, so that only the machine that makes libtektite_ptx.so has to
// have NVIDIA's package.
#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "backends/gpu/codegen/assembler.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

constexpr const char* kFile = "libtektite_ptx.so";

struct Functions {
  using Handle = void*;
  int (*GetVersion)(unsigned* major, unsigned* minor);
  int (*Create)(Handle*, size_t length, const char* ptx);
  int (*Destroy)(Handle*);
  int (*Compile)(Handle, int count, const char* const* options);
  int (*GetCompiledProgramSize)(Handle, size_t*);
  int (*GetCompiledProgram)(Handle, void*);
  int (*GetErrorLogSize)(Handle, size_t*);
  int (*GetErrorLog)(Handle, char*);
  int (*GetInfoLogSize)(Handle, size_t*);
  int (*GetInfoLog)(Handle, char*);
};

std::string BesideThisLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&BesideThisLibrary), &info) == 0) return kFile;
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? kFile : file.substr(0, slash + 1) + kFile;
}

// The library's errors by number; the log says more about those of a text.
constexpr int kSuccess = 0;

class PtxLibrary final : public Assembler {
 public:
  PtxLibrary(const Functions& f, std::string version) : f_(f), version_(std::move(version)) {}

  const std::string& version() const override { return version_; }

  absl::StatusOr<Cubin> Assemble(absl::string_view ptx,
                                 absl::string_view architecture) const override {
    const std::string text(ptx);  // with the zero at its end that the library reads
    Functions::Handle handle = nullptr;
    if (const int error = f_.Create(&handle, text.size(), text.c_str()); error != kSuccess) {
      return Internal("the PTX compiler does not accept the text: error ", error);
    }
    absl::StatusOr<Cubin> cubin = Compile(handle, architecture);
    f_.Destroy(&handle);
    return cubin;
  }

 private:
  absl::StatusOr<Cubin> Compile(Functions::Handle handle, absl::string_view architecture) const {
    const std::string gpu = absl::StrCat("--gpu-name=", architecture);
    std::vector<const char*> options = {gpu.c_str()};
    for (const char* option : kAssemblyOptions) options.push_back(option);
    if (f_.Compile(handle, static_cast<int>(options.size()), options.data()) != kSuccess) {
      return AssemblyError(Text(handle, f_.GetErrorLogSize, f_.GetErrorLog), architecture);
    }
    Cubin cubin;
    size_t size = 0;
    if (f_.GetCompiledProgramSize(handle, &size) == kSuccess) cubin.bytes.resize(size);
    if (size == 0 || f_.GetCompiledProgram(handle, cubin.bytes.data()) != kSuccess) {
      return Internal("the PTX compiler returns no code for ", architecture);
    }
    TEKTITE_ASSIGN_OR_RETURN(cubin.resources,
                             ParseResources(Text(handle, f_.GetInfoLogSize, f_.GetInfoLog)));
    return cubin;
  }

  static std::string Text(Functions::Handle handle, int (*size_of)(Functions::Handle, size_t*),
                          int (*get)(Functions::Handle, char*)) {
    size_t size = 0;
    if (size_of(handle, &size) != kSuccess || size == 0) return "";
    std::string text(size + 1, '\0');
    if (get(handle, text.data()) != kSuccess) return "";
    return text.c_str();
  }

  const Functions f_;
  const std::string version_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Assembler>> OpenPtxLibrary(const std::string& path) {
  std::vector<std::string> paths = {path};
  if (path.empty()) {
    paths = {BesideThisLibrary()};
    if (*PtxLibraryOfBuild() != '\0') paths.push_back(PtxLibraryOfBuild());
  }
  void* handle = nullptr;
  for (const std::string& file : paths) {
    if (handle == nullptr) handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) return Unimplemented("no PTX compiler library: ", dlerror());
  Functions f;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    void* const address = dlsym(handle, absl::StrCat("nvPTXCompiler", name).c_str());
    if (address == nullptr) missing = name;
    std::memcpy(function, &address, sizeof(address));
  };
  find("GetVersion", &f.GetVersion);
  find("Create", &f.Create);
  find("Destroy", &f.Destroy);
  find("Compile", &f.Compile);
  find("GetCompiledProgramSize", &f.GetCompiledProgramSize);
  find("GetCompiledProgram", &f.GetCompiledProgram);
  find("GetErrorLogSize", &f.GetErrorLogSize);
  find("GetErrorLog", &f.GetErrorLog);
  find("GetInfoLogSize", &f.GetInfoLogSize);
  find("GetInfoLog", &f.GetInfoLog);
  unsigned major = 0, minor = 0;
  if (missing != nullptr || f.GetVersion(&major, &minor) != kSuccess) {
    const std::string which = missing == nullptr ? "a version" : missing;
    dlclose(handle);
    return Unimplemented("the PTX compiler library lacks ", which);
  }
  return std::make_unique<PtxLibrary>(f, absl::StrCat("PTX compiler ", major, ".", minor));
}

}  // namespace tektite::gpu
