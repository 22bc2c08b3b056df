#include "backends/cpu/codegen/kernel_compiler.h"

#include <utility>

#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

CompiledFunction FunctionIn(LoadedCode code) {
  CompiledFunction f;
  f.fn = reinterpret_cast<KernelFn>(reinterpret_cast<uintptr_t>(code.entry()));
  f.code = std::make_shared<const LoadedCode>(std::move(code));
  return f;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCompiler>> KernelCompiler::Create(
    const target::TargetInfo& target, const CodeLinker::Options& linking) {
  return std::unique_ptr<KernelCompiler>(new KernelCompiler(target, linking));
}

absl::StatusOr<std::shared_ptr<CodeLinker>> KernelCompiler::Linker() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (linker_ == nullptr || !linker_->is_of_this_process()) {
    TEKTITE_ASSIGN_OR_RETURN(linker_, CodeLinker::Create(linking_));
  }
  return linker_;
}

absl::StatusOr<CompiledFunction> KernelCompiler::Compile(const loop::Kernel& kernel,
                                                         const CompileOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(const std::string object, EmitObject(kernel, options));
  return Link(kernel.name(), object);
}

absl::StatusOr<CompiledFunction> KernelCompiler::Link(absl::string_view name,
                                                      absl::string_view object) {
  TEKTITE_ASSIGN_OR_RETURN(const std::shared_ptr<CodeLinker> linker, Linker());
  TEKTITE_ASSIGN_OR_RETURN(LoadedCode code, linker->Link(name, object));
  return FunctionIn(std::move(code));
}

absl::StatusOr<std::vector<CompiledFunction>> KernelCompiler::Load(
    absl::Span<const absl::string_view> images) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<LoadedCode> loaded, LoadCode(images));
  std::vector<CompiledFunction> functions;
  functions.reserve(loaded.size());
  for (LoadedCode& code : loaded) functions.push_back(FunctionIn(std::move(code)));
  return functions;
}

}  // namespace tektite::cpu
