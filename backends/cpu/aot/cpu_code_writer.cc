#include "backends/cpu/aot/cpu_code_writer.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/aot/cpu_check.h"
#include "backends/cpu/aot/entry_points.h"
#include "backends/cpu/aot/object_backend.h"
#include "backends/cpu/aot/program_emitter.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/codegen/emit_object.h"
#include "backends/cpu/codegen/llvm_error.h"
#include "backends/cpu/library/library_archive.h"
#include "jit/aot/data_object.h"
#include "jit/aot/weights_digest.h"
#include "jit/base/status.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"

namespace tektite::cpu {
namespace {

// What runs before the machine is known, and only computes addresses.
target::TargetInfo AnyMachine(bool is_aarch64) {
  target::TargetInfo target;
  target.cpu = is_aarch64 ? "generic" : "x86-64";
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

// Those that calls run, each once.
std::vector<const aot::ObjectKernel*> KernelsOf(const aot::Library& library) {
  std::vector<const aot::ObjectKernel*> kernels;
  std::set<const aot::ObjectKernel*> seen;
  for (size_t s = 0; s < library.graph.steps.size(); ++s) {
    const auto* kernel =
        dynamic_cast<const aot::ObjectKernel*>(library.graph.steps[s].kernel.get());
    if (kernel == nullptr || !library.runs[s] || !seen.insert(kernel).second) continue;
    kernels.push_back(kernel);
  }
  return kernels;
}

bool UsesTiles(const aot::Library& library) {
  const std::vector<const aot::ObjectKernel*> kernels = KernelsOf(library);
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const aot::ObjectKernel* kernel) { return kernel->uses_tiles(); });
}

// What its kernels' machine code and constants are, whatever they are called.
std::string CodeOf(const aot::Library& library) {
  std::string code;
  for (const aot::ObjectKernel* kernel : KernelsOf(library)) {
    const absl::string_view object = kernel->object();
    auto file = llvm::object::ObjectFile::createObjectFile(
        llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), ""));
    if (!file) {
      llvm::consumeError(file.takeError());
      return library.prefix;
    }
    for (const llvm::object::SectionRef& section : (*file)->sections()) {
      if (!section.isText() && !section.isData()) continue;
      llvm::Expected<llvm::StringRef> contents = section.getContents();
      if (contents) {
        absl::StrAppend(&code, contents->size(), ":",
                        absl::string_view(contents->data(), contents->size()));
      } else {
        llvm::consumeError(contents.takeError());
      }
    }
  }
  return code;
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
  CpuCodeWriter(std::vector<std::string> names, std::vector<NamedTarget> targets)
      : names_(std::move(names)),
        targets_(std::move(targets)),
        is_aarch64_(targets_.front().is_aarch64),
        program_(AnyMachine(is_aarch64_), TripleOf(targets_.front())) {}

  const std::vector<std::string>& variants() const override { return names_; }
  absl::StatusOr<std::unique_ptr<backend::Backend>> NewBackend(size_t variant,
                                                               const std::string& prefix) override {
    return MakeObjectBackend(targets_[variant], prefix);
  }

  absl::StatusOr<Written> Write(std::vector<aot::Library>* libraries) override {
    const std::string name = libraries->front().name;
    Written written;
    const std::vector<std::vector<CpuNeed>> needs = LeaveOut(libraries, &written);
    ArchiveMaker archive;
    std::deque<std::string> objects;
    std::string& data = libraries->back().data.bytes;
    const bool is_inside = libraries->front().weights == aot::WeightsPlace::kInside;
    const uint64_t digest = is_inside ? 0 : aot::SealWeights(&data);
    const auto add = [&](const std::string& member, absl::string_view object) {
      archive.Add(member + ".o", object);
      written.sizes.emplace_back(member, LoadedBytes(object));
      return written.sizes.back().second;
    };
    for (aot::Library& library : *libraries) {
      // A variant's sentences have the same numbers in the next one.
      if (&library != &libraries->front()) library.sentences = (&library - 1)->sentences;
      library.weights_bytes = static_cast<int64_t>(data.size());
      library.weights_digest = digest;
      TEKTITE_ASSIGN_OR_RETURN(std::string program,
                               program_.EmitModule(library.prefix, [&](llvm::Module& module) {
                                 EmitProgram(&library, &module);
                                 return absl::OkStatus();
                               }));
      written.code_bytes.push_back(add(library.prefix, objects.emplace_back(std::move(program))));
      for (const aot::ObjectKernel* kernel : KernelsOf(library)) {
        written.code_bytes.back() += add(kernel->symbol(), kernel->object());
        if (!kernel->needs_kernels()) continue;
        written.kernels = LibraryArchive(is_aarch64_);
        if (written.kernels.empty()) {
          return Unimplemented(kernel->symbol(), ": its kernel is one of libtektite_kernels.a's, ",
                               "and Tektite was built without a compiler for AArch64");
        }
        libraries->back().needs_kernels = true;
      }
    }
    TEKTITE_ASSIGN_OR_RETURN(std::string entries,
                             program_.EmitModule(name, [&](llvm::Module& module) {
                               EmitEntryPoints(needs, libraries, &module);
                               return absl::OkStatus();
                             }));
    add(name, objects.emplace_back(std::move(entries)));
    if (!is_aarch64_) {
      for (auto& [member, object] : CpuCheckObjects(name)) {
        add(member, objects.emplace_back(std::move(object)));
      }
    }
    if (is_inside) {
      const auto machine = is_aarch64_ ? aot::ElfMachine::kAarch64 : aot::ElfMachine::kX86_64;
      add(name + "__data",
          objects.emplace_back(aot::WriteDataObject({name + "__data", machine}, data)));
    }
    written.data_bytes = static_cast<int64_t>(data.size());
    TEKTITE_ASSIGN_OR_RETURN(written.archive, archive.Write());
    return written;
  }

 private:
  // Erases variants whose kernels are those of the next one, which more CPUs can run; returns what
  // the others need.
  std::vector<std::vector<CpuNeed>> LeaveOut(std::vector<aot::Library>* libraries,
                                             Written* written) const {
    std::vector<std::vector<CpuNeed>> needs;
    std::vector<aot::Library> kept;
    for (size_t v = 0; v < libraries->size(); ++v) {
      const bool is_last = v + 1 == libraries->size();
      if (!is_last && CodeOf((*libraries)[v]) == CodeOf((*libraries)[v + 1])) {
        written->left_out.emplace_back(names_[v], names_[v + 1]);
        continue;
      }
      needs.push_back(NeedsOf(targets_[v], UsesTiles((*libraries)[v])));
      written->variants.push_back(names_[v]);
      kept.push_back(std::move((*libraries)[v]));
    }
    *libraries = std::move(kept);
    return needs;
  }

  const std::vector<std::string> names_;
  const std::vector<NamedTarget> targets_;
  const bool is_aarch64_;
  ObjectEmitter program_;
};

