#include "backends/cpu/library/sized_at_launch.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using KernelPtr = std::shared_ptr<const backend::HostKernel>;

// Sets of sizes whose kernels are kept.
constexpr size_t kMostKept = 8;
constexpr int64_t kSomeSize = 16;

class Sized : public backend::HostKernel {
 public:
  Sized(const ir::Node& fusion, KernelMaker make)
      : graph_(ir::Isolated(fusion, "sized_at_launch")),
        symbols_(ir::SymbolsOf(fusion.region())),
        make_(std::move(make)) {}

  // Whether there is a kernel at all.  The sizes need not agree with each other, or with what the
  // graph asks for (a top_k of 33 elements), since this kernel never runs.
  absl::Status Probe() const {
    const std::vector<int64_t> some(symbols_.size(), kSomeSize);
    return make_(*WithSizes(some)->nodes().back()).status();
  }

  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    const KernelPtr kernel = For(sizes);
    if (kernel != nullptr) return kernel->Configure({});
    backend::LaunchConfig none;
    none.fits = false;
    return none;
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    const KernelPtr kernel = For({frame.sizes, symbols_.size()});
    if (kernel != nullptr) kernel->Run({frame.buffers, nullptr, frame.scratch}, begin, end);
  }

 private:
  std::unique_ptr<ir::Graph> WithSizes(absl::Span<const int64_t> sizes) const {
    ir::SymbolMap values;
    for (size_t i = 0; i < symbols_.size(); ++i) values.emplace(symbols_[i], sizes[i]);
    std::unique_ptr<ir::Graph> fixed = graph_->Clone();
    fixed->Substitute(values);
    return fixed;
  }
  absl::StatusOr<KernelPtr> Make(absl::Span<const int64_t> sizes) const {
    const std::unique_ptr<ir::Graph> fixed = WithSizes(sizes);
    TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(*fixed));
    return make_(*fixed->nodes().back());
  }

  struct Kept {
    std::vector<int64_t> sizes;
    KernelPtr kernel;
  };

  KernelPtr For(absl::Span<const int64_t> sizes) const {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (const Kept& kept : kept_) {
        if (absl::MakeConstSpan(kept.sizes) == sizes) return kept.kernel;
      }
    }
    absl::StatusOr<KernelPtr> kernel = Make(sizes);
    if (!kernel.ok()) {
      WarnOnce(kernel.status().message());
      return nullptr;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    if (kept_.size() < kMostKept) {
      kept_.push_back({{sizes.begin(), sizes.end()}, *kernel});
    } else {
      kept_[next_++ % kMostKept] = {{sizes.begin(), sizes.end()}, *kernel};
    }
    return *kernel;
  }

  std::unique_ptr<ir::Graph> graph_;
  std::vector<std::string> symbols_;
  KernelMaker make_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::vector<Kept> kept_;
  mutable size_t next_ = 0;
};

}  // namespace

absl::StatusOr<KernelPtr> SizedAtLaunch(const ir::Node& fusion, KernelMaker make) {
  auto kernel = std::make_shared<Sized>(fusion, std::move(make));
  TEKTITE_RETURN_IF_ERROR(kernel->Probe());
  return kernel;
}

}  // namespace tektite::cpu
