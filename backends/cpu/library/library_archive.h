// libtektite_kernels.a: the kernels of this folder as a static library of their own, for libraries
// that are made ahead of time and use some of them.
//
//   absl::string_view archive = LibraryArchive(/*is_aarch64=*/false);
//
// It is built with Tektite and lies in its read-only data.  It needs libc, libm and the C++
// library, and a CPU with AVX2 and FMA, or any AArch64 CPU.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_ARCHIVE_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_ARCHIVE_H_

#include "absl/strings/string_view.h"

namespace tektite::cpu {

// Empty where Tektite was built without a compiler for AArch64.
absl::string_view LibraryArchive(bool is_aarch64);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_ARCHIVE_H_
