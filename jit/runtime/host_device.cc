#include "jit/runtime/host_device.h"

#include <atomic>
#include <cstring>

#include "jit/runtime/threads/thread_team.h"

namespace tektite::runtime {
namespace {

using backend::HostKernel;
using backend::Kernel;
using backend::LaunchConfig;

// Whether a call was cancelled, as several threads ask it: after the first yes no thread asks the
// host.
class CancelledOnce {
 public:
  explicit CancelledOnce(absl::FunctionRef<bool()> ask) : ask_(ask) {}
  bool IsKnown() const { return known_.load(std::memory_order_relaxed); }
  bool Ask() const {
    if (!IsKnown() && ask_()) known_.store(true, std::memory_order_relaxed);
    return IsKnown();
  }

 private:
  const absl::FunctionRef<bool()> ask_;
  mutable std::atomic<bool> known_{false};
};

// A kernel whose chunks take long: each asks first, and those after a yes are left out.
class CancellableKernel : public HostKernel {
 public:
  CancellableKernel(const HostKernel& kernel, const CancelledOnce& cancelled)
      : kernel_(kernel), cancelled_(cancelled) {}
  LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    return kernel_.Configure(sizes);
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    for (int64_t chunk = begin; chunk < end && !cancelled_.Ask(); ++chunk) {
      kernel_.Run(frame, chunk, chunk + 1);
    }
  }

 private:
  const HostKernel& kernel_;
  const CancelledOnce& cancelled_;
};

// Launches that take longer are looked at from within; their chunks take some 5 us at least.
constexpr double kLongLaunchNs = 20e6;

class TeamStream final : public backend::Stream {
 public:
  explicit TeamStream(const backend::StreamOptions& options)
      : team_(options.pool, options.cost_ns, options.scratch_bytes, options.scratch, options.times),
        cancelled_(options.is_cancelled),
        asks_(options.cost_ns >= HostDevice::kAskNs || options.has_loops) {}

  void Launch(const Kernel& kernel, const LaunchConfig& config, absl::Span<void* const> buffers,
              absl::Span<const int64_t> sizes) override {
    const auto& host_kernel = static_cast<const HostKernel&>(kernel);
    if (HasEnded()) return;
    if (!asks_) return team_.Run(host_kernel, config, buffers.data(), sizes.data());
    if (IsCancelledAfter(config.cost_ns)) return;
    if (config.cost_ns < kLongLaunchNs) {
      return team_.Run(host_kernel, config, buffers.data(), sizes.data());
    }
    const CancellableKernel cancellable(host_kernel, cancelled_);
    team_.Run(cancellable, config, buffers.data(), sizes.data());
  }

  void CopyFromHost(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    // A loop does so in each turn, and need not launch anything.
    if (asks_ && IsCancelledAfter(kTurnNs)) return;
    Copy(to, from, bytes);
  }
  void CopyWithin(void* to, const void* from, int64_t bytes) override { Copy(to, from, bytes); }
  std::unique_ptr<backend::Event> Record() override { return std::make_unique<backend::Event>(); }
  void Wait(const backend::Event&) override {}
  absl::Status Synchronize() override {
    if (team_.lacks_memory()) return absl::ResourceExhaustedError("a kernel found no memory");
    if (cancelled_.IsKnown()) return absl::CancelledError("the host has cancelled the call");
    return absl::OkStatus();
  }

 private:
  static constexpr double kTurnNs = 100;

  bool IsCancelledAfter(double cost_ns) {
    if ((since_asked_ns_ += cost_ns) < HostDevice::kAskNs) return false;
    since_asked_ns_ = 0;
    return cancelled_.Ask();
  }
  void Copy(void* to, const void* from, int64_t bytes) const {
    if (bytes > 0 && !HasEnded()) std::memcpy(to, from, bytes);
  }
  // The kernels that follow would work with garbage, or for a caller that no longer waits.
  bool HasEnded() const { return team_.lacks_memory() || cancelled_.IsKnown(); }

  ThreadTeam team_;
  const CancelledOnce cancelled_;
  const bool asks_;
  double since_asked_ns_ = 0;
};

}  // namespace

absl::Status HostDevice::WithStream(const backend::StreamOptions& options,
                                    absl::FunctionRef<absl::Status(backend::Stream&)> body) {
  TeamStream stream(options);
  return body(stream);
}

}  // namespace tektite::runtime
