// A kernel of the device: one fusion, compiled.
//
//   kernel.Run({x, y, result}, /*sizes=*/{}, /*scratch=*/nullptr);
//
// To replace: Run by a launch of your code.  This one interprets the fusion's region, which says
// what the results are.
#ifndef MINE_KERNEL_H_
#define MINE_KERNEL_H_

#include <memory>

#include "absl/types/span.h"
#include "jit/backend/kernel.h"

namespace mine {

class MineKernel final : public tektite::backend::Kernel {
 public:
  explicit MineKernel(std::shared_ptr<const tektite::backend::HostKernel> interpreted)
      : interpreted_(std::move(interpreted)) {}

  // What a launch needs for given sizes: the values of the region's symbols, in their order.
  tektite::backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    return interpreted_->Configure(sizes);
  }
  // `buffers`: the fusion's operands, then its results, in the device's memory, row-major.
  void Run(absl::Span<void* const> buffers, absl::Span<const int64_t> sizes, void* scratch) const {
    interpreted_->Run({buffers.data(), sizes.data(), scratch}, 0, 1);
  }

 private:
  const std::shared_ptr<const tektite::backend::HostKernel> interpreted_;
};

}  // namespace mine

#endif  // MINE_KERNEL_H_
