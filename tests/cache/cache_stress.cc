// Many processes on one cache directory, killed at random moments: whatever a later process is
// served must be what was stored, and little may be left over.
//
//   cache_stress --processes 64 --kills 10000 [--dir DIR] [--cache_kb 512] [--pause_us 4000]
//
// Every worker loads and stores entries of all sizes and kinds without end.  The parent kills one
// at random, after at most that pause, and starts another.  At the end every entry is read once
// more.  Exits with 1 and a line where anything served was wrong, anything on disk is damaged, a
// temporary file is left, or what lies beside the entries, logs and all, exceeds 1 % of the bound.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "jit/cache/disk_store.h"
#include "jit/cache/location.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

constexpr int kWrong = 17;  // a worker's exit code

struct Options {
  int processes = 6;
  int kills = 60;
  int64_t cache_kb = 512;
  int pause_us = 4000;
  std::string directory;

  // Half as much again as there is room for.
  int names() const { return static_cast<int>(cache_kb * 3 / 8); }
};

std::string PayloadOf(int name) {
  std::mt19937_64 random(name);
  std::string payload;
  for (uint64_t words = random() % 1000; words > 0; --words) {
    const uint64_t word = random();
    payload.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return payload;
}

std::unique_ptr<DiskStore> OpenStore(const Options& options) {
  DiskStoreOptions store;
  store.directory = options.directory;
  store.max_bytes = options.cache_kb << 10;
  return DiskStore::Open(store);
}

bool ServesWhatWasStored(DiskStore& store, int name) {
  const auto kind = static_cast<EntryKind>(name % kNumEntryKinds);
  const CacheKey key = TestKey("k" + std::to_string(name), kind);
  const auto payload = store.Load(key.fingerprint, [&] { return key; });
  if (!payload.has_value()) {
    store.Store(key, PayloadOf(name));
    return true;
  }
  return *payload == PayloadOf(name);
}

[[noreturn]] void Work(const Options& options, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (true) {
    auto store = OpenStore(options);  // like a new process: it sweeps, and counts the bytes anew
    if (store == nullptr) _exit(kWrong);
    for (int i = 0; i < 200; ++i) {
      if (!ServesWhatWasStored(*store, random() % options.names())) _exit(kWrong);
      if (i % 16 == 0) store->Flush();
    }
    if (store->counters().damaged != 0) _exit(kWrong);
  }
}

pid_t Start(const Options& options, uint64_t seed) {
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a parent that is killed leaves no child behind
    // Below the parent, which would otherwise wait for its turn between kills.
    if (nice(5) == -1) perror("nice");
    Work(options, seed);
  }
  return pid;
}

int Report(const Options& options, int wrong, int kills) {
  auto store = OpenStore(options);
  store->Store(TestKey("the first to write sweeps"), "");
  for (int name = 0; name < options.names(); ++name) wrong += !ServesWhatWasStored(*store, name);
  const DiskCounters counters = store->counters();
  store = nullptr;  // its log is written, and those of the killed processes are thinned out
  int64_t entry_bytes = 0, left_bytes = 0, left = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(options.directory)) {
    if (!item.is_regular_file()) continue;
    const bool is_entry = item.path().extension() == kEntrySuffix;
    (is_entry ? entry_bytes : left_bytes) += static_cast<int64_t>(item.file_size());
    left += item.path().filename().string().rfind("tmp.", 0) == 0;
  }
  const int64_t bound = options.cache_kb << 10;
  const double left_percent = 100.0 * static_cast<double>(left_bytes) / static_cast<double>(bound);
  std::printf(
      "%d processes, %d kills: %d bad loads, %ld damaged, %ld bytes of entries, %ld temporary "
      "files left, %ld bytes beside entries (%.2f %% of the bound)\n",
      options.processes, kills, wrong, counters.damaged, entry_bytes, left, left_bytes,
      left_percent);
  const bool in_bound = entry_bytes <= bound + bound / 16 && left_percent <= 1.0;
  return wrong == 0 && counters.damaged == 0 && left == 0 && in_bound ? 0 : 1;
}

// Whether a process ended otherwise than by our signal.
bool IsWrong(int status) { return !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL; }

// Without waiting: one that is in the middle of a sync dies when the disk is done.
int CountWrong() {
  int wrong = 0, status = 0;
  while (waitpid(-1, &status, WNOHANG) > 0) wrong += IsWrong(status);
  return wrong;
}

int KillAtRandom(const Options& options) {
  std::mt19937_64 random(4);
  std::vector<pid_t> workers;
  uint64_t seed = 0;
  for (int i = 0; i < options.processes; ++i) workers.push_back(Start(options, ++seed));
  int wrong = 0, kills = 0;
  for (; kills < options.kills; ++kills) {
    usleep(random() % options.pause_us);
    pid_t& victim = workers[random() % workers.size()];
    kill(victim, SIGKILL);
    victim = Start(options, ++seed);
    wrong += CountWrong();  // those found something wrong before they were killed
  }
  for (pid_t worker : workers) kill(worker, SIGKILL);
  int status = 0;
  while (wait(&status) > 0) wrong += IsWrong(status);
  return Report(options, wrong, kills);
}

}  // namespace
}  // namespace tektite::cache

int main(int argc, char** argv) {
  tektite::cache::Options options;
  const tektite::cache::TestFolder folder;
  options.directory = folder / "cache";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--processes") == 0) options.processes = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--kills") == 0) options.kills = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--cache_kb") == 0) options.cache_kb = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--pause_us") == 0) options.pause_us = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--dir") == 0) options.directory = argv[i + 1];
  }
  return tektite::cache::KillAtRandom(options);
}
