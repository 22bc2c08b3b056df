// Any bytes as a cache entry, as the part of one that its digest protects, and as a payload.
//
// An entry with a wrong digest is refused before anything else is read, so the fuzzer also puts a
// right header and digest round its bytes: a file that someone else wrote may have both.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "jit/base/bytes.h"
#include "jit/base/hash.h"
#include "jit/cache/entry.h"
#include "jit/compiler/module.h"
#include "tests/fuzz/require.h"

namespace tektite {
namespace {

using testing::Require;

// An entry whose body is `body`.
std::string WithHeaderAndDigest(absl::string_view body) {
  ByteWriter writer;
  writer.Raw("TEKTITE\n", 8);
  writer.U32(cache::kEntryFormat);
  writer.U32(static_cast<uint32_t>(cache::EntryKind::kModule));
  writer.U64(cache::kHeaderBytes + body.size() + sizeof(Checksum::bytes));
  const std::string rest(cache::kHeaderBytes - writer.bytes().size(), '\0');
  writer.Raw(rest.data(), rest.size());
  writer.Raw(body.data(), body.size());
  const Checksum digest = ChecksumOf(writer.bytes());
  writer.Raw(digest.bytes.data(), digest.bytes.size());
  return writer.Take();
}

void TryEntry(absl::string_view bytes) {
  cache::Entry entry;
  if (cache::DecodeEntry(bytes, &entry) != cache::EntryFault::kNone) return;
  absl::string_view payload;
  const auto fault = cache::DecodePayload(bytes, entry.header.key, &payload);
  Require(fault == cache::EntryFault::kNone, "both ways of reading accept an entry");
  Require(payload == entry.payload, "both find the same payload");
}

void TryModule(absl::string_view bytes) {
  compiler::Module module;
  if (!compiler::ReadModule(std::string(bytes), &module)) return;
  if (!module.refusal.empty()) return;
  compiler::Module again;
  Require(compiler::ReadModule(compiler::WriteModule(module), &again),
          "a module that was written can be read");
  Require(again.kernels.size() == module.kernels.size(), "no kernel is lost");
}

}  // namespace
}  // namespace tektite

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  tektite::TryEntry(bytes);
  tektite::TryEntry(tektite::WithHeaderAndDigest(bytes));
  tektite::TryModule(bytes);
  return 0;
}
