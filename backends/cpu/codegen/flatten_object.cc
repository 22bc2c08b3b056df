// FlattenObject: sections laid out one after another, references between them resolved.

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "backends/cpu/codegen/code_image.h"
#include "jit/base/status.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tektite::cpu {
namespace {

using llvm::object::ELFObjectFileBase;
using llvm::object::ObjectFile;
using llvm::object::RelocationRef;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

// jmp *2(%rip); two bytes of padding; the address
constexpr unsigned char kStub[] = {0xFF, 0x25, 2, 0, 0, 0, 0x90, 0x90};
constexpr uint64_t kStubAddress = sizeof(kStub);

class Flattener {
 public:
  Flattener(absl::string_view name, const ObjectFile& file) : name_(name), file_(file) {}

  absl::StatusOr<CodeImage> Run() {
    TEKTITE_RETURN_IF_ERROR(PlaceSections());
    TEKTITE_RETURN_IF_ERROR(FindEntry());
    for (const SectionRef& section : file_.sections()) {
      auto target = section.getRelocatedSection();
      if (!target) return FromLlvm(target.takeError());
      if (*target == file_.section_end()) continue;
      const auto place = place_.find((*target)->getIndex());
      if (place == place_.end()) continue;  // unwind tables and the like
      for (const RelocationRef& relocation : section.relocations()) {
        TEKTITE_RETURN_IF_ERROR(Apply(relocation, place->second, (*target)->getSize()));
      }
    }
    return std::move(image_);
  }

 private:
  template <typename... Args>
  absl::Status Bad(const Args&... args) const {
    return Internal("kernel ", name_, ": ", args...);
  }
  absl::Status FromLlvm(llvm::Error error) const {
    return Bad("bad object: ", llvm::toString(std::move(error)));
  }

  // Everything a process would have in memory, but for unwind tables.
  absl::Status PlaceSections() {
    for (const SectionRef& section : file_.sections()) {
      const llvm::object::ELFSectionRef elf(section);
      if ((elf.getFlags() & llvm::ELF::SHF_ALLOC) == 0 || section.getSize() == 0) continue;
      auto name = section.getName();
      if (!name) return FromLlvm(name.takeError());
      if (*name == ".eh_frame" || elf.getType() == llvm::ELF::SHT_NOTE) continue;
      if ((elf.getFlags() & llvm::ELF::SHF_WRITE) != 0 && !name->starts_with(".data.rel.ro")) {
        return Bad("the code has variables (", name->str(), ")");
      }
      auto contents = section.getContents();
      if (!contents) return FromLlvm(contents.takeError());
      const uint64_t alignment = std::max<uint64_t>(section.getAlignment().value(), 16);
      if (alignment > kImageAlignment) return Bad("data aligned to ", alignment, " bytes");
      image_.bytes.resize((image_.bytes.size() + alignment - 1) / alignment * alignment);
      place_[section.getIndex()] = image_.bytes.size();
      image_.bytes.append(contents->data(), contents->size());
    }
    return absl::OkStatus();
  }

  absl::Status FindEntry() {
    for (const SymbolRef& symbol : file_.symbols()) {
      auto name = symbol.getName();
      if (!name) return FromLlvm(name.takeError());
      if (absl::string_view(name->data(), name->size()) != name_) continue;
      TEKTITE_ASSIGN_OR_RETURN(std::optional<uint64_t> at, PlaceOf(symbol));
      if (!at.has_value() || *at >= image_.bytes.size()) continue;  // the name of the module
      image_.entry = *at;
      return absl::OkStatus();
    }
    return Bad("the object does not define it");
  }

  // In the image; nothing for a symbol that is not defined in it.
  absl::StatusOr<std::optional<uint64_t>> PlaceOf(const SymbolRef& symbol) const {
    auto section = symbol.getSection();
    if (!section) return FromLlvm(section.takeError());
    if (*section == file_.section_end()) return std::nullopt;
    const auto place = place_.find((*section)->getIndex());
    if (place == place_.end()) return std::nullopt;
    auto value = symbol.getValue();
    if (!value) return FromLlvm(value.takeError());
    return place->second + *value;
  }

