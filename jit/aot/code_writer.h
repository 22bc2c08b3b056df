// What a back end must provide for libraries: kernels as objects, and machine code for a library's
// calling program.
//
//   for (size_t v = 0; v < writer.variants().size(); ++v) {
//     TEKTITE_ASSIGN_OR_RETURN(auto backend, writer.NewBackend(v, "mlp.v3.kernel."));
//     ... compile a graph with it, MakeLibrary(...) ...
//   }
//   TEKTITE_ASSIGN_OR_RETURN(CodeWriter::Written written, writer.Write(&libraries));
//
// A variant is code for one CPU; a call runs the first variant that its machine can run.
// Equal libraries become equal bytes, whenever and wherever they are written.
#ifndef TEKTITE_JIT_AOT_CODE_WRITER_H_
#define TEKTITE_JIT_AOT_CODE_WRITER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/aot/library.h"
#include "jit/backend/backend.h"

namespace tektite::aot {

class CodeWriter {
 public:
  virtual ~CodeWriter() = default;
  // The CPUs that code is for, in the order in which calls try them: "x86-64-v4".
  virtual const std::vector<std::string>& variants() const = 0;
  // A back end whose emitted kernels are ObjectKernels, with symbols that begin with `prefix`.
  virtual absl::StatusOr<std::unique_ptr<backend::Backend>> NewBackend(
      size_t variant, const std::string& prefix) = 0;

  struct Written {
    std::string archive;                                 // a static library
    std::vector<std::pair<std::string, int64_t>> sizes;  // of its members, in bytes that are loaded
    std::vector<std::string> variants;                   // that are in it
    std::vector<int64_t> code_bytes;                     // by variant: code and its constants
    int64_t data_bytes = 0;                              // of weights
    // Variants that bring nothing, and those whose code is theirs.
    std::vector<std::pair<std::string, std::string>> left_out;
    // libtektite_kernels.a, where some code calls it; empty: none does.
    absl::string_view kernels;
  };
  // By variant, all of one graph; each has the data and the sentences of those before it, too.
  // Those that are left out are erased.
  virtual absl::StatusOr<Written> Write(std::vector<Library>* libraries) = 0;
};

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_CODE_WRITER_H_
