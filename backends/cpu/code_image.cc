#include "backends/cpu/code_image.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

constexpr uint32_t kFormat = 1;
// Far beyond any kernel; bounds what a damaged number can ask for.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;

}  // namespace

absl::Span<const CalledFunction> CalledFunctions() {
  static const CalledFunction functions[] = {
      {"memcpy", reinterpret_cast<const void*>(&std::memcpy)},
      {"memmove", reinterpret_cast<const void*>(&std::memmove)},
      {"memset", reinterpret_cast<const void*>(&std::memset)},
  };
  return functions;
}

std::string CodeImage::Serialize() const {
  ByteWriter w;
  w.U32(kFormat);
  w.U64(entry);
  w.U64(fixups.size());
  for (const Fixup& fixup : fixups) {
    w.U64(fixup.offset);
    w.I64(fixup.function);
    w.U64(fixup.addend);
  }
  w.String(bytes);
  return w.Take();
}

absl::StatusOr<CodeImage> CodeImage::Parse(absl::string_view serialized) {
  ByteReader r(serialized);
  CodeImage image;
  if (r.U32() != kFormat) return InvalidArgument("code image: another format");
  image.entry = r.U64();
  image.fixups.resize(r.Count(3 * sizeof(uint64_t)));
  for (Fixup& fixup : image.fixups) {
    fixup.offset = r.U64();
    fixup.function = r.I64();
    fixup.addend = r.U64();
  }
  image.bytes = std::string(r.String());
  if (!r.AtEnd()) return InvalidArgument("code image: cut short");
  const uint64_t size = image.bytes.size();
  const auto num_functions = static_cast<int64_t>(CalledFunctions().size());
  bool good = image.entry < size && size <= kMostBytes;
  for (const Fixup& fixup : image.fixups) {
    good = good && size >= sizeof(uint64_t) && fixup.offset <= size - sizeof(uint64_t) &&
           fixup.function >= -1 && fixup.function < num_functions && fixup.addend <= size;
  }
  if (!good) return InvalidArgument("code image: a place outside its code");
  return image;
}

absl::StatusOr<LoadedCode> LoadCode(const CodeImage& image) {
  const size_t size = image.bytes.size();
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", size, " bytes of code: ", std::strerror(errno)));
  }
  std::shared_ptr<const void> owner(memory,
                                    [size](const void* m) { munmap(const_cast<void*>(m), size); });
  auto* const bytes = static_cast<char*>(memory);
  std::memcpy(bytes, image.bytes.data(), size);
  for (const CodeImage::Fixup& fixup : image.fixups) {
    const void* const target =
        fixup.function < 0 ? bytes + fixup.addend : CalledFunctions()[fixup.function].address;
    const auto value = reinterpret_cast<uint64_t>(target);
    std::memcpy(bytes + fixup.offset, &value, sizeof(value));
  }
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memory cannot be made executable: ", std::strerror(errno)));
  }
  return LoadedCode{bytes + image.entry, std::move(owner)};
}

}  // namespace tektite::cpu
