// The signature of a pack, over its entries' digests: proves who made it.
//
//   TEKTITE_RETURN_IF_ERROR(MakeSigningKey("pack.key"));              // and pack.key.pub
//   TEKTITE_RETURN_IF_ERROR(SignPack(directory, "pack.key"));         // writes "signature"
//   ...
//   TEKTITE_ASSIGN_OR_RETURN(auto signature, PackSignature::Read(directory, "pack.key.pub"));
//   if (!signature.Fits("3f2a.entry", bytes)) refuse;
//
// A pack is native code that will run.  The checksum inside an entry tells damage, not who wrote
// it: any user can make one that fits.  The file "signature" holds a line for each entry, its name
// and the BLAKE2b digest of its bytes, and at the end an Ed25519 signature of these lines.  A
// reader needs the public key alone, so that a server that is broken into cannot sign.
//
// Limits: a signature says nothing about when; an old pack of the same key is as good as a new one.
#ifndef TEKTITE_JIT_CACHE_PACK_SIGNATURE_H_
#define TEKTITE_JIT_CACHE_PACK_SIGNATURE_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/base/hash.h"
#include "jit/cache/directory.h"

namespace tektite::cache {

inline constexpr char kPackSignature[] = "signature";

// Writes a new secret key to `path`, with mode 0600, and its public half to `path`.pub.  Neither
// may exist.
absl::Status MakeSigningKey(const std::string& path);
// Over all entries that are there; replaces an older signature.
absl::Status SignPack(const Directory& pack, const std::string& secret_key_path);

class PackSignature {
 public:
  // FailedPrecondition where the pack is not signed, or by another key.
  static absl::StatusOr<PackSignature> Read(const Directory& pack,
                                            const std::string& public_key_path);
  bool Fits(absl::string_view name, absl::string_view bytes) const;

 private:
  explicit PackSignature(absl::flat_hash_map<std::string, std::string> digests)
      : digests_(std::move(digests)) {}
  absl::flat_hash_map<std::string, std::string> digests_;
};

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_PACK_SIGNATURE_H_
