#include "jit/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace tektite {
namespace {

struct Search {
  uintptr_t address = 0;  // some code of ours
  std::string id;
};

size_t Padded(size_t size) { return (size + 3) & ~size_t{3}; }

void ReadNotes(const char* notes, size_t size, std::string* id) {
  while (size >= sizeof(ElfW(Nhdr))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes);
    const size_t name = sizeof(*note), value = name + Padded(note->n_namesz);
    const size_t end = value + Padded(note->n_descsz);
    if (end > size) return;
    if (note->n_type == NT_GNU_BUILD_ID && absl::string_view(notes + name, 3) == "GNU") {
      *id = absl::BytesToHexString(absl::string_view(notes + value, note->n_descsz));
    }
    notes += end;
    size -= end;
  }
}

int Visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool ours = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    ours = ours || (header.p_type == PT_LOAD && search->address >= begin &&
                    search->address - begin < header.p_memsz);
  }
  if (!ours) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    ReadNotes(reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr), header.p_memsz,
              &search->id);
  }
  return 1;
}

}  // namespace

const std::string& BuildId() {
  static const std::string& id = *new std::string([] {
    Search search;
    search.address = reinterpret_cast<uintptr_t>(&ReadNotes);
    dl_iterate_phdr(&Visit, &search);
    return search.id;
  }());
  return id;
}

}  // namespace tektite
