#include "backends/cpu/orc_compiler.h"

#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/cpu/emit_object.h"
#include "jit/base/status.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tektite::cpu {

namespace {

absl::Status FromLlvm(llvm::Error error, absl::string_view what) {
  return Internal(what, ": ", llvm::toString(std::move(error)));
}

// Only these may be called from generated code.
bool IsAllowed(llvm::StringRef symbol) {
  return symbol == "memcpy" || symbol == "memmove" || symbol == "memset" ||
         symbol == "_GLOBAL_OFFSET_TABLE_";
}

absl::Status CheckSymbols(absl::string_view name, const std::string& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) return FromLlvm(file.takeError(), absl::StrCat("kernel ", name, ": bad object"));
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return FromLlvm(flags.takeError(), absl::StrCat("kernel ", name));
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    auto text = symbol.getName();
    if (!text) return FromLlvm(text.takeError(), absl::StrCat("kernel ", name));
    if (!text->empty() && !IsAllowed(*text)) {
      return Internal("kernel ", name, ": the code calls ", text->str(), ", which has no lowering");
    }
  }
  return absl::OkStatus();
}

}  // namespace

// The execution session, its linking layer, and the few functions that code may call.
struct OrcCompiler::Linker {
  explicit Linker(std::unique_ptr<llvm::orc::ExecutorProcessControl> control)
      : session(std::move(control)),
        layer(session),
        runtime(session.createBareJITDylib("runtime")) {
    // A failed link is reported by its lookup; the session's own reports would go to stderr.
    session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }
  ~Linker() { llvm::consumeError(session.endSession()); }

  llvm::orc::ExecutionSession session;
  llvm::orc::ObjectLinkingLayer layer;
  llvm::orc::JITDylib& runtime;
  std::atomic<int64_t> count{0};
};

OrcCompiler::OrcCompiler(const backend::TargetInfo& target, std::shared_ptr<Linker> linker)
    : target_(target), linker_(std::move(linker)) {}

OrcCompiler::~OrcCompiler() = default;

absl::StatusOr<std::unique_ptr<OrcCompiler>> OrcCompiler::Create(
    const backend::TargetInfo& target) {
  // Links on the caller's thread: no thread of our own.
  auto control = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!control) return FromLlvm(control.takeError(), "ORC");
  auto linker = std::make_shared<Linker>(std::move(*control));
  auto symbol = [](auto* function) {
    return llvm::orc::ExecutorSymbolDef(llvm::orc::ExecutorAddr::fromPtr(function),
                                        llvm::JITSymbolFlags::Exported);
  };
  llvm::orc::SymbolMap symbols;
  symbols[linker->session.intern("memcpy")] = symbol(&std::memcpy);
  symbols[linker->session.intern("memmove")] = symbol(&std::memmove);
  symbols[linker->session.intern("memset")] = symbol(&std::memset);
  if (llvm::Error error = linker->runtime.define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    return FromLlvm(std::move(error), "ORC");
  }
  return std::unique_ptr<OrcCompiler>(new OrcCompiler(target, std::move(linker)));
}

absl::StatusOr<CompiledFunction> OrcCompiler::Compile(const loop::Kernel& kernel,
                                                      const CompileOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(std::string object, EmitObject(kernel, target_, options.dump_dir));
  std::string kept = options.keep_object ? object : std::string();
  TEKTITE_ASSIGN_OR_RETURN(CompiledFunction f, Link(kernel.name(), std::move(object)));
  f.object = std::move(kept);
  return f;
}

absl::StatusOr<CompiledFunction> OrcCompiler::Link(absl::string_view name, std::string object) {
  TEKTITE_RETURN_IF_ERROR(CheckSymbols(name, object));
  Linker& linker = *linker_;
  // A library of its own, so that kernels of one name do not collide and objects stay reproducible.
  llvm::orc::JITDylib& library =
      linker.session.createBareJITDylib(absl::StrCat(name, "#", linker.count++));
  library.addToLinkOrder(linker.runtime);
  // Removal of the library frees its code; also when linking fails.
  std::shared_ptr<const void> code(&library, [keep = linker_](llvm::orc::JITDylib* dylib) {
    llvm::consumeError(keep->session.removeJITDylib(*dylib));
  });
  auto buffer =
      llvm::MemoryBuffer::getMemBufferCopy(object, llvm::StringRef(name.data(), name.size()));
  if (llvm::Error error = linker.layer.add(library, std::move(buffer))) {
    return FromLlvm(std::move(error), absl::StrCat("kernel ", name));
  }
  auto found = linker.session.lookup(
      {&library}, linker.session.intern(llvm::StringRef(name.data(), name.size())));
  if (!found) return FromLlvm(found.takeError(), absl::StrCat("kernel ", name));
  CompiledFunction f;
  f.fn = found->getAddress().toPtr<KernelFn>();
  f.code = std::move(code);
  return f;
}

}  // namespace tektite::cpu
