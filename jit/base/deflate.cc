#include "jit/base/deflate.h"

#include <zlib.h>

#include "jit/base/bytes.h"

namespace tektite {
namespace {

// zlib's own bound: 258 bytes take two bits at least.
constexpr uint64_t kMostRatio = 1032;

const Bytef* BytesOf(absl::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

}  // namespace

std::string Deflate(absl::string_view text) {
  uLongf size = compressBound(text.size());
  std::string stream(size, '\0');
  const int result =
      compress(reinterpret_cast<Bytef*>(stream.data()), &size, BytesOf(text), text.size());
  const bool shorter = result == Z_OK && size < text.size();
  ByteWriter out;
  out.U64(text.size());
  out.Raw(shorter ? stream.data() : text.data(), shorter ? size : text.size());
  return out.Take();
}

bool Inflate(absl::string_view packed, std::string* text) {
  ByteReader in(packed);
  const uint64_t size = in.U64();
  if (!in.ok()) return false;
  const absl::string_view stream = packed.substr(sizeof(size));
  if (size == stream.size()) {
    *text = std::string(stream);
    return true;
  }
  if (size / kMostRatio > stream.size()) return false;
  text->resize(size);
  uLongf done = size;
  const int result =
      uncompress(reinterpret_cast<Bytef*>(text->data()), &done, BytesOf(stream), stream.size());
  return result == Z_OK && done == size;
}

}  // namespace tektite
