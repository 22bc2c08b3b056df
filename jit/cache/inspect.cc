#include "jit/cache/inspect.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "jit/base/status.h"
#include "jit/cache/counter_files.h"
#include "jit/cache/location.h"
#include "jit/cache/pack_signature.h"

namespace tektite::cache {
namespace {

constexpr size_t Index(KeyPart part) { return static_cast<size_t>(part); }

std::string FileOf(absl::string_view key) { return absl::StrCat(key, kEntrySuffix); }

std::string KeyOf(const Directory::File& file) {
  return std::string(absl::StripSuffix(file.name, kEntrySuffix));
}

}  // namespace

std::vector<size_t> DifferingParts(const PartPrints& a, const PartPrints& b) {
  std::vector<size_t> parts;
  auto differs = [&](KeyPart part) { return a[Index(part)] != b[Index(part)]; };
  const bool seen_in_views =
      differs(KeyPart::kOps) || differs(KeyPart::kTypes) || differs(KeyPart::kFacts);
  for (size_t i = 0; i < kNumKeyParts; ++i) {
    // The text has changed, of course, when its ops, types or facts have.
    if (i == Index(KeyPart::kIr) && seen_in_views) continue;
    if (a[i] != b[i]) parts.push_back(i);
  }
  return parts;
}

absl::StatusOr<Inspector> Inspector::Open(const std::string& path) {
  if (path.empty()) return absl::NotFoundError("the disk cache is off");
  TEKTITE_ASSIGN_OR_RETURN(auto directory, Directory::Open(path, Directory::Use::kReadOthers));
  return Inspector(std::move(directory));
}

ListedEntry Inspector::Look(const Directory::File& file, bool keeps_image) const {
  ListedEntry listed;
  listed.key = KeyOf(file);
  listed.bytes = file.bytes;
  listed.used_us = file.used_us;
  std::string bytes;
  if (const std::string why = directory_->WhyRefused(file.name); !why.empty()) {
    listed.fault = absl::StrCat(MissCauseName(MissCause::kRefused), ": ", why);
    return listed;
  }
  switch (directory_->Read(file.name, &bytes)) {
    case Directory::ReadResult::kOk:
      break;
    case Directory::ReadResult::kRefused:
      listed.fault = std::string(MissCauseName(MissCause::kRefused));
      return listed;
    default:
      listed.fault = std::string(MissCauseName(MissCause::kUnreadable));
      return listed;
  }
  Entry entry;
  const EntryFault fault = DecodeEntry(bytes, &entry);
  if (fault == EntryFault::kForeign) listed.fault = std::string(MissCauseName(MissCause::kForeign));
  if (fault == EntryFault::kDamaged ||
      (fault == EntryFault::kNone && entry.header.key.Hex() != listed.key)) {
    listed.fault = std::string(MissCauseName(MissCause::kDamaged));
  }
  if (!listed.fault.empty()) return listed;
  listed.good = true;
  listed.header = entry.header;
  listed.name = std::move(entry.name);
  listed.parts = std::move(entry.parts);
  listed.payload_bytes = static_cast<int64_t>(entry.payload.size());
  if (entry.header.kind == EntryKind::kDecision) listed.decisions = std::string(entry.payload);
  const EntryKind kind = entry.header.kind;
  if ((kind == EntryKind::kKernel || kind == EntryKind::kTuning) && keeps_image) {
    listed.image = std::string(entry.payload);
  }
  return listed;
}

std::vector<ListedEntry> Inspector::List() const {
  std::vector<ListedEntry> entries;
  for (const Directory::File& file : directory_->List(kEntrySuffix)) entries.push_back(Look(file));
  std::sort(entries.begin(), entries.end(), [](const ListedEntry& a, const ListedEntry& b) {
    return a.used_us != b.used_us ? a.used_us > b.used_us : a.key < b.key;
  });
  return entries;
}

absl::StatusOr<ListedEntry> Inspector::Find(absl::string_view prefix) const {
  std::vector<Directory::File> found;
  for (Directory::File& file : directory_->List(kEntrySuffix)) {
    if (absl::StartsWith(file.name, prefix)) found.push_back(std::move(file));
  }
  if (found.empty())
    return absl::NotFoundError(absl::StrCat("no entry's key begins '", prefix, "'"));
  if (found.size() > 1) {
    return InvalidArgument(found.size(), " entries' keys begin '", prefix,
                           "': more digits are needed");
  }
  return Look(found.front(), /*keeps_image=*/true);
}

std::vector<Explanation> Inspector::Why(const LoggedRun& run) const {
  // Entries that the run itself stored explain nothing.
  std::vector<ListedEntry> before;
  for (ListedEntry& entry : List()) {
    if (entry.good && entry.header.created_us < run.start_us) before.push_back(std::move(entry));
  }
  const absl::flat_hash_set<std::string> evicted = EvictedKeys(*directory_);
  std::vector<Explanation> explanations;
  for (const Miss& miss : run.misses) {
    Explanation e;
    e.miss = miss;
    const ListedEntry* nearest = nullptr;
    size_t least = 0;
    for (const ListedEntry& entry : before) {
      if (entry.header.kind != miss.kind ||
          entry.header.prints[Index(KeyPart::kOps)] != miss.prints[Index(KeyPart::kOps)]) {
        continue;
      }
      const size_t count = DifferingParts(entry.header.prints, miss.prints).size();
      if (nearest == nullptr || count < least) {
        nearest = &entry;
        least = count;
      }
    }
    if (nearest != nullptr) e.nearest = nearest->key;
    if (miss.cause != MissCause::kAbsent) {
      e.causes = {std::string(MissCauseName(miss.cause))};
      e.sentence = std::string(MissCauseSentence(miss.cause));
    } else if (evicted.contains(miss.key)) {
      e.causes = {"evicted"};
      e.sentence = "it was evicted to keep the bound (--cache_mb, gc)";
    } else if (nearest == nullptr || least == 0) {
      e.causes = {std::string(MissCauseName(MissCause::kAbsent))};
      e.sentence = std::string(KeyPartSentence(Index(KeyPart::kOps)));
    } else {
      const std::vector<size_t> parts = DifferingParts(nearest->header.prints, miss.prints);
      for (size_t part : parts) e.causes.emplace_back(KeyPartName(part));
      e.sentence = std::string(KeyPartSentence(parts.front()));
    }
    explanations.push_back(std::move(e));
  }
  return explanations;
}

Evicted Inspector::Collect(int64_t max_bytes) const {
  directory_->Sweep();
  return EvictTo(*directory_, max_bytes);
}

bool Inspector::Remove(const std::string& key) const { return directory_->Remove(FileOf(key)); }

int64_t Inspector::RemoveAll() const {
  int64_t removed = 0;
  for (const Directory::File& file : directory_->List(kEntrySuffix)) {
    removed += directory_->Remove(file.name);
  }
  directory_->Remove(kEvictedFile);
  directory_->Sweep();
  const auto runs =
      Directory::Open(absl::StrCat(path(), "/", kRunFolder), Directory::Use::kReadIfThere);
  if (runs.ok()) {
    for (const Directory::File& file : (*runs)->List(kLogSuffix)) (*runs)->Remove(file.name);
    RemoveCounterFiles(**runs, /*kept=*/0);
    (*runs)->Sweep();
    (*runs)->RemoveIfEmpty();
  }
  directory_->RemoveIfEmpty();
  return removed;
}

absl::StatusOr<Inspector::Packed> Inspector::Pack(const std::vector<std::string>& keys,
                                                  const std::string& destination,
                                                  const HeldKeys& held_keys) const {
  TEKTITE_ASSIGN_OR_RETURN(auto pack, Directory::Open(destination, Directory::Use::kReadWrite));
  std::vector<std::pair<std::string, std::string>> good;  // key, file
  absl::flat_hash_set<std::string> held;
  for (const std::string& key : keys) {
    std::string bytes;
    Entry entry;
    if (directory_->Read(FileOf(key), &bytes) != Directory::ReadResult::kOk) continue;
    if (DecodeEntry(bytes, &entry) != EntryFault::kNone) continue;
    for (std::string& inside : held_keys(entry)) held.insert(std::move(inside));
    good.emplace_back(key, std::move(bytes));
  }
  pack->Remove(kPackSignature);  // of the pack that was there before
  Packed packed;
  for (const auto& [key, bytes] : good) {
    if (held.contains(key)) {
      ++packed.held;
      continue;
    }
    // The user that serves the model may be another one.
    TEKTITE_RETURN_IF_ERROR(pack->Write(FileOf(key), bytes, 0644));
    ++packed.entries;
  }
  std::error_code error;
  std::filesystem::permissions(destination, std::filesystem::perms(0755), error);
  if (error) return Internal("cannot open '", destination, "' to readers: ", error.message());
  return packed;
}

}  // namespace tektite::cache
