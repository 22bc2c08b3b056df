#include "jit/base/hash.h"

#include <sodium/crypto_generichash.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/escaping.h"

namespace tektite {

std::string Fingerprint::Hex() const {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Fingerprint FingerprintOf(absl::string_view bytes) {
  Fingerprint f;
  crypto_generichash(f.bytes.data(), f.bytes.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr,
                     0);
  return f;
}

Checksum ChecksumOf(absl::string_view bytes) {
  static_assert(sizeof(XXH128_canonical_t) == sizeof(Checksum::bytes));
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Checksum sum;
  std::memcpy(sum.bytes.data(), canonical.digest, sizeof(canonical.digest));
  return sum;
}

}  // namespace tektite
