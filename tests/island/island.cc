#include "tests/island/island.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "jit/base/status.h"
#include "jit/reference/reference_backend.h"
#include "tests/island/serial_thread.h"

namespace tektite::testing {
namespace {

constexpr int64_t kIslandBytes = int64_t{8} << 30;  // reserved; pages come with their first use
constexpr size_t kPage = 4096;

[[noreturn]] void Die(const char* message) {
  std::fprintf(stderr, "island: %s\n", message);
  std::abort();
}

struct Past final : backend::Event {
  explicit Past(std::shared_ptr<std::atomic<bool>> reached) : reached(std::move(reached)) {}
  const std::shared_ptr<std::atomic<bool>> reached;
};

class IslandStream final : public backend::Stream {
 public:
  IslandStream(IslandMemory& memory, const backend::StreamOptions& options)
      : memory_(memory), options_(options) {}

  void Launch(const backend::Kernel& kernel, const backend::LaunchConfig& config,
              absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) override {
    if (!config.fits) Die("a launch of sizes that do not fit");
    if (config.scratch_bytes > 0 && !memory_.Holds(options_.scratch, config.scratch_bytes)) {
      Die("scratch is not the island's");
    }
    Enqueue([this, &kernel, config, buffers, sizes] {
      std::vector<void*> reached;
      for (void* buffer : buffers) reached.push_back(memory_.Reach(buffer));
      static_cast<const IslandKernel&>(kernel).kernel().Run(
          {reached.data(), sizes.data(), memory_.Reach(options_.scratch)}, 0, config.num_chunks);
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
  SerialThread thread_;  // last: it uses the members above
};

}  // namespace

IslandMemory::IslandMemory()
    : memory_("island",
              {/*all=*/static_cast<size_t>(kIslandBytes), /*granule=*/kPage, /*spoiled=*/kPage}) {}

IslandMemory::~IslandMemory() {
  if (held_bytes() != 0) Die("a block was not given back");
}

int64_t IslandMemory::limit() const { return kIslandBytes; }

backend::Block IslandMemory::Allocate(int64_t bytes) {
  if (bytes < 0) return {};
  std::byte* const data = memory_.Allocate(static_cast<size_t>(bytes));
  if (data == nullptr) return {};
  return backend::Block(this, data, static_cast<int64_t>(memory_.Room(data)));
}

void IslandMemory::Free(void* data, int64_t, int) {
  if (!memory_.Free(data)) Die("what is freed was not allocated");
}

bool IslandMemory::Holds(const void* data, int64_t bytes) const {
  return memory_.Holds(data, static_cast<size_t>(bytes));
}

void* IslandMemory::Reach(const void* data) const {
  return Holds(data, 0) ? memory_.Open(data) : const_cast<void*>(data);
}

int64_t IslandMemory::held_bytes() const { return memory_.held_bytes(); }

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
