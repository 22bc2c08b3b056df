#include "jit/aot/data_object.h"

#include <elf.h>

#include <cstring>

namespace tektite::aot {
namespace {

constexpr size_t kDataAlignment = 64;
// Data of this size lies as the system's large pages do.  A program's file becomes 4 MB longer.
constexpr size_t kLarge = size_t{32} << 20;
constexpr size_t kLargePage = size_t{2} << 20;
// Sections in order.
enum Section : uint16_t { kNone, kData, kSymbols, kStrings, kSectionNames, kStack, kNumSections };

size_t RoundUp(size_t size, size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

// Appends at a multiple of `alignment`; returns where.
size_t Append(absl::string_view part, size_t alignment, std::string* file) {
  file->resize(RoundUp(file->size(), alignment));
  const size_t at = file->size();
  file->append(part.data(), part.size());
  return at;
}

template <typename T>
absl::string_view BytesOf(const T& value, size_t count) {
  return {reinterpret_cast<const char*>(&value), count};
}

}  // namespace

std::string WriteDataObject(const DataSymbol& symbol, absl::string_view bytes) {
  static constexpr char kNames[] = "\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0.text";
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = static_cast<uint16_t>(symbol.machine);
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kNumSections;
  header.e_shstrndx = kSectionNames;

  Elf64_Sym symbols[2] = {};
  symbols[1].st_name = 1;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, symbol.is_function ? STT_FUNC : STT_OBJECT);
  symbols[1].st_other = STV_HIDDEN;
  symbols[1].st_shndx = kData;
  symbols[1].st_size = bytes.size();
  const std::string strings = std::string(1, '\0') + symbol.name + std::string(1, '\0');

  Elf64_Shdr sections[kNumSections] = {};
  std::string file;
  file.reserve(bytes.size() + 4096);
  Append(BytesOf(header, sizeof(header)), 1, &file);
  const auto add = [&](Section section, Elf64_Word name, Elf64_Word type, absl::string_view part,
                       size_t alignment) -> Elf64_Shdr& {
    Elf64_Shdr& it = sections[section];
    it.sh_name = name;
    it.sh_type = type;
    it.sh_offset = Append(part, alignment, &file);
    it.sh_size = part.size();
    it.sh_addralign = alignment;
    return it;
  };
  const Elf64_Xword flags = symbol.is_function ? SHF_ALLOC | SHF_EXECINSTR : SHF_ALLOC;
  Elf64_Shdr& data = add(kData, symbol.is_function ? 51 : 1, SHT_PROGBITS, bytes, kDataAlignment);
  data.sh_flags = flags;
  if (bytes.size() >= kLarge) data.sh_addralign = kLargePage;
  Elf64_Shdr& table = add(kSymbols, 9, SHT_SYMTAB, BytesOf(symbols, sizeof(symbols)), 8);
  table.sh_link = kStrings;
  table.sh_info = 1;  // the first symbol that is not local
  table.sh_entsize = sizeof(Elf64_Sym);
  add(kStrings, 17, SHT_STRTAB, strings, 1);
  add(kSectionNames, 25, SHT_STRTAB, absl::string_view(kNames, sizeof(kNames)), 1);
  add(kStack, 35, SHT_PROGBITS, "", 1);
  header.e_shoff = Append(BytesOf(sections, sizeof(sections)), 8, &file);
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

}  // namespace tektite::aot
