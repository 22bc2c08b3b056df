#include "backends/cpu/codegen/emit_object.h"

#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/base/log.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "jit/llvm/fatal_error.h"
#include "jit/llvm/lower.h"
#include "jit/llvm/optimize.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace tektite::cpu {

namespace {

void InitializeTarget(const std::string& triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  if (triple.empty()) return;
  static std::once_flag others;
  std::call_once(others, [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const target::TargetInfo& info,
                                                                 const std::string& named) {
  InitializeTarget(named);
  const llvm::Triple triple(named.empty() ? llvm::sys::getProcessTriple() : named);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return Internal("LLVM has no target ", triple.str(), ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, info.cpu, info.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (machine == nullptr) return Internal("LLVM makes no code for cpu ", info.cpu);
  return machine;
}

void Dump(const std::string& dir, absl::string_view name, absl::string_view suffix,
          absl::string_view text) {
  if (dir.empty()) return;
  const absl::Status written = ReplaceFile(absl::StrCat(dir, "/", name, suffix), text);
  if (!written.ok()) Warn("dump_to: ", written.message());
}

// A masked store of which one lane is on becomes a store of that lane.  LLVM 22 does the same
// later, but for a narrowed value (a conversion to 8 or 16 bits) it stores the wide lane, and so
// writes beyond the end of the buffer.
void ReplaceOneLaneStores(llvm::Module& module) {
  std::vector<llvm::IntrinsicInst*> stores;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& i : llvm::instructions(function)) {
      auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      if (intrinsic == nullptr) continue;
      if (intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_store) stores.push_back(intrinsic);
    }
  }
  for (llvm::IntrinsicInst* store : stores) {
    llvm::Value *value = store->getArgOperand(0), *pointer = store->getArgOperand(1);
    auto* mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(store->arg_size() - 1));
    auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
    if (mask == nullptr) continue;
    unsigned count = 0, lane = 0;
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      llvm::Constant* bit = mask->getAggregateElement(i);
      if (bit != nullptr && bit->isNullValue()) continue;
      ++count;
      lane = i;
    }
    if (count != 1) continue;
    llvm::IRBuilder<> b(store);
    b.CreateAlignedStore(b.CreateExtractElement(value, lane),
                         b.CreateConstGEP1_64(type->getElementType(), pointer, lane),
                         llvm::Align(1));
    store->eraseFromParent();
  }
}

// The passes that make machine code of a module, and what they write.  LLVM's `llc -run-twice`
// tests that they can run again.
class MachinePasses {
 public:
  absl::Status Add(llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
    if (machine.addPassesToEmitFile(passes_, stream_, nullptr, type, /*DisableVerify=*/true)) {
      return Internal("LLVM emits no object files for ", machine.getTargetTriple().str());
    }
    return absl::OkStatus();
  }
  std::string Run(llvm::Module& module) {
    passes_.run(module);
    std::string written(text_.data(), text_.size());
    text_.clear();
    return written;
  }

 private:
  llvm::SmallVector<char, 0> text_;
  llvm::raw_svector_ostream stream_{text_};
  llvm::legacy::PassManager passes_;
};

}  // namespace

class ObjectEmitter::Tools {
 public:
  static absl::StatusOr<std::unique_ptr<Tools>> Create(const target::TargetInfo& target,
                                                       const std::string& triple) {
    auto tools = std::make_unique<Tools>();
    TEKTITE_ASSIGN_OR_RETURN(tools->machine_, MakeMachine(target, triple));
    return tools;
  }
  absl::StatusOr<std::string> EmitObject(const loop::Kernel& kernel,
                                         const target::TargetInfo& target,
                                         const std::string& dump_dir);
  absl::StatusOr<std::string> EmitModule(const std::string& name, const target::TargetInfo& target,
                                         absl::FunctionRef<absl::Status(llvm::Module&)> fill);

 private:
  // What a context has made of types and constants lasts as long as it does.
  static constexpr int kMostKernels = 64;

  void SetTarget(llvm::Module* module) const {
    module->setDataLayout(machine_->createDataLayout());
    module->setTargetTriple(machine_->getTargetTriple());
  }
  static void SetInstructions(const target::TargetInfo& target, llvm::Function* function) {
    function->addFnAttr("target-cpu", target.cpu);
    function->addFnAttr("target-features", target.features);
  }

