#include "jit/cache/pack_signature.h"

#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/crypto_sign.h>
#include <sodium/utils.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "jit/base/status.h"
#include "jit/base/write_all.h"
#include "jit/cache/location.h"

namespace tektite::cache {
namespace {

constexpr absl::string_view kHead = "tektite pack 1\n";
constexpr absl::string_view kSecretHead = "tektite secret key ";
constexpr absl::string_view kPublicHead = "tektite public key ";
constexpr size_t kMostKeyBytes = 1024;

using SecretKey = std::array<unsigned char, crypto_sign_SECRETKEYBYTES>;
using PublicKey = std::array<unsigned char, crypto_sign_PUBLICKEYBYTES>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

template <typename Key>
std::string HexOf(const Key& key) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
}

// Exactly size of `bytes`; absl's own function reads anything.
bool FromHex(absl::string_view hex, unsigned char* bytes, size_t size) {
  size_t length = 0;
  const char* end = nullptr;
  return hex.size() == 2 * size &&
         sodium_hex2bin(bytes, size, hex.data(), hex.size(), nullptr, &length, &end) == 0 &&
         length == size && end == hex.data() + hex.size();
}

absl::Status WriteNew(const std::string& path, mode_t mode, absl::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  const bool written = fd >= 0 && WriteAll(fd, text);
  const std::string reason = strerror(errno);
  if (fd >= 0) close(fd);
  if (written) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write '", path, "': ", reason));
}

template <typename Key>
absl::Status ReadKey(const std::string& path, absl::string_view head, Key* key) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return absl::NotFoundError(absl::StrCat("cannot read key '", path, "': ", strerror(errno)));
  }
  std::string text(kMostKeyBytes, '\0');
  text.resize(std::max<ssize_t>(read(fd, text.data(), text.size()), 0));
  close(fd);
  absl::string_view rest = absl::StripSuffix(text, "\n");
  const bool good = absl::ConsumePrefix(&rest, head) && FromHex(rest, key->data(), key->size());
  sodium_memzero(text.data(), text.size());
  if (good) return absl::OkStatus();
  return InvalidArgument("'", path, "' holds no '", absl::StripSuffix(head, " "), "'");
}

std::string LineOf(absl::string_view name, absl::string_view bytes) {
  return absl::StrCat(name, " ", FingerprintOf(bytes).Hex(), "\n");
}

}  // namespace

absl::Status MakeSigningKey(const std::string& path) {
  if (sodium_init() < 0) return Internal("libsodium cannot be initialised");
  PublicKey open_half;
  SecretKey secret;
  crypto_sign_keypair(open_half.data(), secret.data());
  std::string text = absl::StrCat(kSecretHead, HexOf(secret), "\n");
  absl::Status status = WriteNew(path, 0600, text);
  sodium_memzero(text.data(), text.size());
  sodium_memzero(secret.data(), secret.size());
  if (!status.ok()) return status;
  return WriteNew(path + ".pub", 0644, absl::StrCat(kPublicHead, HexOf(open_half), "\n"));
}

absl::Status SignPack(const Directory& pack, const std::string& secret_key_path) {
  SecretKey secret;
  TEKTITE_RETURN_IF_ERROR(ReadKey(secret_key_path, kSecretHead, &secret));
  std::vector<std::string> lines;
  for (const Directory::File& file : pack.List(kEntrySuffix)) {
    std::string bytes;
    if (pack.Read(file.name, &bytes) != Directory::ReadResult::kOk) {
      return absl::UnavailableError(absl::StrCat("cannot read '", file.name, "' of the pack"));
    }
    lines.push_back(LineOf(file.name, bytes));
  }
  std::sort(lines.begin(), lines.end());
  std::string text(kHead);
  for (const std::string& line : lines) text += line;
  std::array<unsigned char, crypto_sign_BYTES> signature;
  crypto_sign_detached(signature.data(), nullptr, Bytes(text), text.size(), secret.data());
  sodium_memzero(secret.data(), secret.size());
  absl::StrAppend(&text, HexOf(signature), "\n");
  return pack.Write(kPackSignature, text, 0644);
}

absl::StatusOr<PackSignature> PackSignature::Read(const Directory& pack,
                                                  const std::string& public_key_path) {
  PublicKey key;
  TEKTITE_RETURN_IF_ERROR(ReadKey(public_key_path, kPublicHead, &key));
  std::string text;
  if (pack.Read(kPackSignature, &text) != Directory::ReadResult::kOk) {
    return absl::FailedPreconditionError(absl::StrCat("'", pack.path(), "' is not signed"));
  }
  // The last line is the signature of those before.
  absl::string_view lines = absl::StripSuffix(text, "\n");
  const size_t end = lines.rfind('\n') + 1;  // 0 without one
  std::array<unsigned char, crypto_sign_BYTES> signature;
  const bool good =
      FromHex(lines.substr(end), signature.data(), signature.size()) &&
      crypto_sign_verify_detached(signature.data(), Bytes(lines), end, key.data()) == 0;
  lines = lines.substr(0, end);
  if (!good || !absl::ConsumePrefix(&lines, kHead)) {
    return absl::FailedPreconditionError(absl::StrCat("the signature of '", pack.path(),
                                                      "' does not match '", public_key_path, "'"));
  }
  absl::flat_hash_map<std::string, std::string> digests;
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> words = absl::StrSplit(line, ' ');
    digests.insert(words);
  }
  return PackSignature(std::move(digests));
}

bool PackSignature::Fits(absl::string_view name, absl::string_view bytes) const {
  const auto found = digests_.find(name);
  return found != digests_.end() && found->second == FingerprintOf(bytes).Hex();
}

}  // namespace tektite::cache
