// From a loop IR kernel to a function that can be called: lowering, a light LLVM pipeline, machine
// code, linked in memory.
//
//   ASSIGN_OR_RETURN(auto compiler, KernelCompiler::Create(target));
//   ASSIGN_OR_RETURN(CompiledFunction f, compiler->Compile(kernel, options));
//   f.fn(buffers, sizes, scratch, 0, chunks);
//
// Dropping the last copy of CompiledFunction::code frees the code.  An image of the code can be
// kept (f.code->Image()) and loaded again later, by another process too, with Load; code_image.h
// says what code may call.  The linker is made with the first kernel that is compiled: who only
// loads images has none.  Thread-safe.  LLVM's fatal errors during a compile come back as Internal.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_KERNEL_COMPILER_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_KERNEL_COMPILER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/cpu/codegen/code_image.h"
#include "backends/cpu/codegen/code_linker.h"
#include "backends/cpu/codegen/emit_object.h"
#include "jit/backend/backend.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

using KernelFn = void (*)(void* const* buffers, const int64_t* sizes, void* scratch, int64_t begin,
                          int64_t end);

struct CompiledFunction {
  KernelFn fn = nullptr;
  std::shared_ptr<const LoadedCode> code;  // owns the memory fn stands in
};

struct CompileOptions {
  std::string dump_dir;  // when not empty: <name>.loop, <name>.ll and <name>.s go there
};

class KernelCompiler {
 public:
  static absl::StatusOr<std::unique_ptr<KernelCompiler>> Create(
      const target::TargetInfo& target, const CodeLinker::Options& linking = {});

  absl::StatusOr<CompiledFunction> Compile(const loop::Kernel& kernel,
                                           const CompileOptions& options = {});
  // Its two steps.  `name` is the kernel's.
  absl::StatusOr<std::string> EmitObject(const loop::Kernel& kernel,
                                         const CompileOptions& options = {}) {
    return emitter_.Emit(kernel, options.dump_dir);
  }
  absl::StatusOr<CompiledFunction> Link(absl::string_view name, absl::string_view object);
  ObjectEmitter& emitter() { return emitter_; }
  // Code that Compile made for the same target, from its serialized images.
  static absl::StatusOr<std::vector<CompiledFunction>> Load(
      absl::Span<const absl::string_view> images);

  const target::TargetInfo& target() const { return emitter_.target(); }

 private:
  KernelCompiler(const target::TargetInfo& target, const CodeLinker::Options& linking)
      : emitter_(target), linking_(linking) {}
  // Of this process.
  absl::StatusOr<std::shared_ptr<CodeLinker>> Linker();

  ObjectEmitter emitter_;
  const CodeLinker::Options linking_;
  std::mutex mutex_;
  std::shared_ptr<CodeLinker> linker_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_KERNEL_COMPILER_H_
