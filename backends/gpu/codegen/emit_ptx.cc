#include "backends/gpu/codegen/emit_ptx.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "jit/base/status.h"
#include "jit/llvm/fatal_error.h"
#include "jit/llvm/lower.h"
#include "jit/llvm/optimize.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

namespace tektite::gpu {
namespace {

struct Capability {
  int major, minor;
  absl::string_view architecture;
  int64_t shared_kib;  // of a block
};
constexpr Capability kCapabilities[] = {
#define TEKTITE_GPU_CAPABILITY(major, minor, architecture, shared_kib) \
  {major, minor, architecture, shared_kib},
#include "backends/gpu/codegen/capability_list.inc"
#undef TEKTITE_GPU_CAPABILITY
};

void InitializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// What kernels with tensor maps need: a generation, and a version of PTX that has the fence for
// maps in a card's memory.
constexpr absl::string_view kTensorArchitecture = "sm_90a";
constexpr absl::string_view kTensorFeatures = "+ptx83";

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(absl::string_view architecture,
                                                                 absl::string_view features) {
  if (std::none_of(std::begin(kCapabilities), std::end(kCapabilities),
                   [&](const Capability& c) { return c.architecture == architecture; })) {
    return Unimplemented("no code is made for GPUs of architecture '", architecture, "'");
  }
  InitializeTarget();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return Internal("LLVM has no target ", triple.str(), ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, llvm::StringRef(architecture.data(), architecture.size()),
      llvm::StringRef(features.data(), features.size()), options, std::nullopt));
  if (machine == nullptr) return Internal("LLVM makes no code for ", architecture);
  return machine;
}

absl::StatusOr<std::string> EmitModule(const loop::Kernel& kernel, absl::string_view architecture) {
  TEKTITE_ASSIGN_OR_RETURN(
      std::unique_ptr<llvm::TargetMachine> machine,
      MakeMachine(architecture, kernel.tensor_maps.empty() ? "" : kTensorFeatures));
  llvm::LLVMContext context;
  loop::CatchDiagnostics(&context);
  llvm::Module module(kernel.name(), context);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  loop::LowerOptions options;
  options.vector_bytes = 4;  // a register: functions work on single lanes
  TEKTITE_RETURN_IF_ERROR(loop::Lower(kernel, options, &module).status());
  loop::Optimize(module, *machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true)) {
    return Internal("LLVM emits no PTX for ", architecture);
  }
  passes.run(module);
  return std::string(text.data(), text.size());
}

}  // namespace

absl::StatusOr<std::string> ArchitectureOf(int major, int minor) {
  for (const Capability& c : kCapabilities) {
    if (c.major == major && c.minor == minor) return std::string(c.architecture);
  }
  return Unimplemented("no code is made for GPUs of compute capability ", major, ".", minor);
}

int64_t MostSharedBytes(absl::string_view architecture) {
  for (const Capability& c : kCapabilities) {
    if (c.architecture == architecture) return c.shared_kib << 10;
  }
  return 0;
}

absl::StatusOr<std::string> EmitPtx(const loop::Kernel& kernel, absl::string_view architecture) {
  if (!kernel.is_for_device()) {
    return Internal("kernel ", kernel.name(), " is for the host, which has no PTX");
  }
  if (const int64_t most = MostSharedBytes(architecture);
      most > 0 && kernel.launch.shared_bytes > most) {
    return Unimplemented("kernel ", kernel.name(), ": ", kernel.launch.shared_bytes,
                         " bytes of shared memory; a block has ", most, " on ", architecture);
  }
  if (!kernel.tensor_maps.empty() && architecture != kTensorArchitecture) {
    return Unimplemented("kernel ", kernel.name(),
                         ": copies of tensors and products of warpgroups ", "are made for ",
                         kTensorArchitecture, ", not for ", architecture);
  }
  absl::StatusOr<std::string> ptx = Internal("not run");
  const absl::Status fatal =
      loop::CatchFatalErrors([&] { ptx = EmitModule(kernel, architecture); });
  if (!fatal.ok()) return Internal("kernel ", kernel.name(), ": ", fatal.message());
  return ptx;
}

}  // namespace tektite::gpu
