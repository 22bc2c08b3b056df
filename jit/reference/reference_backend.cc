#include "jit/reference/reference_backend.h"

#include <cstring>
#include <utility>
#include <vector>

#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/ir/dim_program.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"
#include "jit/reference/eval.h"

namespace tektite::reference {

using ir::Graph;
using ir::Literal;
using ir::Node;
using ir::Op;

namespace {

// Measured on f32[256,256]: add 11 ns an element, transpose 11, exp 28.
constexpr double kNsPerElement = 10;

class ReferenceKernel : public backend::HostKernel {
 public:
  explicit ReferenceKernel(std::unique_ptr<Graph> region)
      : region_(std::move(region)), symbols_(ir::SymbolsOf(*region_)) {
    ir::Dim elements(0);
    for (const auto& node : region_->nodes()) {
      for (const ir::Shape& shape : node->shapes()) elements = elements + shape.NumElements();
    }
    work_ = ir::DimProgram(symbols_);
    elements_ = work_.Add(elements);
  }

  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    std::vector<int64_t> table(work_.table_size());
    const bool fits = work_.Run(sizes.data(), table.data());
    return {1, 0, static_cast<double>(table[elements_]) * kNsPerElement, fits};
  }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    if (begin >= end) return;
    if (symbols_.empty()) return RunStatic(*region_, frame);
    ir::SymbolMap values;
    for (size_t i = 0; i < symbols_.size(); ++i) values.emplace(symbols_[i], frame.sizes[i]);
    const std::unique_ptr<Graph> region = region_->Clone();
    region->Substitute(values);
    RunStatic(*region, frame);
  }

 private:
  static void RunStatic(const Graph& region, const backend::KernelFrame& frame) {
    const int n = region.num_parameters();
    Literals args;
    for (int i = 0; i < n; ++i) {
      // The caller's memory, used as it is and not freed here.
      std::shared_ptr<const void> borrowed(frame.buffers[i], [](const void*) {});
      args.emplace_back(region.parameter(i)->shape().dtype(), region.parameter(i)->shape().sizes(),
                        std::move(borrowed));
    }
    auto results = EvaluateStatic(region, args);
    for (size_t i = 0; i < region.outputs().size(); ++i) {
      const int64_t bytes = region.outputs()[i].shape().num_bytes();
      if (bytes == 0) continue;
      if (results.ok()) {
        std::memcpy(frame.buffers[n + i], (*results)[i].raw(), bytes);
      } else {
        // Compile refused what could fail, but for running out of memory.
        WarnOnce(results.status().message());
        std::memset(frame.buffers[n + i], 0, bytes);
      }
    }
  }

  std::unique_ptr<Graph> region_;
  std::vector<std::string> symbols_;
  ir::DimProgram work_;
  int elements_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> ReferenceBackend::Create(const Flags& flags) {
  return std::make_unique<ReferenceBackend>();
}

absl::StatusOr<std::shared_ptr<const backend::Kernel>> ReferenceBackend::Compile(
    const Node& fusion, const backend::CompileOptions& options) {
  if (fusion.op() != Op::kFusion || fusion.num_regions() != 1) {
    return InvalidArgument(fusion.Describe(), ": a kernel is made from a fusion");
  }
  TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(fusion.region()));
  return std::make_shared<const ReferenceKernel>(fusion.region().Clone());
}

}  // namespace tektite::reference
