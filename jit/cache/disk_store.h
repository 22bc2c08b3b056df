// The disk cache: every later process reads code back that was compiled once.
//
//   std::unique_ptr<DiskStore> store = DiskStore::Open(options);          // never fails
//   std::optional<std::string> image = store->Load(key, [&] { return DescribeKernel(...); });
//   if (!image) store->Store(described_key, compile());
//   store->Flush();                                                       // writes the run's log
//
// A file for each entry (entry.h) in a directory (directory.h), and packs, which are read alone and
// asked second.  Whatever is wrong with an entry is a miss and a counter, never an error, and the
// first of its kind a warning; a damaged entry is removed.  When the entries outgrow max_bytes,
// those not used for longest go.  Any number of processes may share a directory; all functions are
// thread-safe.
#ifndef TEKTITE_JIT_CACHE_DISK_STORE_H_
#define TEKTITE_JIT_CACHE_DISK_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "jit/base/flags.h"
#include "jit/base/hash.h"
#include "jit/cache/directory.h"
#include "jit/cache/entry.h"
#include "jit/cache/key.h"
#include "jit/cache/pack_signature.h"
#include "jit/cache/run_log.h"

namespace tektite::cache {

struct DiskStoreOptions {
  std::string directory;  // empty: packs only
  std::vector<std::string> packs;
  // The public key that packs must be signed with; empty: they must belong to the user or to root.
  std::string pack_key;
  int64_t max_bytes = int64_t{1} << 30;
  bool warn_about_directory = false;  // since the user named it
};

struct DiskCounters {
#define TEKTITE_DISK_COUNTER(name, sentence) int64_t name = 0;
#include "jit/cache/disk_counter_list.inc"
#undef TEKTITE_DISK_COUNTER
};

class DiskStore {
 public:
  // Of the flags --cache_dir, --cache_mb, --cache_pack and --pack_key; null when there is nothing
  // to read or write.  A pack that cannot be used is one warning, and so is a directory that the
  // user named.
  static std::unique_ptr<DiskStore> Open(const Flags& flags);
  static std::unique_ptr<DiskStore> Open(const DiskStoreOptions& options);

  // `describe` is called when there is no such entry, to log the miss.  Null: the caller asks again
  // in a moment, and that second miss is logged.
  std::optional<std::string> Load(const Fingerprint& key,
                                  const std::function<CacheKey()>& describe);
  // A sync takes milliseconds: one of hundreds of small entries that can be made again does
  // without.
  void Store(const CacheKey& key, absl::string_view payload,
             Directory::Sync sync = Directory::Sync::kYes);
  // The payload that Load returned turned out to be unusable.
  void Reject(const Fingerprint& key);
  // Writes the log of this run; the first time it also removes what dead processes left.
  void Flush();

  DiskCounters counters() const;

 private:
  explicit DiskStore(const DiskStoreOptions& options);
  struct Pack {
    std::unique_ptr<Directory> directory;
    std::optional<PackSignature> signature;  // with a key
  };
  static absl::StatusOr<Pack> OpenPack(const std::string& path, const std::string& key_path);
  // `signature`: null, or what the entry must fit.
  std::optional<std::string> LoadFrom(const Directory& directory, const PackSignature* signature,
                                      const Fingerprint& key, MissCause* cause);
  // One line for all files of a kind: a disk that went bad has hundreds.
  void WarnAboutFirst(MissCause cause, const Directory& directory, const Fingerprint& key,
                      absl::string_view what);
  void KeepBound(int64_t added);

  struct Atomics {
#define TEKTITE_DISK_COUNTER(name, sentence) std::atomic<int64_t> name{0};
#include "jit/cache/disk_counter_list.inc"
#undef TEKTITE_DISK_COUNTER
  };

  const int64_t max_bytes_;
  std::unique_ptr<Directory> directory_;  // may be null
  std::vector<Pack> packs_;
  std::atomic<bool> writable_{false};
  std::atomic<bool> has_swept_{false};
  std::atomic<uint32_t> warned_{0};  // a bit for each MissCause
  RunLog log_;
  mutable Atomics counters_;

  std::mutex causes_mutex_;                             // guards causes_
  absl::flat_hash_map<Fingerprint, MissCause> causes_;  // of quiet misses, not asked again yet

  std::mutex bound_mutex_;    // guards the members below
  int64_t known_bytes_ = -1;  // of all entries as last seen, and added ones; -1: not looked yet
};

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_DISK_STORE_H_