  absl::Status Renew() {
    if (passes_ != nullptr && kernels_++ < kMostKernels) return absl::OkStatus();
    passes_ = nullptr;
    context_ = std::make_unique<llvm::LLVMContext>();
    loop::CatchDiagnostics(context_.get());
    passes_ = std::make_unique<MachinePasses>();
    kernels_ = 1;
    return passes_->Add(*machine_, llvm::CodeGenFileType::ObjectFile);
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<MachinePasses> passes_;  // end before the context and the machine
  int kernels_ = 0;
};

absl::StatusOr<std::string> ObjectEmitter::Tools::EmitObject(const loop::Kernel& kernel,
                                                             const target::TargetInfo& target,
                                                             const std::string& dump_dir) {
  TEKTITE_RETURN_IF_ERROR(Renew());
  llvm::TargetMachine& machine = *machine_;
  llvm::Module module(kernel.name(), *context_);
  SetTarget(&module);
  loop::LowerOptions options;
  options.vector_bytes = target.vector_bytes;
  TEKTITE_RETURN_IF_ERROR(loop::Lower(kernel, options, &module).status());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    SetInstructions(target, &function);
    function.addFnAttr("prefer-vector-width", absl::StrCat(8 * target.vector_bytes));
    function.addFnAttr("min-legal-vector-width", absl::StrCat(8 * target.vector_bytes));
  }
  loop::Optimize(module, machine);
  ReplaceOneLaneStores(module);
  if (!dump_dir.empty()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    Dump(dump_dir, kernel.name(), ".ll", text);
    // Emission changes the module: the listing is made from a copy.
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    MachinePasses listing;
    TEKTITE_RETURN_IF_ERROR(listing.Add(machine, llvm::CodeGenFileType::AssemblyFile));
    Dump(dump_dir, kernel.name(), ".s", listing.Run(*copy));
  }
  return passes_->Run(module);
}

absl::StatusOr<std::string> ObjectEmitter::Tools::EmitModule(
    const std::string& name, const target::TargetInfo& target,
    absl::FunctionRef<absl::Status(llvm::Module&)> fill) {
  TEKTITE_RETURN_IF_ERROR(Renew());
  llvm::Module module(name, *context_);
  SetTarget(&module);
  TEKTITE_RETURN_IF_ERROR(fill(module));
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) SetInstructions(target, &function);
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) return Internal(name, ": bad LLVM IR: ", problem);
  loop::Optimize(module, *machine_);
  return passes_->Run(module);
}

ObjectEmitter::ObjectEmitter(const target::TargetInfo& target, std::string triple)
    : target_(target), triple_(std::move(triple)) {}

ObjectEmitter::~ObjectEmitter() = default;

absl::StatusOr<std::unique_ptr<ObjectEmitter::Tools>> ObjectEmitter::Take() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (tools_ != nullptr) return std::move(tools_);
  }
  return Tools::Create(target_, triple_);
}

void ObjectEmitter::Keep(std::unique_ptr<Tools> tools) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (tools_ == nullptr) tools_ = std::move(tools);
}

absl::StatusOr<std::string> ObjectEmitter::With(
    const std::string& name, absl::FunctionRef<absl::StatusOr<std::string>(Tools&)> emit) {
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<Tools> tools, Take());
  absl::StatusOr<std::string> object = Internal("not run");
  const absl::Status fatal = loop::CatchFatalErrors([&] { object = emit(*tools); });
  if (!fatal.ok()) {
    tools
        .release();  // a fatal error may have left them in any state, in which nothing can end them
    return Internal(name, ": ", fatal.message());
  }
  Keep(std::move(tools));
  return object;
}

absl::StatusOr<std::string> ObjectEmitter::Emit(const loop::Kernel& kernel,
                                                const std::string& dump_dir) {
  Dump(dump_dir, kernel.name(), ".loop", dump_dir.empty() ? std::string() : kernel.ToString());
  return With(absl::StrCat("kernel ", kernel.name()),
              [&](Tools& tools) { return tools.EmitObject(kernel, target_, dump_dir); });
}

absl::StatusOr<std::string> ObjectEmitter::EmitModule(
    const std::string& name, absl::FunctionRef<absl::Status(llvm::Module&)> fill) {
  return With(name, [&](Tools& tools) { return tools.EmitModule(name, target_, fill); });
}

}  // namespace tektite::cpu
