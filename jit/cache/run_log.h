// The entries that one process took from the disk cache and those it missed there: for `tektite
// cache why`, and for `pack`, which takes the entries that a run used.
//
//   RunLog log(cache_path);
//   log.Used(key, RunLog::From::kDisk);
//   log.Missed(described_key, MissCause::kAbsent);
//   log.Flush();                                    // one write for all that has come together
//
// A file of lines for each process in run/ of the cache directory, made with the first Flush;
// bounded, and so are their number and what they take together.  A directory that cannot be written
// to has no logs.  Thread-safe.
#ifndef TEKTITE_JIT_CACHE_RUN_LOG_H_
#define TEKTITE_JIT_CACHE_RUN_LOG_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "jit/base/hash.h"
#include "jit/cache/directory.h"
#include "jit/cache/key.h"

namespace tektite::cache {

enum class MissCause : uint32_t {
#define TEKTITE_MISS_CAUSE(id, name, sentence) id,
#include "jit/cache/miss_cause_list.inc"
#undef TEKTITE_MISS_CAUSE
};
inline constexpr size_t kNumMissCauses = static_cast<size_t>(MissCause::kUnreadable) + 1;
absl::string_view MissCauseName(MissCause cause);
absl::string_view MissCauseSentence(MissCause cause);

class RunLog {
 public:
  enum class From { kDisk, kPack, kCompiled };

  // `most_bytes`: of this log; those of earlier runs together get no more.
  explicit RunLog(std::string cache_path, int64_t most_bytes = int64_t{4} << 20);
  ~RunLog() { Flush(); }

  void Used(const Fingerprint& key, From from);
  void Missed(const CacheKey& key, MissCause cause);
  void Flush();

 private:
  void Add(std::string line);

  const std::string cache_path_;
  const int64_t most_bytes_;
  const int64_t start_us_;
  std::mutex mutex_;  // guards the members below
  std::string pending_;
  std::string file_;
  int64_t pid_ = 0;  // that file_ belongs to; another one after a fork
  int64_t bytes_ = 0;
  bool off_ = false;
};

struct Miss {
  std::string key;  // hexadecimal
  MissCause cause = MissCause::kAbsent;
  EntryKind kind = EntryKind::kKernel;
  PartPrints prints = {};
  std::string name;
};
struct LoggedRun {
  int64_t start_us = 0;
  int64_t pid = 0;
  int64_t hits = 0;
  std::vector<Miss> misses;       // the first of each key
  std::vector<std::string> used;  // keys of hits and of compiled code, without duplicates
};
// The newest first, at most `most`; lines that make no sense are left out.
std::vector<LoggedRun> ReadRuns(const std::string& cache_path, size_t most);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_RUN_LOG_H_
