// What a back end must provide for libraries: kernels as objects, and machine code for a library's
// calling program.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto backend, writer.NewBackend("mlp__"));
//   ... compile a graph with it, MakeLibrary(...) ...
//   TEKTITE_ASSIGN_OR_RETURN(CodeWriter::Written written, writer.Write(&library));
//
// Equal libraries become equal bytes, whenever and wherever they are written.
#ifndef TEKTITE_JIT_AOT_CODE_WRITER_H_
#define TEKTITE_JIT_AOT_CODE_WRITER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/aot/library.h"
#include "jit/backend/backend.h"

namespace tektite::aot {

class CodeWriter {
 public:
  virtual ~CodeWriter() = default;
  // What the code is for, for people: "x86-64-v4".
  virtual std::string cpu() const = 0;
  // A back end whose emitted kernels are ObjectKernels, with symbols that begin with `prefix`.
  virtual absl::StatusOr<std::unique_ptr<backend::Backend>> NewBackend(
      const std::string& prefix) = 0;

  struct Written {
    std::string archive;                                 // a static library
    std::vector<std::pair<std::string, int64_t>> sizes;  // of its members, in bytes of their files
    int64_t code_bytes = 0;                              // of code and its constants, loaded
    int64_t data_bytes = 0;                              // of weights
  };
  virtual absl::StatusOr<Written> Write(Library* library) = 0;
};

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_CODE_WRITER_H_
