#include "system_compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace backend_c {
namespace {

// IEEE arithmetic as the tensor IR has it, and integers that wrap around.
constexpr char kOptions[] = " -O2 -shared -fPIC -fwrapv -ffp-contract=off -fno-math-errno ";

}  // namespace

LoadedFunction::~LoadedFunction() { dlclose(library_); }

absl::StatusOr<std::shared_ptr<const LoadedFunction>> CompileC(const std::string& text) {
  std::string folder = (std::filesystem::temp_directory_path() / "backend_c_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::InternalError("no folder for a C file");
  const std::string source = folder + "/kernel.c", library = folder + "/kernel.so";
  std::ofstream(source) << text;
  const char* const compiler = std::getenv("CC");
  const std::string command = absl::StrCat(compiler == nullptr ? "cc" : compiler, kOptions, source,
                                           " -o ", library, " -lm");
  const int status = std::system(command.c_str());
  void* const handle = status == 0 ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (handle == nullptr) return absl::InternalError(absl::StrCat("this failed: ", command));
  const auto call = reinterpret_cast<LoadedFunction::Call>(dlsym(handle, "kernel"));
  if (call == nullptr) {
    dlclose(handle);
    return absl::InternalError("the library has no kernel");
  }
  return std::make_shared<const LoadedFunction>(handle, call);
}

}  // namespace backend_c