// The more a CPU must have, the earlier its code is tried.
size_t NeedsCount(const NamedTarget& target) { return NeedsOf(target, /*uses_tiles=*/true).size(); }

}  // namespace

absl::StatusOr<std::unique_ptr<aot::CodeWriter>> CreateCpuCodeWriter(const std::string& cpus,
                                                                     const Flags& flags) {
  std::vector<std::pair<std::string, NamedTarget>> targets;
  for (absl::string_view cpu : absl::StrSplit(cpus, ',', absl::SkipWhitespace())) {
    TEKTITE_ASSIGN_OR_RETURN(NamedTarget target, TargetNamed(cpu));
    TakePermissions(flags, &target.info);
    const bool is_new = std::none_of(targets.begin(), targets.end(),
                                     [&](const auto& other) { return other.first == cpu; });
    if (is_new) targets.emplace_back(cpu, std::move(target));
  }
  if (targets.empty()) return InvalidArgument("no CPU is named");
  for (const auto& [name, target] : targets) {
    if (target.is_aarch64 == targets.front().second.is_aarch64) continue;
    return InvalidArgument("'", name, "' and '", targets.front().first,
                           "' are CPUs of two kinds, which one library cannot be for");
  }
  std::stable_sort(targets.begin(), targets.end(), [](const auto& a, const auto& b) {
    return NeedsCount(a.second) > NeedsCount(b.second);
  });
  std::vector<std::string> names;
  std::vector<NamedTarget> infos;
  for (auto& [name, target] : targets) {
    names.push_back(name);
    infos.push_back(std::move(target));
  }
  return std::make_unique<CpuCodeWriter>(std::move(names), std::move(infos));
}

}  // namespace tektite::cpu
