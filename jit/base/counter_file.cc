#include "jit/base/counter_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "jit/base/status.h"

namespace tektite {
namespace {

constexpr char kMagic[8] = {'T', 'E', 'K', 'T', 'S', 'T', 'A', '1'};
constexpr size_t kNameBytes = 56;
constexpr uint64_t kRows = 126;

struct CounterRow {
  char name[kNameBytes];
  std::atomic<uint64_t> value;
};

}  // namespace

struct CounterFile::Table {
  char magic[sizeof(kMagic)];
  int64_t pid;
  int64_t start_us;
  std::atomic<uint64_t> used;
  CounterRow rows[kRows];
};

std::unique_ptr<CounterFile> CounterFile::Create(const std::string& path) {
  unlink(path.c_str());
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return nullptr;
  // Blocks are taken now: a mapped page that a full disk has no block for is a signal later.
  void* memory = MAP_FAILED;
  if (posix_fallocate(fd, 0, sizeof(Table)) == 0) {
    memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    return nullptr;
  }
  auto* table = new (memory) Table();
  table->pid = getpid();
  table->start_us = NowMicroseconds();
  std::memcpy(table->magic, kMagic, sizeof(kMagic));
  return std::unique_ptr<CounterFile>(new CounterFile(table));
}

CounterFile::~CounterFile() { munmap(table_, sizeof(Table)); }

std::atomic<uint64_t>* CounterFile::Counter(absl::string_view name) {
  name = name.substr(0, kNameBytes - 1);
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t used = table_->used.load(std::memory_order_relaxed);
  for (uint64_t i = 0; i < used; ++i) {
    if (name == table_->rows[i].name) return &table_->rows[i].value;
  }
  if (used == kRows) return nullptr;
  CounterRow& row = table_->rows[used];
  std::memcpy(row.name, name.data(), name.size());
  table_->used.store(used + 1, std::memory_order_release);
  return &row.value;
}

absl::StatusOr<CounterSnapshot> ReadCounterFile(const std::string& path) {
  using Table = CounterFile::Table;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return absl::NotFoundError(absl::StrCat("cannot read '", path, "': ", strerror(errno)));
  struct stat info;
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size >= static_cast<off_t>(sizeof(Table))) {
    memory = mmap(nullptr, sizeof(Table), PROT_READ, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return InvalidArgument("'", path, "' holds no counters");
  const auto* table = static_cast<const Table*>(memory);
  CounterSnapshot snapshot;
  const bool good = std::memcmp(table->magic, kMagic, sizeof(kMagic)) == 0;
  if (good) {
    snapshot.pid = table->pid;
    snapshot.start_us = table->start_us;
    const uint64_t used = std::min(table->used.load(std::memory_order_acquire), kRows);
    for (uint64_t i = 0; i < used; ++i) {
      const CounterRow& row = table->rows[i];
      snapshot.counters.emplace_back(std::string(row.name, strnlen(row.name, kNameBytes)),
                                     row.value.load(std::memory_order_relaxed));
    }
  }
  munmap(memory, sizeof(Table));
  if (!good) return InvalidArgument("'", path, "' holds no counters");
  return snapshot;
}

}  // namespace tektite
