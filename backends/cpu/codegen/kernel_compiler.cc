#include "backends/cpu/codegen/kernel_compiler.h"

#include <utility>

#include "backends/cpu/codegen/emit_object.h"
#include "jit/base/status.h"

namespace tektite::cpu {

absl::StatusOr<std::unique_ptr<KernelCompiler>> KernelCompiler::Create(
    const backend::TargetInfo& target) {
  return std::unique_ptr<KernelCompiler>(new KernelCompiler(target));
}

absl::StatusOr<CompiledFunction> KernelCompiler::Compile(const loop::Kernel& kernel,
                                                         const CompileOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(const std::string object, EmitObject(kernel, target_, options.dump_dir));
  TEKTITE_ASSIGN_OR_RETURN(const CodeImage image, FlattenObject(kernel.name(), object));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<CompiledFunction> loaded, Load({image.Serialize()}));
  return std::move(loaded.front());
}

absl::StatusOr<std::vector<CompiledFunction>> KernelCompiler::Load(
    absl::Span<const absl::string_view> images) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<LoadedCode> loaded, LoadCode(images));
  std::vector<CompiledFunction> functions;
  functions.reserve(loaded.size());
  for (LoadedCode& code : loaded) {
    CompiledFunction f;
    f.fn = reinterpret_cast<KernelFn>(reinterpret_cast<uintptr_t>(code.entry()));
    f.code = std::make_shared<const LoadedCode>(std::move(code));
    functions.push_back(std::move(f));
  }
  return functions;
}

}  // namespace tektite::cpu
