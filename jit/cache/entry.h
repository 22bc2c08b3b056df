// The bytes of one cache entry: the whole key, the payload, and a digest over all of it.
// Example(const CacheKey& key, absl::string_view payload, int64_t now_us):
//   std::string bytes = EncodeEntry(key, payload, now_us);
//   Entry entry;
//   EntryFault fault = DecodeEntry(bytes, &entry);  // kNone, or why these bytes are refused
//
//   header    "TEKTITE\n", format, kind, size, created, key, prints of the key's parts: 136 bytes
//   body      name, the key's parts, payload, each after its length; the part kIr deflated, which
//             is for people and would be half of what a load has to read
//   digest    XXH3, 128 bits, of all before
//
// Nothing in an entry is believed before its digest is checked; ReadHeader is for tools that look
// at many.  No bytes, however damaged, make the reader crash or allocate more than their own size;
// where the digest is right, a deflated text may be a thousand times its own.
#ifndef TEKTITE_JIT_CACHE_ENTRY_H_
#define TEKTITE_JIT_CACHE_ENTRY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "jit/cache/key.h"

namespace tektite::cache {

inline constexpr uint32_t kEntryFormat = 5;
inline constexpr size_t kHeaderBytes = 8 + 4 + 4 + 8 + 8 + 32 + 8 * kNumKeyParts;

struct EntryHeader {
  EntryKind kind = EntryKind::kKernel;
  uint64_t bytes = 0;
  int64_t created_us = 0;
  Fingerprint key;
  PartPrints prints = {};
};

struct Entry {
  EntryHeader header;
  std::string name;
  PartTexts parts;
  absl::string_view payload;  // borrows
};

enum class EntryFault {
  kNone,
  kForeign,  // possibly whole, but of another format
  kDamaged,
};

std::string EncodeEntry(const CacheKey& key, absl::string_view payload, int64_t created_us);
EntryFault DecodeEntry(absl::string_view bytes, Entry* entry);
// The payload alone, after the same checks.
EntryFault DecodePayload(absl::string_view bytes, const Fingerprint& key,
                         absl::string_view* payload);
// From the first kHeaderBytes; false when they are not there or not ours.
bool ReadHeader(absl::string_view bytes, EntryHeader* header);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_ENTRY_H_
