#include "jit/cache/evict.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "jit/cache/counter_files.h"
#include "jit/cache/location.h"

namespace tektite::cache {
namespace {

// Losing notes costs a worse explanation, so nothing here is an error.
void Note(const Directory& directory, absl::string_view lines, size_t most_bytes) {
  std::string notes;
  directory.Read(kEvictedFile, &notes);
  if (notes.size() + lines.size() <= most_bytes) {
    directory.Append(kEvictedFile, lines).IgnoreError();
    return;
  }
  // Down to half of it, so that this is rare.
  absl::StrAppend(&notes, lines);
  notes.erase(0, notes.size() - std::min(notes.size(), most_bytes / 2));
  notes.erase(0, notes.find('\n') + 1);
  directory.Write(kEvictedFile, notes).IgnoreError();
}

// The bytes of the counter files, of which dead processes' are removed where they do not fit.
int64_t CounterFileBytes(const Directory& directory, int64_t room) {
  auto folder = Directory::Open(absl::StrCat(directory.path(), "/", kRunFolder),
                                Directory::Use::kReadIfThere);
  if (!folder.ok()) return 0;
  const auto bytes = [&] {
    int64_t sum = 0;
    for (const Directory::File& file : (*folder)->List(kStatsSuffix)) sum += file.bytes;
    return sum;
  };
  const int64_t before = bytes();
  return before > room && RemoveCounterFiles(**folder, /*kept=*/0) > 0 ? bytes() : before;
}

}  // namespace

Evicted EvictTo(const Directory& directory, int64_t max_bytes, int64_t most_note_bytes) {
  std::vector<Directory::File> files = directory.List(kEntrySuffix);
  Evicted result;
  for (const Directory::File& file : files) result.bytes_left += file.bytes;
  result.counter_bytes = CounterFileBytes(directory, max_bytes - result.bytes_left);
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.used_us < b.used_us; });
  std::string removed;
  for (const Directory::File& file : files) {
    if (result.bytes_left + result.counter_bytes <= max_bytes) break;
    if (!directory.Remove(file.name)) continue;
    result.bytes_left -= file.bytes;
    result.bytes += file.bytes;
    ++result.entries;
    absl::StrAppend(&removed, absl::StripSuffix(file.name, kEntrySuffix), "\n");
  }
  result.left = static_cast<int64_t>(files.size()) - result.entries;
  if (!removed.empty()) Note(directory, removed, static_cast<size_t>(most_note_bytes));
  return result;
}

absl::flat_hash_set<std::string> EvictedKeys(const Directory& directory) {
  absl::flat_hash_set<std::string> keys;
  std::string notes;
  if (directory.Read(kEvictedFile, &notes) != Directory::ReadResult::kOk) return keys;
  for (absl::string_view line : absl::StrSplit(notes, '\n', absl::SkipEmpty())) keys.emplace(line);
  return keys;
}

}  // namespace tektite::cache
