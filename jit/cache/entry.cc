#include "jit/cache/entry.h"

#include <cstring>

#include "jit/base/bytes.h"
#include "jit/base/deflate.h"

namespace tektite::cache {
namespace {

constexpr absl::string_view kMagic("TEKTITE\n", 8);

// The bytes of a part in the body.
std::string PartBytes(const PartTexts& parts, KeyPart part) {
  const std::string& text = parts[static_cast<size_t>(part)];
  switch (part) {
    case KeyPart::kOps:
    case KeyPart::kTypes:
      return "";  // read off the text of kIr: their prints are enough to tell what differs
    case KeyPart::kIr:
      return Deflate(text);
    default:
      return text;
  }
}

absl::string_view Raw(const Checksum& sum) {
  return absl::string_view(reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size());
}

// kNone when the digest is right and the header describes the bytes.
EntryFault Check(absl::string_view bytes, EntryHeader* header, absl::string_view* body) {
  ByteReader r(bytes);
  if (r.Raw(kMagic.size()) != kMagic) return EntryFault::kDamaged;
  const uint32_t format = r.U32();
  if (r.ok() && format != kEntryFormat) return EntryFault::kForeign;
  constexpr size_t kDigest = sizeof(Checksum::bytes);
  if (!ReadHeader(bytes, header) || header->bytes != bytes.size() ||
      bytes.size() < kHeaderBytes + kDigest) {
    return EntryFault::kDamaged;
  }
  const absl::string_view content = bytes.substr(0, bytes.size() - kDigest);
  if (Raw(ChecksumOf(content)) != bytes.substr(content.size())) return EntryFault::kDamaged;
  *body = content.substr(kHeaderBytes);
  return EntryFault::kNone;
}

}  // namespace

std::string EncodeEntry(const CacheKey& key, absl::string_view payload, int64_t created_us) {
  ByteWriter body;
  body.String(key.name);
  for (size_t i = 0; i < kNumKeyParts; ++i) {
    body.String(PartBytes(key.parts, static_cast<KeyPart>(i)));
  }
  body.String(payload);

  ByteWriter w;
  w.Raw(kMagic.data(), kMagic.size());
  w.U32(kEntryFormat);
  w.U32(static_cast<uint32_t>(key.kind));
  w.U64(kHeaderBytes + body.bytes().size() + sizeof(Checksum::bytes));
  w.I64(created_us);
  w.Raw(key.fingerprint.bytes.data(), key.fingerprint.bytes.size());
  for (uint64_t print : PrintsOf(key.parts)) w.U64(print);
  w.Raw(body.bytes().data(), body.bytes().size());
  const Checksum digest = ChecksumOf(w.bytes());
  w.Raw(digest.bytes.data(), digest.bytes.size());
  return w.Take();
}

bool ReadHeader(absl::string_view bytes, EntryHeader* header) {
  ByteReader r(bytes);
  if (r.Raw(kMagic.size()) != kMagic || r.U32() != kEntryFormat) return false;
  const uint32_t kind = r.U32();
  header->kind = static_cast<EntryKind>(kind);
  header->bytes = r.U64();
  header->created_us = r.I64();
  const absl::string_view key = r.Raw(header->key.bytes.size());
  for (uint64_t& print : header->prints) print = r.U64();
  if (!r.ok() || kind >= kNumEntryKinds) return false;
  std::memcpy(header->key.bytes.data(), key.data(), key.size());
  return true;
}

EntryFault DecodeEntry(absl::string_view bytes, Entry* entry) {
  absl::string_view body;
  const EntryFault fault = Check(bytes, &entry->header, &body);
  if (fault != EntryFault::kNone) return fault;
  ByteReader r(body);
  entry->name = std::string(r.String());
  for (std::string& part : entry->parts) part = std::string(r.String());
  entry->payload = r.String();
  std::string& ir = entry->parts[static_cast<size_t>(KeyPart::kIr)];
  if (!Inflate(std::string(ir), &ir)) return EntryFault::kDamaged;
  return r.AtEnd() ? EntryFault::kNone : EntryFault::kDamaged;
}

EntryFault DecodePayload(absl::string_view bytes, const Fingerprint& key,
                         absl::string_view* payload) {
  EntryHeader header;
  absl::string_view body;
  const EntryFault fault = Check(bytes, &header, &body);
  if (fault != EntryFault::kNone) return fault;
  if (header.key != key) return EntryFault::kDamaged;
  ByteReader r(body);
  for (size_t i = 0; i < 1 + kNumKeyParts; ++i) r.String();
  *payload = r.String();
  return r.AtEnd() ? EntryFault::kNone : EntryFault::kDamaged;
}

}  // namespace tektite::cache
