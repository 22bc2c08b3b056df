#include "backends/cpu/kernel_compiler.h"

#include <utility>

#include "backends/cpu/code_image.h"
#include "backends/cpu/emit_object.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

absl::StatusOr<CompiledFunction> Load(const CodeImage& image) {
  TEKTITE_ASSIGN_OR_RETURN(LoadedCode loaded, LoadCode(image));
  CompiledFunction f;
  f.fn = reinterpret_cast<KernelFn>(reinterpret_cast<uintptr_t>(loaded.entry));
  f.code = std::move(loaded.memory);
  return f;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCompiler>> KernelCompiler::Create(
    const backend::TargetInfo& target) {
  return std::unique_ptr<KernelCompiler>(new KernelCompiler(target));
}

absl::StatusOr<CompiledFunction> KernelCompiler::Compile(const loop::Kernel& kernel,
                                                         const CompileOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(const std::string object, EmitObject(kernel, target_, options.dump_dir));
  TEKTITE_ASSIGN_OR_RETURN(const CodeImage image, FlattenObject(kernel.name(), object));
  if (options.image != nullptr) *options.image = image.Serialize();
  return cpu::Load(image);
}

absl::StatusOr<CompiledFunction> KernelCompiler::Load(absl::string_view image) {
  TEKTITE_ASSIGN_OR_RETURN(const CodeImage parsed, CodeImage::Parse(image));
  return cpu::Load(parsed);
}

}  // namespace tektite::cpu
