#include "tests/gpu/interpreter/interpreted_device.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "tests/island/serial_thread.h"

namespace tektite::gpu {
namespace {

using ir::Dim;

// What a small card has.
constexpr int64_t kDeviceBytes = int64_t{8} << 30;
// No address of the host's has this bit.
constexpr uintptr_t kDeviceBit = uintptr_t{1} << 62;
// An element of a launch takes the interpreter so long, about.
constexpr double kElementNs = 20;

struct Point final : backend::Event {
  explicit Point(std::shared_ptr<std::atomic<bool>> reached) : reached(std::move(reached)) {}
  const std::shared_ptr<std::atomic<bool>> reached;
};

class InterpretedStream final : public backend::Stream {
 public:
  explicit InterpretedStream(const backend::StreamOptions& options) : options_(options) {}

  void Launch(const backend::Kernel& kernel, const backend::LaunchConfig& config,
              absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) override {
    if (!config.fits) {
      return Do([] { return Internal("a launch of sizes that do not fit"); });
    }
    Do([&kernel, buffers, sizes] {
      std::vector<void*> reached;
      for (void* buffer : buffers) reached.push_back(InterpretedMemory::Reach(buffer));
      return static_cast<const LaunchableKernel&>(kernel).Run(reached, sizes);
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
    thread_.Enqueue([reached] { reached->store(true); });
    return std::make_unique<Point>(std::move(reached));
  }
  void Wait(const backend::Event& event) override {
    thread_.Enqueue([reached = static_cast<const Point&>(event).reached] {
      while (!reached->load()) std::this_thread::yield();
    });
  }
  absl::Status Synchronize() override {
    thread_.Wait();
    return status_;
  }

 private:
  // After an error nothing more is done.
  void Do(std::function<absl::Status()> work) {
    thread_.Enqueue([this, work = std::move(work)] {
      if (status_.ok() && options_.is_cancelled()) status_ = absl::CancelledError("cancelled");
      if (status_.ok()) status_ = work();
    });
  }

  void Copy(void* to, bool to_device, const void* from, bool from_device, int64_t bytes) {
    if (bytes == 0) return;
    Do([=] {
      if (InterpretedMemory::Holds(to) != to_device ||
          InterpretedMemory::Holds(from) != from_device) {
        return Internal("a copy between the wrong memories");
      }
      std::memcpy(InterpretedMemory::Reach(to), InterpretedMemory::Reach(from),
                  static_cast<size_t>(bytes));
      return absl::OkStatus();
    });
  }

  const backend::StreamOptions options_;
  absl::Status status_;           // the thread's; the caller's after it has waited
  testing::SerialThread thread_;  // last: it uses the others
};

}  // namespace

LaunchableKernel::LaunchableKernel(const ir::Graph& region,
                                   std::unique_ptr<const InterpretedKernel> kernel,
                                   std::vector<std::pair<int, int>> in_place)
    : kernel_(std::move(kernel)), in_place_(std::move(in_place)), launch_(ir::SymbolsOf(region)) {
  Dim work(0);
  const auto add = [&](const ir::Shape& shape) {
    bytes_.push_back(launch_.Add(shape.NumElements() * Dim(ir::DTypeBytes(shape.dtype()))));
    work = work + shape.NumElements();
  };
  for (const ir::Node* p : region.parameters()) add(p->shape());
  for (ir::Value v : region.outputs()) add(v.shape());
  work_ = launch_.Add(work);
}

backend::LaunchConfig LaunchableKernel::Configure(absl::Span<const int64_t> sizes) const {
  std::vector<int64_t> table(static_cast<size_t>(launch_.table_size()));
  backend::LaunchConfig config;  // the interpreter has scratch of its own
  config.fits = kernel_->Fits(sizes) && launch_.Run(sizes.data(), table.data());
  config.cost_ns = static_cast<double>(table[static_cast<size_t>(work_)]) * kElementNs;
  return config;
}

bool LaunchableKernel::CanRunInPlace(int operand, int result) const {
  return std::find(in_place_.begin(), in_place_.end(), std::pair(operand, result)) !=
         in_place_.end();
}

absl::Status LaunchableKernel::Run(absl::Span<void* const> buffers,
                                   absl::Span<const int64_t> sizes) const {
  std::vector<int64_t> table(static_cast<size_t>(launch_.table_size()));
  if (buffers.size() != bytes_.size() || !launch_.Run(sizes.data(), table.data())) {
    return Internal("kernel ", kernel_->name(), ": a launch that was not planned");
  }
  std::vector<DeviceBuffer> arguments;
  for (size_t i = 0; i < buffers.size(); ++i) {
    arguments.push_back({buffers[i], table[static_cast<size_t>(bytes_[i])]});
  }
  return kernel_->Run(arguments, sizes);
}

int64_t InterpretedMemory::limit() const { return kDeviceBytes; }

backend::Block InterpretedMemory::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > kDeviceBytes) return {};
  const int64_t rounded = backend::AlignUp(std::max<int64_t>(bytes, 1));
  void* const data = std::aligned_alloc(backend::kAlignment, static_cast<size_t>(rounded));
  if (data == nullptr) return {};
  const uintptr_t address = reinterpret_cast<uintptr_t>(data) | kDeviceBit;
  return backend::Block(this, reinterpret_cast<void*>(address), rounded);
}

void InterpretedMemory::Free(void* data, int64_t, int) { std::free(Reach(data)); }

bool InterpretedMemory::Holds(const void* data) {
  return (reinterpret_cast<uintptr_t>(data) & kDeviceBit) != 0;
}

void* InterpretedMemory::Reach(const void* data) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) & ~kDeviceBit);
}

absl::Status InterpretedDevice::WithStream(const backend::StreamOptions& options,
                                           absl::FunctionRef<absl::Status(backend::Stream&)> body) {
  InterpretedStream stream(options);
  return body(stream);
}

}  // namespace tektite::gpu
