#include "backends/cpu/library/library_archive.h"

// TEKTITE_KERNELS_ARCHIVE is the archive's file (CMakeLists.txt).
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    "tektite_kernels_archive_begin:\n"
    ".incbin \"" TEKTITE_KERNELS_ARCHIVE
    "\"\n"
    "tektite_kernels_archive_end:\n"
    ".popsection\n");
extern "C" const char tektite_kernels_archive_begin[], tektite_kernels_archive_end[];

namespace tektite::cpu {

absl::string_view LibraryArchive() {
  return {tektite_kernels_archive_begin,
          static_cast<size_t>(tektite_kernels_archive_end - tektite_kernels_archive_begin)};
}

}  // namespace tektite::cpu
