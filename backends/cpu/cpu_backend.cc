#include "backends/cpu/cpu_backend.h"

#include <utility>

#include "absl/strings/match.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "backends/cpu/implementation_list.h"
#include "backends/cpu/kernel_facts.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

constexpr int KernelFacts::*kPlaces[] = {&KernelFacts::num_chunks, &KernelFacts::scratch_bytes,
                                         &KernelFacts::cost};

// An image: these facts, then the code.
std::string WriteImage(const KernelFacts& facts, absl::string_view code) {
  ByteWriter w;
  facts.sizes.Write(&w);
  facts.launch.Write(&w);
  for (const auto place : kPlaces) w.I64(facts.*place);
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
  if (!facts->sizes.Read(&r) || !facts->launch.Read(&r)) return false;
  for (const auto place : kPlaces) {
    const int64_t at = r.I64();
    if (at < 0 || at >= facts->launch.table_size()) return false;
    facts->*place = static_cast<int>(at);
  }
  facts->in_place.resize(r.Count(2 * sizeof(int64_t)));
  for (auto& [operand, result] : facts->in_place) {
    operand = static_cast<int>(r.I64());
    result = static_cast<int>(r.I64());
  }
  *code = r.String();
  return r.AtEnd() && facts->sizes.num_symbols() == facts->launch.num_symbols();
}

class CpuKernel : public backend::HostKernel {
 public:
  CpuKernel(CompiledFunction function, KernelFacts facts)
      : function_(std::move(function)), facts_(std::move(facts)) {
    if (facts_.IsStatic()) fixed_ = facts_.Plan(nullptr);
  }

  backend::LaunchPlan Plan(absl::Span<const int64_t> sizes) const override {
    return facts_.IsStatic() ? fixed_ : facts_.Plan(sizes.data());
  }

  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    SizeTable table(facts_.sizes.table_size());
    // Plan has found that the sizes fit.
    static_cast<void>(facts_.sizes.Run(frame.sizes, table.data()));
    function_.fn(frame.buffers, table.data(), frame.scratch, begin, end);
  }

  std::string Image() const override {
    return WriteImage(facts_, function_.code->Image().Serialize());
  }

  bool CanRunInPlace(int operand, int result) const override {
    return facts_.CanRunInPlace(operand, result);
  }

 private:
  CompiledFunction function_;
  KernelFacts facts_;
  backend::LaunchPlan fixed_;  // without symbols
};

class CpuBackend : public backend::Backend {
 public:
  CpuBackend(std::unique_ptr<KernelCompiler> compiler, bool keeps_images)
      : compiler_(std::move(compiler)), keeps_images_(keeps_images) {}

  absl::string_view name() const override { return "cpu"; }
  const target::TargetInfo& target() const override { return compiler_->target(); }

  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    TEKTITE_ASSIGN_OR_RETURN(MadeKernel made, MakeKernel(fusion, target(), options.name));
    if (made.ready != nullptr) return made.ready;
    TEKTITE_ASSIGN_OR_RETURN(CompiledFunction function,
                             compiler_->Compile(*made.code.kernel, {options.dump_dir}));
    return std::make_shared<CpuKernel>(std::move(function), FactsOf(made.code));
  }

  bool keeps_images() const override { return keeps_images_; }
  absl::StatusOr<std::vector<std::shared_ptr<const backend::Kernel>>> Load(
      absl::Span<const absl::string_view> images) override {
    std::vector<KernelFacts> facts(images.size());
    std::vector<absl::string_view> codes(images.size());
    for (size_t i = 0; i < images.size(); ++i) {
      if (!ReadImage(images[i], &facts[i], &codes[i])) {
        return InvalidArgument("not the image of a kernel");
      }
    }
    TEKTITE_ASSIGN_OR_RETURN(std::vector<CompiledFunction> functions, KernelCompiler::Load(codes));
    std::vector<std::shared_ptr<const backend::Kernel>> kernels;
    kernels.reserve(images.size());
    for (size_t i = 0; i < images.size(); ++i) {
      kernels.push_back(std::make_shared<CpuKernel>(std::move(functions[i]), std::move(facts[i])));
    }
    return kernels;
  }

  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts& facts) const override {
    return SchedulesFor(fusion, facts, target());
  }

 private:
  std::unique_ptr<KernelCompiler> compiler_;
  const bool keeps_images_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackend(const Flags& flags) {
  TEKTITE_ASSIGN_OR_RETURN(target::TargetInfo target, DetectTarget(flags.cpu));
  CodeLinker::Options linking;
  linking.gdb = absl::StrContains(flags.jit_names, "gdb");
  linking.perf = absl::StrContains(flags.jit_names, "perf");
  return CreateCpuBackendFor(target, linking);
}

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackendFor(
    const target::TargetInfo& target, const CodeLinker::Options& linking) {
  TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<KernelCompiler> compiler,
                           KernelCompiler::Create(target, linking));
  // The linker tells debuggers and profilers of code that it links, not of code from the disk.
  const bool keeps_images = !linking.gdb && !linking.perf;
  return std::make_unique<CpuBackend>(std::move(compiler), keeps_images);
}

}  // namespace tektite::cpu
