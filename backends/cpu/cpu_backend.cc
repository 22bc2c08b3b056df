#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/cpu_features.h"
#include "backends/cpu/kernel_compiler.h"
#include "backends/cpu/kernel_emitters.h"
#include "backends/cpu/library_kernels.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

// What the runtime knows of a kernel beside its code.
struct KernelFacts {
  backend::LaunchPlan plan;
  std::vector<std::pair<int, int>> in_place;
};

KernelFacts FactsOf(const EmittedKernel& emitted) {
  return {{emitted.num_chunks, emitted.kernel->scratch_bytes, emitted.cost_ns}, emitted.in_place};
}

// An image: these facts, then the code.
std::string WriteImage(const KernelFacts& facts, absl::string_view code) {
  ByteWriter w;
  w.I64(facts.plan.num_chunks);
  w.I64(facts.plan.scratch_bytes);
  w.F64(facts.plan.cost_ns);
  w.U64(facts.in_place.size());
  for (auto [operand, result] : facts.in_place) {
    w.I64(operand);
    w.I64(result);
  }
  w.String(code);
  return w.Take();
}

bool ReadImage(absl::string_view image, KernelFacts* facts, absl::string_view* code) {
  ByteReader r(image);
  facts->plan.num_chunks = r.I64();
  facts->plan.scratch_bytes = r.I64();
  facts->plan.cost_ns = r.F64();
  facts->in_place.resize(r.Count(2 * sizeof(int64_t)));
  for (auto& [operand, result] : facts->in_place) {
    operand = static_cast<int>(r.I64());
    result = static_cast<int>(r.I64());
  }
  *code = r.String();
  return r.AtEnd() && facts->plan.num_chunks >= 0 && facts->plan.scratch_bytes >= 0;
}

class CpuKernel : public backend::Kernel {
 public:
  CpuKernel(CompiledFunction function, KernelFacts facts)
      : function_(std::move(function)), facts_(std::move(facts)) {}

  backend::LaunchPlan Plan(absl::Span<const int64_t>) const override { return facts_.plan; }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    function_.fn(frame.buffers, frame.sizes, frame.scratch, begin, end);
  }

  bool CanRunInPlace(int operand, int result) const override {
    const auto& pairs = facts_.in_place;
    return std::find(pairs.begin(), pairs.end(), std::pair(operand, result)) != pairs.end();
  }

 private:
  CompiledFunction function_;
  KernelFacts facts_;
};

class CpuBackend : public backend::Backend {
 public:
  explicit CpuBackend(std::unique_ptr<KernelCompiler> compiler) : compiler_(std::move(compiler)) {}

  absl::string_view name() const override { return "cpu"; }
  const backend::TargetInfo& target() const override { return compiler_->target(); }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    auto library = MakeLibraryKernel(fusion);
    if (!absl::IsUnimplemented(library.status())) return library;
    TEKTITE_ASSIGN_OR_RETURN(EmittedKernel emitted, EmitKernel(fusion, target(), options.name));
    std::string code;
    CompileOptions code_options;
    code_options.dump_dir = options.dump_dir;
    if (options.image != nullptr) code_options.image = &code;
    TEKTITE_ASSIGN_OR_RETURN(CompiledFunction function,
                             compiler_->Compile(*emitted.kernel, code_options));
    KernelFacts facts = FactsOf(emitted);
    if (options.image != nullptr) *options.image = WriteImage(facts, code);
    return std::make_shared<CpuKernel>(std::move(function), std::move(facts));
  }

  bool keeps_images() const override { return true; }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Load(absl::string_view image) override {
    KernelFacts facts;
    absl::string_view code;
    if (!ReadImage(image, &facts, &code)) return InvalidArgument("not the image of a kernel");
    TEKTITE_ASSIGN_OR_RETURN(CompiledFunction function, KernelCompiler::Load(code));
    return std::make_shared<CpuKernel>(std::move(function), std::move(facts));
  }

  int64_t RhsPanelWidth(const ir::Node& contraction) const override {
    return ContractionPanelWidth(contraction, target());
  }

 private:
  std::unique_ptr<KernelCompiler> compiler_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackend(const Flags& flags) {
  TEKTITE_ASSIGN_OR_RETURN(backend::TargetInfo target, DetectTarget(flags.cpu));
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<KernelCompiler> compiler,
                           KernelCompiler::Create(target));
  return std::make_unique<CpuBackend>(std::move(compiler));
}

}  // namespace tektite::cpu
