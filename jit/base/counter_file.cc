#include "jit/base/counter_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jit/base/at_exit.h"
#include "jit/base/no_file_size_signal.h"
#include "jit/base/status.h"

namespace tektite {
namespace {

constexpr char kMagic[8] = {'T', 'E', 'K', 'T', 'S', 'T', 'A', '2'};
constexpr char kMemoryName[] = "tektite-counters";
constexpr size_t kNameBytes = 56;
constexpr uint64_t kRows = 125;

struct CounterRow {
  char name[kNameBytes];
  std::atomic<uint64_t> value;
};

// Memory of `bytes` zeros that can neither shrink nor grow; -1 where the system has none.
int NewMemory(size_t bytes) {
  const int fd = memfd_create(kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  const NoFileSizeSignal guard;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

// Under another name at first: where a file has its own name, it is locked.
int NewLockedFile(const std::string& path) {
  static std::atomic<int> count{0};
  const size_t folder = path.rfind('/') + 1;  // 0 without one
  const std::string temporary = absl::StrCat(path.substr(0, folder), "tmp.",
                                             CurrentProcess().ToString(), ".s", count.fetch_add(1));
  const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
  if (fd < 0) return -1;
  flock(fd, LOCK_EX | LOCK_NB);  // of a system without locks nothing more is known
  if (rename(temporary.c_str(), path.c_str()) == 0) return fd;
  unlink(temporary.c_str());
  close(fd);
  return -1;
}

// All that fits; what a file that was cut short holds not is zero.
void ReadAll(int fd, void* bytes, size_t size) {
  std::memset(bytes, 0, size);
  for (size_t done = 0; done < size;) {
    const ssize_t count =
        pread(fd, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += count;
  }
}

// Of this process.  A host need not destroy what holds them before it ends.
struct LivingFiles {
  std::mutex mutex;
  std::set<CounterFile*> files;

  static LivingFiles& Get() {
    static auto* const living = new LivingFiles;
    return *living;
  }
};

}  // namespace

struct CounterFile::Table {
  char magic[sizeof(kMagic)];
  int64_t pid;
  int64_t process_start;  // with the number, which process it is
  int64_t memory;         // its descriptor of the memory; -1: none
  int64_t start_us;
  std::atomic<uint64_t> used;
  CounterRow rows[kRows];
};

CounterFile::CounterFile(int file, int memory, Table* table)
    : file_(file), memory_(memory), table_(table) {
  static std::once_flag at_exit;
  std::call_once(at_exit, [] { RunAtExit(&CounterFile::SaveAll); });
  LivingFiles& living = LivingFiles::Get();
  std::lock_guard<std::mutex> lock(living.mutex);
  living.files.insert(this);
}

std::unique_ptr<CounterFile> CounterFile::Create(const std::string& path) {
  const int memory = NewMemory(sizeof(Table));
  void* const mapped =
      memory < 0
          ? mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
          : mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  const int file = mapped == MAP_FAILED ? -1 : NewLockedFile(path);
  if (file < 0) {
    if (mapped != MAP_FAILED) munmap(mapped, sizeof(Table));
    if (memory >= 0) close(memory);
    return nullptr;
  }
  auto* table = new (mapped) Table();
  const ProcessId self = CurrentProcess();
  table->pid = self.pid;
  table->process_start = self.start;
  table->memory = memory;
  table->start_us = NowMicroseconds();
  std::memcpy(table->magic, kMagic, sizeof(kMagic));
  std::unique_ptr<CounterFile> created(new CounterFile(file, memory, table));
  created->Save();
  return created;
}

CounterFile::~CounterFile() {
  {
    LivingFiles& living = LivingFiles::Get();
    std::lock_guard<std::mutex> lock(living.mutex);
    living.files.erase(this);
  }
  Save();
  munmap(table_, sizeof(Table));
  if (memory_ >= 0) close(memory_);
  close(file_);
}

void CounterFile::SaveAll() {
  LivingFiles& living = LivingFiles::Get();
  std::lock_guard<std::mutex> lock(living.mutex);
  for (const CounterFile* file : living.files) file->Save();
}

void CounterFile::Save() const {
  const NoFileSizeSignal guard;
  const auto* const bytes = reinterpret_cast<const char*>(table_);
  for (size_t done = 0; done < sizeof(Table);) {
    const ssize_t count =
        pwrite(file_, bytes + done, sizeof(Table) - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += count;
  }
}

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
  const auto table = std::make_unique<Table>();
  ReadAll(fd, table.get(), sizeof(Table));
  close(fd);
  if (std::memcmp(table->magic, kMagic, sizeof(kMagic)) != 0) {
    return InvalidArgument("'", path, "' holds no counters");
  }
  // Where its process lives, what that counts right now.
  const std::string memory = absl::StrCat("/proc/", table->pid, "/fd/", table->memory);
  char link[64] = {};
  if (table->memory >= 0 && readlink(memory.c_str(), link, sizeof(link) - 1) > 0 &&
      absl::StartsWith(link, absl::StrCat("/memfd:", kMemoryName))) {
    const int live = open(memory.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const auto seen = std::make_unique<Table>();
    if (live >= 0) {
      ReadAll(live, seen.get(), sizeof(Table));
      close(live);
    }
    // Numbers of processes and of descriptors are used again.
    if (std::memcmp(seen->magic, kMagic, sizeof(kMagic)) == 0 && seen->pid == table->pid &&
        seen->process_start == table->process_start && seen->start_us == table->start_us) {
      std::memcpy(static_cast<void*>(table.get()), seen.get(), sizeof(Table));
    }
  }
  CounterSnapshot snapshot;
  snapshot.pid = table->pid;
  snapshot.start_us = table->start_us;
  const uint64_t used = std::min(table->used.load(std::memory_order_acquire), kRows);
  for (uint64_t i = 0; i < used; ++i) {
    const CounterRow& row = table->rows[i];
    snapshot.counters.emplace_back(std::string(row.name, strnlen(row.name, kNameBytes)),
                                   row.value.load(std::memory_order_relaxed));
  }
  return snapshot;
}

}  // namespace tektite
