#include "jit/cache/run_log.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/base/process.h"
#include "jit/cache/location.h"

namespace tektite::cache {
namespace {

constexpr size_t kMostRuns = 32;
constexpr absl::string_view kFromNames[] = {"hit", "pack", "compiled"};

std::vector<Directory::File> NewestFirst(const Directory& directory) {
  std::vector<Directory::File> files = directory.List(kLogSuffix);
  // A name begins with its time, of fixed width.
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name > b.name; });
  return files;
}

bool ParseMiss(const std::vector<absl::string_view>& words, Miss* miss) {
  if (words.size() < 6) return false;
  miss->key = std::string(words[1]);
  bool known = false;
  for (size_t c = 0; c < kNumMissCauses; ++c) {
    if (MissCauseName(static_cast<MissCause>(c)) != words[2]) continue;
    miss->cause = static_cast<MissCause>(c);
    known = true;
  }
  bool known_kind = false;
  for (uint32_t k = 0; k < kNumEntryKinds; ++k) {
    if (EntryKindName(static_cast<EntryKind>(k)) != words[3]) continue;
    miss->kind = static_cast<EntryKind>(k);
    known_kind = true;
  }
  const std::vector<absl::string_view> prints = absl::StrSplit(words[4], ',');
  if (!known || !known_kind || prints.size() != kNumKeyParts) return false;
  for (size_t i = 0; i < kNumKeyParts; ++i) {
    if (!absl::SimpleHexAtoi(prints[i], &miss->prints[i])) return false;
  }
  miss->name = absl::StrJoin(words.begin() + 5, words.end(), " ");
  return true;
}

LoggedRun ParseRun(absl::string_view text) {
  LoggedRun run;
  absl::flat_hash_set<absl::string_view> seen;
  absl::flat_hash_set<std::string> missed;  // what is asked for twice is missed twice
  auto use = [&](absl::string_view key) {
    if (seen.insert(key).second) run.used.emplace_back(key);
  };
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words[0] == "run" && words.size() == 3) {
      if (!absl::SimpleAtoi(words[1], &run.start_us)) run.start_us = 0;
      if (!absl::SimpleAtoi(words[2], &run.pid)) run.pid = 0;
    } else if (words[0] == "miss") {
      Miss miss;
      if (ParseMiss(words, &miss) && missed.insert(miss.key).second) {
        run.misses.push_back(std::move(miss));
      }
    } else if (words.size() == 2) {
      if (words[0] != kFromNames[2]) ++run.hits;
      use(words[1]);
    }
  }
  return run;
}

}  // namespace

absl::string_view MissCauseName(MissCause cause) {
  static constexpr absl::string_view kNames[] = {
#define TEKTITE_MISS_CAUSE(id, name, sentence) name,
#include "jit/cache/miss_cause_list.inc"
#undef TEKTITE_MISS_CAUSE
  };
  return kNames[static_cast<size_t>(cause)];
}

absl::string_view MissCauseSentence(MissCause cause) {
  static constexpr absl::string_view kSentences[] = {
#define TEKTITE_MISS_CAUSE(id, name, sentence) sentence,
#include "jit/cache/miss_cause_list.inc"
#undef TEKTITE_MISS_CAUSE
  };
  return kSentences[static_cast<size_t>(cause)];
}

RunLog::RunLog(std::string cache_path, int64_t most_bytes)
    : cache_path_(std::move(cache_path)), most_bytes_(most_bytes), start_us_(NowMicroseconds()) {
  off_ = cache_path_.empty();
}

void RunLog::Add(std::string line) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (off_ || bytes_ >= most_bytes_) return;
  bytes_ += static_cast<int64_t>(line.size()) + 1;
  absl::StrAppend(&pending_, line, "\n");
}

void RunLog::Used(const Fingerprint& key, From from) {
  Add(absl::StrCat(kFromNames[static_cast<size_t>(from)], " ", key.Hex()));
}

void RunLog::Missed(const CacheKey& key, MissCause cause) {
  const PartPrints prints = PrintsOf(key.parts);
  std::string name = key.name;
  std::replace(name.begin(), name.end(), '\n', ' ');
  Add(absl::StrCat("miss ", key.fingerprint.Hex(), " ", MissCauseName(cause), " ",
                   EntryKindName(key.kind), " ",
                   absl::StrJoin(prints, ",",
                                 [](std::string* out, uint64_t print) {
                                   absl::StrAppend(out, absl::Hex(print, absl::kZeroPad16));
                                 }),
                   " ", name));
}

void RunLog::Flush() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (off_ || pending_.empty()) return;
  auto directory =
      Directory::Open(absl::StrCat(cache_path_, "/", kRunFolder), Directory::Use::kReadWrite);
  if (!directory.ok()) {
    off_ = true;
    return;
  }
  if (file_.empty() || pid_ != getpid()) {
    pid_ = getpid();
    file_ = absl::StrFormat("%020d-%d%s", start_us_, pid_, kLogSuffix);
    pending_ = absl::StrCat("run ", start_us_, " ", pid_, "\n", pending_);
    size_t kept = 0;
    int64_t kept_bytes = 0;
    for (const Directory::File& file : NewestFirst(**directory)) {
      kept_bytes += file.bytes;
      if (++kept >= kMostRuns || kept_bytes > most_bytes_) (*directory)->Remove(file.name);
    }
  }
  if (!(*directory)->Append(file_, pending_).ok()) off_ = true;
  pending_.clear();
}

std::vector<LoggedRun> ReadRuns(const std::string& cache_path, size_t most) {
  std::vector<LoggedRun> runs;
  auto directory =
      Directory::Open(absl::StrCat(cache_path, "/", kRunFolder), Directory::Use::kReadIfThere);
  if (!directory.ok()) return runs;
  for (const Directory::File& file : NewestFirst(**directory)) {
    if (runs.size() >= most) break;
    std::string text;
    if ((*directory)->Read(file.name, &text) != Directory::ReadResult::kOk) continue;
    runs.push_back(ParseRun(text));
  }
  return runs;
}

}  // namespace tektite::cache