  // The stub that jumps to a function outside; made on its first use.
  absl::StatusOr<uint64_t> Stub(const SymbolRef& symbol) {
    auto text = symbol.getName();
    if (!text) return FromLlvm(text.takeError());
    const absl::string_view name(text->data(), text->size());
    const absl::Span<const CalledFunction> functions = CalledFunctions();
    const auto called = std::find_if(functions.begin(), functions.end(),
                                     [&](const CalledFunction& f) { return f.name == name; });
    if (called == functions.end()) return Bad("the code calls ", name, ", which has no lowering");
    const int64_t function = called - functions.begin();
    auto [it, added] = stubs_.try_emplace(function, 0);
    if (added) {
      image_.bytes.resize((image_.bytes.size() + 15) / 16 * 16);
      it->second = image_.bytes.size();
      image_.bytes.append(reinterpret_cast<const char*>(kStub), sizeof(kStub));
      image_.bytes.append(sizeof(uint64_t), '\0');
      image_.fixups.push_back({it->second + kStubAddress, function, 0});
    }
    return it->second;
  }

  absl::Status Apply(const RelocationRef& relocation, uint64_t section, uint64_t section_size) {
    auto addend = llvm::object::ELFRelocationRef(relocation).getAddend();
    if (!addend) return FromLlvm(addend.takeError());
    const uint64_t type = relocation.getType();
    const uint64_t width =
        type == llvm::ELF::R_X86_64_64 || type == llvm::ELF::R_X86_64_PC64 ? 8 : 4;
    const uint64_t offset = relocation.getOffset();
    if (section_size < width || offset > section_size - width) {
      return Bad("a relocation outside its section");
    }
    if (relocation.getSymbol() == file_.symbol_end()) return Bad("a relocation without symbol");
    const SymbolRef symbol = *relocation.getSymbol();
    TEKTITE_ASSIGN_OR_RETURN(const std::optional<uint64_t> defined, PlaceOf(symbol));
    const uint64_t at = section + offset;
    int64_t target = *addend;
    switch (type) {
      case llvm::ELF::R_X86_64_PC32:
      case llvm::ELF::R_X86_64_PLT32:
      case llvm::ELF::R_X86_64_PC64: {
        if (defined.has_value()) {
          target += static_cast<int64_t>(*defined);
        } else {
          TEKTITE_ASSIGN_OR_RETURN(const uint64_t stub, Stub(symbol));
          target += static_cast<int64_t>(stub);
        }
        break;
      }
      case llvm::ELF::R_X86_64_GOTPCREL:
      case llvm::ELF::R_X86_64_GOTPCRELX:
      case llvm::ELF::R_X86_64_REX_GOTPCRELX: {
        if (defined.has_value()) return Bad("an own symbol by way of a table");
        TEKTITE_ASSIGN_OR_RETURN(const uint64_t stub, Stub(symbol));
        target += static_cast<int64_t>(stub + kStubAddress);
        break;
      }
      case llvm::ELF::R_X86_64_64:
        if (!defined.has_value()) return Bad("the address of an outside symbol");
        if (target < 0) return Bad("an address before its symbol");
        image_.fixups.push_back({at, -1, *defined + static_cast<uint64_t>(target)});
        std::memset(image_.bytes.data() + at, 0, sizeof(uint64_t));
        return absl::OkStatus();
      default:
        return Bad("relocation type ", type);
    }
    const int64_t distance = target - static_cast<int64_t>(at);
    std::memcpy(image_.bytes.data() + at, &distance, width);  // little-endian: the low bytes first
    return absl::OkStatus();
  }

  const absl::string_view name_;
  const ObjectFile& file_;
  CodeImage image_;
  std::map<uint64_t, uint64_t> place_;  // section -> offset in the image
  std::map<int64_t, uint64_t> stubs_;
};

}  // namespace

absl::StatusOr<CodeImage> FlattenObject(absl::string_view name, absl::string_view object) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernel");
  auto file = ObjectFile::createELFObjectFile(buffer);
  if (!file) {
    return Internal("kernel ", name, ": bad object: ", llvm::toString(file.takeError()));
  }
  if ((*file)->getArch() != llvm::Triple::x86_64 || !(*file)->isRelocatableObject()) {
    return Internal("kernel ", name, ": not an object of this machine");
  }
  return Flattener(name, **file).Run();
}

}  // namespace tektite::cpu
