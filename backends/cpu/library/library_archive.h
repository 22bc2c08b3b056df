// libtektite_kernels.a: the kernels of this folder as a static library of their own, for libraries
// that are made ahead of time and use some of them.
//
//   absl::string_view archive = LibraryArchive();
//
// It is built with Tektite and lies in its read-only data.  It needs libc, libm and the C++
// library, and a CPU with AVX2 and FMA.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_ARCHIVE_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_ARCHIVE_H_

#include "absl/strings/string_view.h"

namespace tektite::cpu {

absl::string_view LibraryArchive();

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_ARCHIVE_H_
