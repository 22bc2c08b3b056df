#include "tests/island/island.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "jit/base/status.h"
#include "jit/reference/reference_backend.h"
#include "jit/runtime/serial_thread.h"

namespace tektite::testing {
namespace {

constexpr int64_t kIslandBytes = int64_t{8} << 30;  // reserved; pages come with their first use
constexpr int64_t kPage = 4096;

[[noreturn]] void Die(const char* message) {
  std::fprintf(stderr, "island: %s\n", message);
  std::abort();
}

void* Map(int file, int protection) {
  void* const memory = mmap(nullptr, kIslandBytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) Die("no address space");
  return memory;
}

struct Past final : backend::Event {
  explicit Past(std::shared_ptr<std::atomic<bool>> reached) : reached(std::move(reached)) {}
  const std::shared_ptr<std::atomic<bool>> reached;
};

class IslandStream final : public backend::Stream {
 public:
  IslandStream(IslandMemory& memory, const backend::StreamOptions& options)
      : memory_(memory), options_(options) {}

  void Launch(const backend::Kernel& kernel, const backend::LaunchPlan& plan,
              absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) override {
    if (!plan.fits) Die("a launch of sizes that do not fit");
    if (plan.scratch_bytes > 0 && !memory_.Holds(options_.scratch, plan.scratch_bytes)) {
      Die("scratch is not the island's");
    }
    Enqueue([this, &kernel, plan, buffers, sizes] {
      std::vector<void*> reached;
      for (void* buffer : buffers) reached.push_back(memory_.Reach(buffer));
      static_cast<const IslandKernel&>(kernel).kernel().Run(
          {reached.data(), sizes.data(), memory_.Reach(options_.scratch)}, 0, plan.num_chunks);
    });
  }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    Copy(to, true, from, false, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    Copy(to, false, from, true, bytes);
  }
  void CopyWithin(void* to, const void* from, int64_t bytes) override {
    Copy(to, true, from, true, bytes);
  }
  std::unique_ptr<backend::Event> Record() override {
    auto reached = std::make_shared<std::atomic<bool>>(false);
    Enqueue([reached] { reached->store(true); });
    return std::make_unique<Past>(std::move(reached));
  }
  void Wait(const backend::Event& event) override {
    Enqueue([reached = static_cast<const Past&>(event).reached] {
      while (!reached->load()) std::this_thread::yield();
    });
  }
  absl::Status Synchronize() override {
    thread_.Wait();
    return is_cancelled_ ? absl::CancelledError("cancelled on the island") : absl::OkStatus();
  }

 private:
  void Copy(void* to, bool to_island, const void* from, bool from_island, int64_t bytes) {
    if (bytes == 0) return;
    if (memory_.Holds(to, bytes) != to_island) Die("a copy into the wrong memory");
    if (memory_.Holds(from, bytes) != from_island) Die("a copy out of the wrong memory");
    Enqueue([=] { std::memcpy(memory_.Reach(to), memory_.Reach(from), bytes); });
  }

  void Enqueue(std::function<void()> work) {
    const bool dawdles = num_enqueued_++ % 16 == 0;
    thread_.Enqueue([this, dawdles, work = std::move(work)] {
      if (dawdles) std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (!is_cancelled_ && options_.is_cancelled()) is_cancelled_ = true;
      if (!is_cancelled_) work();
    });
  }

  IslandMemory& memory_;
  const backend::StreamOptions options_;
  int64_t num_enqueued_ = 0;
  std::atomic<bool> is_cancelled_{false};
  runtime::SerialThread thread_;  // last: it uses the members above
};

}  // namespace

IslandMemory::IslandMemory() : file_(memfd_create("island", 0)) {
  if (file_ < 0 || ftruncate(file_, kIslandBytes) != 0) Die("no file");
  open_ = static_cast<std::byte*>(Map(file_, PROT_READ | PROT_WRITE));
  closed_ = static_cast<std::byte*>(Map(file_, PROT_READ | PROT_WRITE));
  if (mprotect(closed_, kIslandBytes, PROT_NONE) != 0) Die("mprotect failed");
  free_[0] = kIslandBytes;
}

IslandMemory::~IslandMemory() {
  if (held_bytes_ != 0) Die("a block was not given back");
  munmap(open_, kIslandBytes);
  munmap(closed_, kIslandBytes);
  close(file_);
}

int64_t IslandMemory::limit() const { return kIslandBytes; }

backend::Block IslandMemory::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > kIslandBytes) return {};
  const int64_t rounded = RoundUp(bytes == 0 ? 1 : bytes, kPage);
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [offset, room] = *it;
    if (room < rounded) continue;
    free_.erase(it);
    if (room > rounded) free_[offset + rounded] = room - rounded;
    held_bytes_ += rounded;
    return backend::Block(this, closed_ + offset, rounded);
  }
  return {};
}

void IslandMemory::Free(void* data, int64_t bytes, int) {
  int64_t offset = static_cast<std::byte*>(data) - closed_;
  // A buffer that lies here next begins with garbage, not with useful values.
  std::memset(open_ + offset, 0xA5, std::min<int64_t>(bytes, kPage));
  if (bytes > kPage) madvise(open_ + offset + kPage, bytes - kPage, MADV_REMOVE);
  std::lock_guard<std::mutex> lock(mutex_);
  held_bytes_ -= bytes;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
    }
  }
  free_[offset] = bytes;
}

bool IslandMemory::Holds(const void* data, int64_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(data);
  return begin >= closed_ && begin + bytes <= closed_ + kIslandBytes;
}

void* IslandMemory::Reach(const void* data) const {
  if (!Holds(data, 0)) return const_cast<void*>(data);
  return open_ + (static_cast<const std::byte*>(data) - closed_);
}

int64_t IslandMemory::held_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return held_bytes_;
}

absl::Status IslandDevice::WithStream(const backend::StreamOptions& options,
                                      absl::FunctionRef<absl::Status(backend::Stream&)> body) {
  IslandStream stream(memory_, options);
  return body(stream);
}

IslandBackend::IslandBackend() : reference_(*reference::ReferenceBackend::Create({})) {}

absl::StatusOr<std::shared_ptr<const backend::Kernel>> IslandBackend::Compile(
    const ir::Node& fusion, const backend::CompileOptions& options) {
  TEKTITE_ASSIGN_OR_RETURN(auto kernel, reference_->Compile(fusion, options));
  return std::make_shared<const IslandKernel>(
      std::static_pointer_cast<const backend::HostKernel>(std::move(kernel)));
}

}  // namespace tektite::testing
