#include "c_backend.h"

#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "c_printer.h"
#include "jit/base/status.h"
#include "system_compiler.h"

namespace backend_c {
namespace {

namespace backend = tektite::backend;

constexpr double kNsPerElement = 1;

class CKernel final : public backend::HostKernel {
 public:
  CKernel(PrintedKernel printed, std::shared_ptr<const LoadedFunction> function)
      : printed_(std::move(printed)), function_(std::move(function)) {}

  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    std::vector<int64_t> table(static_cast<size_t>(printed_.sizes.table_size()));
    const bool fits = printed_.sizes.Run(sizes.data(), table.data());
    const auto at = [&](int place) { return table[static_cast<size_t>(place)]; };
    return {/*num_chunks=*/1, at(printed_.scratch_bytes),
            static_cast<double>(at(printed_.work)) * kNsPerElement, fits};
  }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    if (begin >= end) return;
    std::vector<int64_t> table(static_cast<size_t>(printed_.sizes.table_size()));
    // Plan has found that the sizes fit.
    static_cast<void>(printed_.sizes.Run(frame.sizes, table.data()));
    function_->call(frame.buffers, table.data(), static_cast<char*>(frame.scratch));
  }

 private:
  const PrintedKernel printed_;
  const std::shared_ptr<const LoadedFunction> function_;
};

class BackendC final : public backend::Backend {
 public:
  BackendC() {
    target_.cpu = "c";                // part of the cache's keys
    target_.attention_types.clear();  // attention stays apart: products, rows, products
  }
  absl::string_view name() const override { return "c"; }
  const tektite::target::TargetInfo& target() const override { return target_; }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const tektite::ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_ASSIGN_OR_RETURN(PrintedKernel printed, PrintC(fusion.region()));
    if (!options.dump_dir.empty()) {
      std::ofstream(absl::StrCat(options.dump_dir, "/", options.name, ".c")) << printed.text;
    }
    TEKTITE_ASSIGN_OR_RETURN(auto function, CompileC(printed.text));
    return std::make_shared<const CKernel>(std::move(printed), std::move(function));
  }

 private:
  tektite::target::TargetInfo target_;
};

}  // namespace

std::unique_ptr<backend::Backend> CreateBackendC() { return std::make_unique<BackendC>(); }

}  // namespace backend_c
