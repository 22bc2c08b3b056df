#include "backends/cpu/library/library_archive.h"

// The archives' files (CMakeLists.txt); the second is there where a compiler for AArch64 was.
#ifndef TEKTITE_KERNELS_ARCHIVE_AARCH64
#define TEKTITE_KERNELS_ARCHIVE_AARCH64 "/dev/null"
#endif

#define TEKTITE_INCLUDE_BYTES(name, file) \
  __asm__(                                \
      ".pushsection .rodata\n"            \
      ".balign 64\n" #name                \
      "_begin:\n"                         \
      ".incbin \"" file "\"\n" #name      \
      "_end:\n"                           \
      ".popsection\n");                   \
  extern "C" const char name##_begin[], name##_end[];

TEKTITE_INCLUDE_BYTES(tektite_kernels_archive, TEKTITE_KERNELS_ARCHIVE)
TEKTITE_INCLUDE_BYTES(tektite_kernels_aarch64, TEKTITE_KERNELS_ARCHIVE_AARCH64)

namespace tektite::cpu {
namespace {

absl::string_view Bytes(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

absl::string_view LibraryArchive(bool is_aarch64) {
  return is_aarch64 ? Bytes(tektite_kernels_aarch64_begin, tektite_kernels_aarch64_end)
                    : Bytes(tektite_kernels_archive_begin, tektite_kernels_archive_end);
}

}  // namespace tektite::cpu
