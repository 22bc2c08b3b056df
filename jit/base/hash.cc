#include "jit/base/hash.h"

#include <sodium/crypto_generichash.h>

#include "absl/strings/escaping.h"

namespace tektite {

std::string Fingerprint::Hex() const {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Fingerprint FingerprintOf(absl::string_view bytes) {
  Fingerprint f;
  crypto_generichash(f.bytes.data(), f.bytes.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return f;
}

}  // namespace tektite
