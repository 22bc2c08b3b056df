#include "jit/cache/disk_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/build_id.h"
#include "jit/base/log.h"
#include "jit/base/process.h"
#include "jit/base/status.h"
#include "jit/cache/evict.h"
#include "jit/cache/location.h"

namespace tektite::cache {
namespace {

// An entry's time of use is kept to this precision: a hit then mostly costs no write.
constexpr int64_t kTouchUs = int64_t{600} * 1000000;
// After growing by this part of the bound, what other processes did is looked at again.
constexpr int64_t kLookAgain = 16;

// The files beside the entries take less than a hundredth of the bound: notes of evicted entries,
// the log of the entries that this run used, and the logs of earlier runs.
constexpr int64_t kLeastBeside = 1 << 10, kMostNotes = 256 << 10, kMostLog = 2 << 20;

int64_t NoteBytes(int64_t max_bytes) {
  return std::clamp(max_bytes / 256, kLeastBeside, kMostNotes);
}

int64_t LogBytes(int64_t max_bytes) { return std::clamp(max_bytes / 512, kLeastBeside, kMostLog); }

std::string FileOf(const Fingerprint& key) { return absl::StrCat(key.Hex(), kEntrySuffix); }

}  // namespace

std::unique_ptr<DiskStore> DiskStore::Open(const Flags& flags) {
  // Without a build id, code of different builds could not be told apart.
  if (BuildId().empty()) return nullptr;
  DiskStoreOptions options;
  options.directory = CacheDirectory(flags);
  options.packs = PackDirectories(flags);
  options.pack_key = flags.pack_key;
  options.max_bytes = std::clamp<int64_t>(flags.cache_mb, 0, int64_t{1} << 30) << 20;
  options.warn_about_directory = !flags.cache_dir.empty();
  return Open(options);
}

std::unique_ptr<DiskStore> DiskStore::Open(const DiskStoreOptions& options) {
  std::unique_ptr<DiskStore> store(new DiskStore(options));
  return store->directory_ == nullptr && store->packs_.empty() ? nullptr : std::move(store);
}

DiskStore::DiskStore(const DiskStoreOptions& options)
    : max_bytes_(options.max_bytes), log_(options.directory, LogBytes(max_bytes_)) {
  if (!options.directory.empty()) {
    auto directory = Directory::Open(options.directory, Directory::Use::kReadWrite);
    writable_ = directory.ok();
    if (absl::IsPermissionDenied(directory.status())) {
      directory = Directory::Open(options.directory, Directory::Use::kReadIfThere);
    }
    if (directory.ok()) {
      directory_ = *std::move(directory);
    } else if (options.warn_about_directory || absl::IsFailedPrecondition(directory.status())) {
      Warn("no disk cache: ", directory.status().message());
    }
  }
  for (const std::string& path : options.packs) {
    absl::StatusOr<Pack> pack = OpenPack(path, options.pack_key);
    if (pack.ok()) {
      packs_.push_back(*std::move(pack));
    } else {
      Warn("--cache_pack: ", pack.status().message());
    }
  }
}

// A pack is code that will run.  Without a key only the user's own and root's is trusted; with a
// key, every pack that it has signed is trusted, and the owner of the files does not matter.
absl::StatusOr<DiskStore::Pack> DiskStore::OpenPack(const std::string& path,
                                                    const std::string& key_path) {
  Pack pack;
  if (key_path.empty()) {
    TEKTITE_ASSIGN_OR_RETURN(pack.directory, Directory::Open(path, Directory::Use::kReadIfThere));
    return pack;
  }
  TEKTITE_ASSIGN_OR_RETURN(pack.directory, Directory::Open(path, Directory::Use::kReadOthers));
  TEKTITE_ASSIGN_OR_RETURN(pack.signature, PackSignature::Read(*pack.directory, key_path));
  return pack;
}

void DiskStore::WarnAboutFirst(MissCause cause, const Directory& directory, const Fingerprint& key,
                               absl::string_view what) {
  const uint32_t bit = uint32_t{1} << static_cast<int>(cause);
  if ((warned_.fetch_or(bit) & bit) != 0) return;
  Warn("cache file '", directory.path(), "/", FileOf(key), "' ", what,
       ": it is not used, nor are others like it; code is compiled instead");
}

std::optional<std::string> DiskStore::LoadFrom(const Directory& directory,
                                               const PackSignature* signature,
                                               const Fingerprint& key, MissCause* cause) {
  std::string bytes;
  switch (directory.Read(FileOf(key), &bytes)) {
    case Directory::ReadResult::kOk:
      break;
    case Directory::ReadResult::kAbsent:
      return std::nullopt;
    case Directory::ReadResult::kRefused:
      ++counters_.refused;
      *cause = MissCause::kRefused;
      WarnAboutFirst(*cause, directory, key, "is another user's, or others can write it");
      return std::nullopt;
    case Directory::ReadResult::kFailed:
      *cause = MissCause::kUnreadable;
      WarnAboutFirst(*cause, directory, key, "cannot be read");
      return std::nullopt;
  }
  if (signature != nullptr && !signature->Fits(FileOf(key), bytes)) {
    ++counters_.refused;
    *cause = MissCause::kRefused;
    WarnAboutFirst(*cause, directory, key, "is not as its pack was signed");
    return std::nullopt;
  }
  absl::string_view payload;
  switch (DecodePayload(bytes, key, &payload)) {
    case EntryFault::kNone: {
      const size_t at = payload.data() - bytes.data();
      bytes.resize(at + payload.size());
      bytes.erase(0, at);
      return bytes;
    }
    case EntryFault::kForeign:
      ++counters_.foreign;
      *cause = MissCause::kForeign;
      return std::nullopt;
    case EntryFault::kDamaged:
      break;
  }
  ++counters_.damaged;
  *cause = MissCause::kDamaged;
  WarnAboutFirst(*cause, directory, key, "is damaged");
  if (&directory == directory_.get() && writable_) directory.Remove(FileOf(key));
  return std::nullopt;
}

std::optional<std::string> DiskStore::Load(const Fingerprint& key,
                                           const std::function<CacheKey()>& describe) {
  MissCause cause = MissCause::kAbsent;
  if (directory_ != nullptr) {
    std::optional<std::string> payload = LoadFrom(*directory_, nullptr, key, &cause);
    if (payload.has_value()) {
      ++counters_.hits;
      if (writable_) directory_->Touch(FileOf(key), kTouchUs);
      log_.Used(key, RunLog::From::kDisk);
      return payload;
    }
  }
  for (const Pack& pack : packs_) {
    std::optional<std::string> payload = LoadFrom(
        *pack.directory, pack.signature.has_value() ? &*pack.signature : nullptr, key, &cause);
    if (payload.has_value()) {
      ++counters_.pack_hits;
      log_.Used(key, RunLog::From::kPack);
      return payload;
    }
  }
  std::unique_lock<std::mutex> lock(causes_mutex_);
  if (describe == nullptr) {
    if (cause != MissCause::kAbsent) causes_[key] = cause;
    return std::nullopt;
  }
  // A damaged entry was removed when it was seen.
  if (const auto seen = causes_.find(key); seen != causes_.end()) {
    if (cause == MissCause::kAbsent) cause = seen->second;
    causes_.erase(seen);
  }
  lock.unlock();
  ++counters_.misses;
  log_.Missed(describe(), cause);
  return std::nullopt;
}

void DiskStore::Reject(const Fingerprint& key) {
  ++counters_.damaged;
  if (directory_ == nullptr) return;
  WarnAboutFirst(MissCause::kDamaged, *directory_, key, "is damaged");
  if (writable_) directory_->Remove(FileOf(key));
}

void DiskStore::Store(const CacheKey& key, absl::string_view payload, Directory::Sync sync) {
  if (!writable_) return;
  const std::string bytes = EncodeEntry(key, payload, NowMicroseconds());
  if (static_cast<int64_t>(bytes.size()) > std::min(max_bytes_, Directory::kMostFileBytes)) return;
  const absl::Status written = directory_->Write(FileOf(key.fingerprint), bytes, 0600, sync);
  if (!written.ok()) {
    ++counters_.store_errors;
    if (absl::IsPermissionDenied(written)) writable_ = false;
    return;
  }
  if (!has_swept_.exchange(true)) counters_.swept += directory_->Sweep();
  ++counters_.stores;
  log_.Used(key.fingerprint, RunLog::From::kCompiled);
  KeepBound(static_cast<int64_t>(bytes.size()));
}

void DiskStore::KeepBound(int64_t added) {
  std::lock_guard<std::mutex> lock(bound_mutex_);
  if (known_bytes_ >= 0) {
    known_bytes_ += added;
    if (known_bytes_ <= max_bytes_) return;
  }
  // A tenth more than needed, so that this is rare.
  const int64_t notes = NoteBytes(max_bytes_);
  const Evicted looked = EvictTo(*directory_, max_bytes_, notes);
  const Evicted evicted =
      looked.entries == 0 ? looked : EvictTo(*directory_, max_bytes_ - max_bytes_ / 10, notes);
  counters_.evicted += looked.entries + (looked.entries == 0 ? 0 : evicted.entries);
  // Other processes add entries, too: some way below the bound the bytes are counted again.
  known_bytes_ =
      std::max(evicted.bytes_left + evicted.counter_bytes, max_bytes_ - max_bytes_ / kLookAgain);
}

void DiskStore::Flush() {
  if (directory_ == nullptr) return;
  if (writable_ && !has_swept_.exchange(true)) counters_.swept += directory_->Sweep();
  log_.Flush();
}

DiskCounters DiskStore::counters() const {
  DiskCounters c;
#define TEKTITE_DISK_COUNTER(name, sentence) \
  c.name = counters_.name.load(std::memory_order_relaxed);
#include "jit/cache/disk_counter_list.inc"
#undef TEKTITE_DISK_COUNTER
  return c;
}

}  // namespace tektite::cache
