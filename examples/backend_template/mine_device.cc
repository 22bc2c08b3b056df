#include "mine_device.h"

#include <cstdlib>
#include <cstring>

#include "mine_kernel.h"

namespace mine {
namespace {

// Runs each launch and copy before it returns.  A stream that runs them later must keep their
// order, and wait for them in Synchronize.
class MineStream final : public backend::Stream {
 public:
  explicit MineStream(const backend::StreamOptions& options) : options_(options) {}

  void Launch(const backend::Kernel& kernel, const backend::LaunchConfig& config,
              absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) override {
    if (IsCancelled()) return;
    static_cast<const MineKernel&>(kernel).Run(buffers, sizes, options_.scratch);
  }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyToHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyWithin(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  std::unique_ptr<backend::Event> Record() override { return std::make_unique<backend::Event>(); }
  void Wait(const backend::Event& event) override {}
  absl::Status Synchronize() override {
    return is_cancelled_ ? absl::CancelledError("the host has cancelled the call")
                         : absl::OkStatus();
  }

 private:
  bool IsCancelled() { return is_cancelled_ = is_cancelled_ || options_.is_cancelled(); }
  void Copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0 && !IsCancelled()) std::memcpy(to, from, static_cast<size_t>(bytes));
  }

  const backend::StreamOptions options_;
  bool is_cancelled_ = false;
};

}  // namespace

backend::Block MineMemory::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > limit()) return {};
  const int64_t rounded = backend::AlignUp(bytes == 0 ? 1 : bytes);
  void* const data = std::aligned_alloc(backend::kAlignment, static_cast<size_t>(rounded));
  return data == nullptr ? backend::Block() : backend::Block(this, data, rounded);
}

void MineMemory::Free(void* data, int64_t, int) { std::free(data); }

absl::Status MineDevice::WithStream(const backend::StreamOptions& options,
                                    absl::FunctionRef<absl::Status(backend::Stream&)> body) {
  MineStream stream(options);
  return body(stream);
}

}  // namespace mine
