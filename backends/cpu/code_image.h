// Machine code that can be copied to any address and run: what is kept of an object file.
//
//   TEKTITE_ASSIGN_OR_RETURN(CodeImage image, FlattenObject("k3_softmax", object));
//   TEKTITE_ASSIGN_OR_RETURN(LoadedCode loaded, LoadCode(image));
//   reinterpret_cast<KernelFn>(loaded.entry)(...);
//
// Why not a linker at run time: a kernel is one function and its constants, so its sections can be
// laid out once, and nothing then depends on where they stand but the addresses of memcpy, memmove
// and memset.  Loading is a copy (8 us with its system calls; ORC's JIT linker took 30 to 500), and
// the image is a third of the object's size.  Memory is writable first and executable afterwards,
// never both.
//
// Limits: x86-64; read-only sections only; code that calls anything but those three functions is
// refused with the symbol's name: a vector function that LLVM turned into calls of libm is a
// defect, not a fallback.  No unwind tables: nothing may be thrown through a kernel.
#ifndef TEKTITE_BACKENDS_CPU_CODE_IMAGE_H_
#define TEKTITE_BACKENDS_CPU_CODE_IMAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tektite::cpu {

// The functions outside that code may call, by the number that CodeImage::Fixup holds.
struct CalledFunction {
  absl::string_view name;
  const void* address;
};
absl::Span<const CalledFunction> CalledFunctions();

struct CodeImage {
  // 8 bytes at `offset` become the address of function `function` of CalledFunctions(), or with
  // function -1 the image's own address plus `addend`.
  struct Fixup {
    uint64_t offset = 0;
    int64_t function = -1;
    uint64_t addend = 0;
  };
  uint64_t entry = 0;  // offset of the kernel's function
  std::vector<Fixup> fixups;
  std::string bytes;  // at an address aligned to a page

  std::string Serialize() const;
  // InvalidArgument for bytes that Serialize did not make, as far as that can be seen.
  static absl::StatusOr<CodeImage> Parse(absl::string_view bytes);
};

// `object` is an ELF object in which `name` is the kernel's function.
absl::StatusOr<CodeImage> FlattenObject(absl::string_view name, absl::string_view object);

struct LoadedCode {
  const void* entry = nullptr;
  std::shared_ptr<const void> memory;  // owns what entry stands in
};
absl::StatusOr<LoadedCode> LoadCode(const CodeImage& image);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODE_IMAGE_H_
