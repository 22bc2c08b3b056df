#include "backends/cpu/aot/cpu_code_writer.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/cpu_check.h"
#include "backends/cpu/aot/object_backend.h"
#include "backends/cpu/aot/program_emitter.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/codegen/emit_object.h"
#include "backends/cpu/codegen/llvm_error.h"
#include "backends/cpu/contraction/winograd_plan.h"
#include "jit/aot/data_object.h"
#include "jit/base/status.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"

namespace tektite::cpu {
namespace {

// What runs before the machine is known, and only computes addresses.
target::TargetInfo AnyMachine() {
  target::TargetInfo target;
  target.cpu = "x86-64";
  return target;
}

// Of sections that are loaded.
int64_t LoadedBytes(absl::string_view object) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), ""));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  uint64_t bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (section.isText() || section.isData() || section.isBSS()) bytes += section.getSize();
  }
  return static_cast<int64_t>(bytes);
}

class ArchiveMaker {
 public:
  // Borrows the bytes.
  void Add(const std::string& name, absl::string_view bytes) {
    names_.push_back(std::make_unique<std::string>(name));
    llvm::NewArchiveMember member(
        llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), *names_.back()));
    members_.push_back(std::move(member));
  }
  absl::StatusOr<std::string> Write() {
    auto buffer = llvm::writeArchiveToBuffer(members_, llvm::SymtabWritingMode::NormalSymtab,
                                             llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                             /*Thin=*/false);
    if (!buffer) return FromLlvm(buffer.takeError());
    return std::string((*buffer)->getBufferStart(), (*buffer)->getBufferSize());
  }

 private:
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<llvm::NewArchiveMember> members_;
};

class CpuCodeWriter : public aot::CodeWriter {
 public:
  CpuCodeWriter(std::string cpu, NamedTarget target)
      : cpu_(std::move(cpu)), target_(std::move(target)), program_(AnyMachine()) {}

  std::string cpu() const override {
    return cpu_ == "native" ? absl::StrCat("this machine's CPU, ", target_.info.cpu) : cpu_;
  }
  absl::StatusOr<std::unique_ptr<backend::Backend>> NewBackend(
      const std::string& prefix) override {
    return MakeObjectBackend(target_.info, prefix, target_.runs_here);
  }

  absl::StatusOr<Written> Write(aot::Library* library) override {
    TEKTITE_ASSIGN_OR_RETURN(
        const std::string program,
        program_.EmitModule(library->name, [&](llvm::Module& module) {
          return EmitProgram(NeedsOf(target_.info), library, &module);
        }));
    const std::string data =
        aot::WriteDataObject({DataSymbolOf(*library)}, library->data.bytes);
    Written written;
    ArchiveMaker archive;
    const auto add = [&](const std::string& name, absl::string_view object) {
      archive.Add(name, object);
      written.sizes.emplace_back(name, static_cast<int64_t>(object.size()));
    };
    add(library->name + ".o", program);
    written.code_bytes = LoadedBytes(program);
    std::set<const aot::ObjectKernel*> seen;
    for (size_t s = 0; s < library->graph.steps.size(); ++s) {
      const auto* kernel =
          dynamic_cast<const aot::ObjectKernel*>(library->graph.steps[s].kernel.get());
      if (kernel == nullptr || !library->runs[s] || !seen.insert(kernel).second) continue;
      add(kernel->symbol() + ".o", kernel->object());
      written.code_bytes += LoadedBytes(kernel->object());
    }
    const auto checks = CpuCheckObjects(library->name);
    for (const auto& [name, object] : checks) add(name, object);
    add(library->name + "_data.o", data);
    written.data_bytes = static_cast<int64_t>(library->data.bytes.size());
    TEKTITE_ASSIGN_OR_RETURN(written.archive, archive.Write());
    return written;
  }

 private:
  const std::string cpu_;
  const NamedTarget target_;
  ObjectEmitter program_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<aot::CodeWriter>> CreateCpuCodeWriter(const std::string& cpu) {
  TEKTITE_ASSIGN_OR_RETURN(NamedTarget target, TargetNamed(cpu));
  target.info.winograd_channels = kWinogradChannels;
  return std::make_unique<CpuCodeWriter>(cpu, std::move(target));
}

}  // namespace tektite::cpu
