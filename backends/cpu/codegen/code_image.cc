#include "backends/cpu/codegen/code_image.h"

#include <cstring>

#include "backends/cpu/codegen/code_pages.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

constexpr uint32_t kFormat = 1;
// Far beyond any kernel; bounds what a damaged number can ask for.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;

struct Parsed {
  uint64_t entry = 0;
  std::vector<CodeImage::Fixup> fixups;
  absl::string_view code;  // borrows
  size_t place = 0;        // in the mapping
};

absl::Status Parse(absl::string_view serialized, Parsed* image) {
  ByteReader r(serialized);
  if (r.U32() != kFormat) return InvalidArgument("code image: another format");
  image->entry = r.U64();
  image->fixups.resize(r.Count(3 * sizeof(uint64_t)));
  for (CodeImage::Fixup& fixup : image->fixups) {
    fixup.offset = r.U64();
    fixup.function = r.I64();
    fixup.addend = r.U64();
  }
  image->code = r.String();
  if (!r.AtEnd()) return InvalidArgument("code image: cut short");
  const uint64_t size = image->code.size();
  const auto num_functions = static_cast<int64_t>(CalledFunctions().size());
  bool good = image->entry < size && size <= kMostBytes;
  for (const CodeImage::Fixup& fixup : image->fixups) {
    good = good && size >= sizeof(uint64_t) && fixup.offset <= size - sizeof(uint64_t) &&
           fixup.function >= -1 && fixup.function < num_functions && fixup.addend <= size;
  }
  if (!good) return InvalidArgument("code image: a place outside its code");
  return absl::OkStatus();
}

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

CodeImage LoadedCode::Image() const {
  CodeImage image{entry_, fixups_, std::string(code_)};
  // Addresses say where the code happens to be.
  for (const CodeImage::Fixup& fixup : fixups_) {
    std::memset(image.bytes.data() + fixup.offset, 0, sizeof(uint64_t));
  }
  return image;
}

absl::StatusOr<std::vector<LoadedCode>> LoadCode(absl::Span<const absl::string_view> images) {
  std::vector<Parsed> parsed(images.size());
  size_t size = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    TEKTITE_RETURN_IF_ERROR(Parse(images[i], &parsed[i]));
    parsed[i].place = size;
    size += (parsed[i].code.size() + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
  }
  std::vector<LoadedCode> loaded;
  if (size == 0) return loaded;
  TEKTITE_ASSIGN_OR_RETURN(CodePages mapped, CodePages::Map(size));
  const auto pages = std::make_shared<CodePages>(std::move(mapped));
  loaded.reserve(images.size());
  for (Parsed& image : parsed) {
    char* const bytes = pages->data() + image.place;
    std::memcpy(bytes, image.code.data(), image.code.size());
    for (const CodeImage::Fixup& fixup : image.fixups) {
      const void* const target =
          fixup.function < 0 ? bytes + fixup.addend : CalledFunctions()[fixup.function].address;
      const auto value = reinterpret_cast<uint64_t>(target);
      std::memcpy(bytes + fixup.offset, &value, sizeof(value));
    }
    loaded.emplace_back(pages, absl::string_view(bytes, image.code.size()), image.entry,
                        std::move(image.fixups));
  }
  TEKTITE_RETURN_IF_ERROR(pages->MakeExecutable());
  return loaded;
}

}  // namespace tektite::cpu
