// Machine code that can be copied to any address and run: the part of a linked kernel that is kept.
//
//   TEKTITE_ASSIGN_OR_RETURN(LoadedCode code, linker.Link("k3_softmax", object));
//   const std::string bytes = code.Image().Serialize();      // for a file, say
//   TEKTITE_ASSIGN_OR_RETURN(std::vector<LoadedCode> loaded, LoadCode({bytes, others...}));
//   reinterpret_cast<KernelFn>(loaded[0].entry())(...);
//
// Why code is not linked again when it comes from the disk: a kernel is one function and its
// constants, so JITLink lays them out once, and nothing then depends on where they stand but the
// fixups.  Loading is a copy (linking takes 100 to 400 us), and the image is a third of the
// object's size.  Images that are loaded together lie in one mapping, so that the kernels of a
// program cost two system calls and share pages; the mapping is released with the last of them.
//
// Limits: x86-64; read-only sections only; code that calls anything but CalledFunctions() is
// refused with the symbol's name: a vector function that LLVM turned into calls of libm is a
// defect, not a fallback.  No unwind tables: nothing may be thrown through a kernel.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_CODE_IMAGE_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_CODE_IMAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
  std::string bytes;  // at an address aligned to kImageAlignment

  std::string Serialize() const;
};
// Of a cache line, which is a vector register's, too.
inline constexpr uint64_t kImageAlignment = 64;

// Code in memory, loaded from an image (LoadCode) or linked (CodeLinker).  Owns the memory it
// stands in, together with the images that were loaded with it.
class LoadedCode {
 public:
  LoadedCode(std::shared_ptr<const void> memory, absl::string_view code, uint64_t entry,
             std::vector<CodeImage::Fixup> fixups)
      : memory_(std::move(memory)), code_(code), entry_(entry), fixups_(std::move(fixups)) {}

  const void* entry() const { return code_.data() + entry_; }
  // The image that it was loaded from, or can be.
  CodeImage Image() const;

 private:
  std::shared_ptr<const void> memory_;
  absl::string_view code_;
  uint64_t entry_;
  std::vector<CodeImage::Fixup> fixups_;
};
// One for each image, as Serialize wrote them; InvalidArgument for bytes that it did not write, as
// far as that can be seen.
absl::StatusOr<std::vector<LoadedCode>> LoadCode(absl::Span<const absl::string_view> images);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_CODE_IMAGE_H_
