// The CUDA toolkit's assembler, a process for each kernel.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/gpu/codegen/assembler.h"
#include "backends/gpu/codegen/python_packages.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// Where the toolkit puts it, and NVIDIA's packages of CUDA 12 and 13.
constexpr const char* kUsualPath = "/usr/local/cuda/bin/ptxas";
constexpr const char* kInPackages[] = {"nvidia/cuda_nvcc/bin/ptxas", "nvidia/cu13/bin/ptxas"};
constexpr const char *kPtx = "kernel.ptx", *kCubin = "kernel.cubin", *kLog = "log";

// A folder that this user alone can enter, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / "tektite-ptx-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::string Read(const char* name) const {
    std::ifstream in(path_ + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

 private:
  std::string path_;
};

// Runs it in `folder`, where it writes all that it says to kLog.  Internal where a signal ended it;
// a text that does not assemble is no error here.
absl::Status Spawn(const std::string& program, std::vector<std::string> arguments,
                   const std::string& folder) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), program);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, kLog, O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Unimplemented("cannot run ", program, ": ", std::strerror(error));
  // A host that ignores its children's ends gets ECHILD: the files tell how it went.
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended == pid && WIFSIGNALED(status)) {
    return Internal(program, " was ended by signal ", WTERMSIG(status));
  }
  return absl::OkStatus();
}

class Ptxas final : public Assembler {
 public:
  Ptxas(std::string program, std::string version)
      : program_(std::move(program)), version_(std::move(version)) {}

  const std::string& version() const override { return version_; }

  absl::StatusOr<Cubin> Assemble(absl::string_view ptx,
                                 absl::string_view architecture) const override {
    const TemporaryFolder folder;
    if (folder.path().empty()) return Unimplemented("no temporary folder for ", program_);
    std::ofstream out(folder.path() + "/" + kPtx, std::ios::binary);
    out << ptx;
    out.close();
    if (!out) return Unimplemented("cannot write ", folder.path(), "/", kPtx);
    std::vector<std::string> arguments = {absl::StrCat("--gpu-name=", architecture), kPtx,
                                          absl::StrCat("--output-file=", kCubin)};
    for (const char* option : kAssemblyOptions) arguments.push_back(option);
    TEKTITE_RETURN_IF_ERROR(Spawn(program_, std::move(arguments), folder.path()));
    Cubin cubin;
    cubin.bytes = folder.Read(kCubin);
    const std::string log = folder.Read(kLog);
    if (cubin.bytes.empty()) return AssemblyError(log, architecture);
    TEKTITE_ASSIGN_OR_RETURN(cubin.resources, ParseResources(log));
    return cubin;
  }

 private:
  const std::string program_, version_;
};

std::vector<std::string> PlacesToLook() {
  std::vector<std::string> places;
  const char* const path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    // It runs in a folder of its own, where a relative path would mean another file.
    if (absl::StartsWith(folder, "/")) places.push_back(absl::StrCat(folder, "/ptxas"));
  }
  const std::string packages = PythonPackages();
  for (const char* file : kInPackages) {
    if (!packages.empty()) places.push_back(absl::StrCat(packages, "/", file));
  }
  places.push_back(kUsualPath);
  return places;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Assembler>> FindPtxas(const std::string& path) {
  for (const std::string& program : path.empty() ? PlacesToLook() : std::vector{path}) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(program, error)) continue;
    if (access(program.c_str(), X_OK) != 0) continue;
    const TemporaryFolder folder;
    if (folder.path().empty()) return Unimplemented("no temporary folder for ptxas");
    TEKTITE_RETURN_IF_ERROR(Spawn(program, {"--version"}, folder.path()));
    // "Cuda compilation tools, release 13.0, V13.0.88"
    const std::string text = folder.Read(kLog);
    const size_t release = text.find("release ");
    if (release == text.npos) return Unimplemented(program, " tells no version");
    const size_t begin = release + std::strlen("release ");
    return std::make_unique<Ptxas>(
        program, "ptxas " + text.substr(begin, text.find_first_of(",\n", begin) - begin));
  }
  if (!path.empty()) return Unimplemented("no ptxas at ", path);
  return Unimplemented("no ptxas in PATH, nor in NVIDIA's packages, nor ", kUsualPath);
}

}  // namespace tektite::gpu
