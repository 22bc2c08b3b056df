// The packing of weights for products of few rows (jit/passes/assign_layouts.cc): [k, n] becomes
// [panels, k, width] with zeros behind the last column.
//
// It runs once, behind some later call, and no first call waits for code to be made.  A chunk is
// some rows of k, which it reads as one stream: 10 GB/s, 1.6 into memory that nothing has touched.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/library/library_kernel.h"
#include "backends/cpu/library/library_kernels.h"
#include "jit/base/lists.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::Node;
using ir::Op;

constexpr int64_t kChunkBytes = 64 << 10;
constexpr double kBytesPerNs = 2;

class WeightPanels : public backend::HostKernel {
 public:
  // In bytes, but for k and panels.
  WeightPanels(int64_t k, int64_t row, int64_t panels, int64_t width)
      : k_(k), row_(row), panels_(panels), width_(width) {
    rows_of_chunk_ = std::clamp<int64_t>(kChunkBytes / row, 1, k);
    config_.num_chunks = CeilDiv(k, rows_of_chunk_);
    config_.cost_ns = static_cast<double>(k * row) / kBytesPerNs;
  }
  backend::LaunchConfig Configure(absl::Span<const int64_t>) const override { return config_; }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    const auto* from = static_cast<const std::byte*>(frame.buffers[0]);
    auto* to = static_cast<std::byte*>(frame.buffers[1]);
    const int64_t first = begin * rows_of_chunk_, last = std::min(end * rows_of_chunk_, k_);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t column = panel * width_, there = std::min(width_, row_ - column);
      for (int64_t i = first; i < last; ++i) {
        std::byte* const piece = to + (panel * k_ + i) * width_;
        std::memcpy(piece, from + i * row_ + column, there);
        std::memset(piece + there, 0, width_ - there);
      }
    }
  }

 private:
  const int64_t k_, row_, panels_, width_;
  int64_t rows_of_chunk_ = 1;
  backend::LaunchConfig config_;
};

// Whether the node's elements are the parameter's, in their order.
bool KeepsOrder(const Node& node) {
  if (node.op() == Op::kParameter) return true;
  const bool keeps = node.op() == Op::kReshape ||
                     (node.op() == Op::kTranspose && CountsUp(node.Ints(Attr::permutation)));
  return keeps && KeepsOrder(*node.operand(0).node);
}

}  // namespace

absl::StatusOr<KernelPtr> MakeWeightPanels(const Node& fusion) {
  const absl::Status refused = Unimplemented("panels of weights that lie in another order");
  const ir::Graph& region = fusion.region();
  if (region.num_parameters() != 1 || region.outputs().size() != 1) return refused;
  const Node& last = *region.outputs()[0].node;
  if (last.op() != Op::kTranspose ||
      last.Ints(Attr::permutation) != std::vector<int64_t>{1, 0, 2} || !last.shape().is_static()) {
    return refused;
  }
  const Node* matrix = last.operand(0).node;  // [k, panels, width]
  while (matrix->op() == Op::kReshape) matrix = matrix->operand(0).node;
  const std::vector<int64_t> sizes = last.shape().sizes();
  const int64_t panels = sizes[0], k = sizes[1], width = sizes[2];
  int64_t n = panels * width;
  if (matrix->op() == Op::kPad) {
    // Zeros behind the last column alone.
    const ir::Shape& inside = matrix->operand_shape(0);
    if (inside.rank() != 2 || !inside.is_static() || inside.dim(0) != ir::Dim(k) ||
        matrix->Ints(Attr::low) != std::vector<int64_t>{0, 0}) {
      return refused;
    }
    n = inside.dim(1).value();
    matrix = matrix->operand(0).node;
  }
  if (!KeepsOrder(*matrix) || matrix->shape().num_elements() != k * n || k * n == 0) return refused;
  const int64_t bytes = ir::DTypeBytes(matrix->shape().dtype());
  return std::make_shared<const WeightPanels>(k, n * bytes, panels, width * bytes);
}

}  // namespace tektite::cpu
