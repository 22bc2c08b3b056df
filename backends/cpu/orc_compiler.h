// From a loop IR kernel to a function that can be called: lowering, a light LLVM pipeline, machine
// code into memory, and ORC's linker.
//
//   ASSIGN_OR_RETURN(auto compiler, OrcCompiler::Create(target));
//   ASSIGN_OR_RETURN(CompiledFunction f, compiler->Compile(kernel, options));
//   f.fn(buffers, sizes, scratch, 0, chunks);
//
// One module and one object a kernel; destroying the CompiledFunction frees its code.  An object
// can be kept (`keep_object`) and linked again later, by another process too, with Link.  Code that
// would call anything but memcpy, memmove and memset is refused with the symbol's name: a vector
// function that LLVM turned into calls of libm is a defect, not a fallback.  Thread-safe.  LLVM's
// fatal errors during a compile come back as Internal.
#ifndef TEKTITE_BACKENDS_CPU_ORC_COMPILER_H_
#define TEKTITE_BACKENDS_CPU_ORC_COMPILER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/backend/backend.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

using KernelFn = void (*)(void* const* buffers, const int64_t* sizes, void* scratch, int64_t begin,
                          int64_t end);

struct CompiledFunction {
  KernelFn fn = nullptr;
  std::string object;                // the ELF object, when asked for
  std::shared_ptr<const void> code;  // owns the memory fn stands in
};

struct CompileOptions {
  std::string dump_dir;      // when not empty: <name>.loop, <name>.ll and <name>.s go there
  bool keep_object = false;  // fill CompiledFunction::object
};

class OrcCompiler {
 public:
  static absl::StatusOr<std::unique_ptr<OrcCompiler>> Create(const backend::TargetInfo& target);
  ~OrcCompiler();

  absl::StatusOr<CompiledFunction> Compile(const loop::Kernel& kernel,
                                           const CompileOptions& options = {});
  // Links an object that Compile made for a kernel of this name and the same target.
  absl::StatusOr<CompiledFunction> Link(absl::string_view name, std::string object);

  const backend::TargetInfo& target() const { return target_; }

 private:
  struct Linker;
  OrcCompiler(const backend::TargetInfo& target, std::shared_ptr<Linker> linker);

  backend::TargetInfo target_;
  std::shared_ptr<Linker> linker_;  // outlives the functions it linked
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_ORC_COMPILER_H_
