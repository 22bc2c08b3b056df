// Links kernels in this process and owns their code: a session of LLVM's ORC, whose linker is
// JITLink.
//
//   CodeLinker::Options options;
//   options.gdb = true;
//   auto linker = CodeLinker::Create(options);
//   TEKTITE_ASSIGN_OR_RETURN(LoadedCode code, linker->Link("k3_softmax", object));
//   code.Image();                 // for the disk; LoadCode takes it without a linker
//
// The kernels of a linker stand in one JITDylib, each under a resource tracker of its own, since
// programs share kernels: ORC removes a kernel's code when the last copy of what Link returned
// goes.  Objects may define functions of the same name; the session and profilers know them by
// that name and a number ("k3_softmax.17").
//
// Thread-safe; several threads link at once, each on its own thread.  A linker belongs to the
// process that made it: a forked child makes one of its own, and leaves the code it has inherited
// where it is.
//
// With gdb or perf the code stays until the process ends, since ORC's plugins never report what has
// gone.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_CODE_LINKER_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_CODE_LINKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/codegen/code_image.h"

namespace tektite::cpu {

class CodeLinker : public std::enable_shared_from_this<CodeLinker> {
 public:
  struct Options {
    bool gdb = false;   // GDB knows the kernels
    bool perf = false;  // a jitdump file under JITDUMPDIR or the home directory names them
  };
  static absl::StatusOr<std::shared_ptr<CodeLinker>> Create(const Options& options);
  ~CodeLinker();

  // `object` is an ELF object in which `name` is the kernel's function.
  absl::StatusOr<LoadedCode> Link(absl::string_view name, absl::string_view object);

  bool is_of_this_process() const;

 private:
  struct Session;
  class Code;

  explicit CodeLinker(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_CODE_LINKER_H_
