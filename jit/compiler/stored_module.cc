// The compiler's dealings with modules on disk: compiling once, and taking that up again.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/compiler/compiler.h"
#include "jit/ops/ops.h"

namespace tektite::compiler {
namespace {

// Measured on warm files: a module takes this long, a kernel that much more (tests/cache counts
// both), and a step of it the rest.
constexpr double kModuleMicroseconds = 100, kKernelMicroseconds = 5, kStepMicroseconds = 0.5;
// A module with large constants would only repeat what its model's file holds.
constexpr size_t kMostModuleBytes = 16 << 20;

}  // namespace

bool Compiler::keeps_modules() const {
  const bool watched =
      flags_.verify || flags_.time_passes || flags_.profile_kernels || !flags_.dump_to.empty();
  return disk_ != nullptr && !watched && backends_.front()->keeps_images();
}

void Compiler::CountProducts(const Module& module) {
  bf16_products_.fetch_add(module.bf16_products, std::memory_order_relaxed);
  byte_products_.fetch_add(module.byte_products, std::memory_order_relaxed);
}

void Compiler::FlushDisk() {
  if (disk_ != nullptr) disk_->Flush();
}

void Compiler::StoreModule(const Module& module, const ModuleKey& key) {
  size_t constant_bytes = 0;
  for (const ir::Literal& literal : module.steps.constants) constant_bytes += literal.num_bytes();
  if (constant_bytes > kMostModuleBytes) return;
  disk_->Store(key.describe(), WriteModule(module));
}

void Compiler::StoreRefusal(const ModuleKey& key, absl::string_view note,
                            absl::string_view reason) {
  if (!keeps_modules() || reason.empty()) return;
  cache::CacheKey described = key.describe();
  // What people see in a list of entries.
  absl::StrAppend(&described.name, ", refused: ", reason);
  disk_->Store(described, WriteRefusal(note, reason));
  disk_->Flush();
}

std::optional<Module> Compiler::FindModule(const ModuleKey& key) {
  if (!keeps_modules()) return std::nullopt;
  std::optional<std::string> bytes = disk_->Load(key.fingerprint, key.describe);
  if (!bytes) return std::nullopt;
  Module module;
  module.key = key.fingerprint;
  if (ReadModule(*std::move(bytes), &module)) return module;
  disk_->Reject(key.fingerprint);
  return std::nullopt;
}

double Compiler::LoadMicroseconds(const Module& module) {
  double microseconds =
      kModuleMicroseconds + kStepMicroseconds * static_cast<double>(module.kernel_of_step.size());
  for (const ModuleKernel& kernel : module.kernels) {
    if (kernels_.Has(kernel.key)) continue;
    if (kernel.image.empty()) return std::numeric_limits<double>::infinity();
    microseconds += kKernelMicroseconds;
  }
  return microseconds;
}

absl::StatusOr<cache::KernelPtr> Compiler::MakeKernel(const ModuleKernel& kernel) {
  TEKTITE_ASSIGN_OR_RETURN(const auto graph, ir::Parse(kernel.fusion));
  TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(*graph));
  for (const auto& node : graph->nodes()) {
    if (node->op() != ir::Op::kFusion) continue;
    backend::CompileOptions options;
    options.name = kernel.name;
    Fingerprint key;
    return CompileKernel(*node, options, /*primary_only=*/false, &key);
  }
  return absl::NotFoundError("no fusion");
}

absl::StatusOr<std::vector<cache::KernelPtr>> Compiler::LoadImages(
    const Module& module, absl::Span<const absl::string_view> images) {
  auto loaded = backends_.front()->Load(images);
  if (loaded.ok()) {
    loaded_kernels_.fetch_add(static_cast<int64_t>(images.size()), std::memory_order_relaxed);
  } else {
    disk_->Reject(module.key);
  }
  return loaded;
}

absl::Status Compiler::LoadKernels(Module* module) {
  // Kernels that are not in memory yet are loaded together.
  std::vector<absl::string_view> images;
  std::vector<ModuleKernel*> missing;
  for (ModuleKernel& kernel : module->kernels) {
    if (kernel.image.empty() || kernels_.Has(kernel.key)) continue;
    images.push_back(kernel.image);
    missing.push_back(&kernel);
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<cache::KernelPtr> loaded, LoadImages(*module, images));
  for (size_t i = 0; i < missing.size(); ++i) missing[i]->kernel = std::move(loaded[i]);
  for (ModuleKernel& kernel : module->kernels) {
    if (kernel.image.empty()) {
      TEKTITE_ASSIGN_OR_RETURN(kernel.kernel, MakeKernel(kernel));
      continue;
    }
    auto load = [&, mine = std::move(kernel.kernel)]() -> absl::StatusOr<cache::KernelPtr> {
      if (mine != nullptr) return mine;
      // It was in memory a moment ago.
      TEKTITE_ASSIGN_OR_RETURN(auto again, LoadImages(*module, {kernel.image}));
      return std::move(again.front());
    };
    TEKTITE_ASSIGN_OR_RETURN(kernel.kernel, kernels_.GetOrCompile(kernel.key, load));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<runtime::Executable>> Compiler::Load(Module module,
                                                                    const CompileJob& job) {
  runtime::StepGraph& steps = module.steps;
  const std::vector<std::string>& symbols = steps.program.symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto size = job.typical_sizes.find(symbols[i]);
    if (size == job.typical_sizes.end()) {
      return absl::OutOfRangeError(absl::StrCat("no parameter defines the size ", symbols[i]));
    }
    steps.typical_sizes[i] = size->second;
  }
  if (const auto* failed = runtime::FirstFailed(steps.checks, steps.SetTypicalBytes())) {
    return absl::OutOfRangeError(absl::StrCat("the code needs ", failed->text));
  }
  TEKTITE_RETURN_IF_ERROR(LoadKernels(&module));
  module.bytes = nullptr;  // memory that is mapped, for what follows
  steps.names.assign(steps.steps.size(), "no kernel");
  for (size_t s = 0; s < steps.steps.size(); ++s) {
    if (module.kernel_of_step[s] == Module::kNoKernel) continue;
    const ModuleKernel& kernel = module.kernels[static_cast<size_t>(module.kernel_of_step[s])];
    steps.steps[s].kernel = kernel.kernel;
    steps.names[s] = kernel.name;
  }
  CountProducts(module);
  steps.FindGroups();
  auto executable =
      loader_->Load(std::move(steps), {module.roles, job.weights, flags_.profile_kernels});
  loaded_modules_.fetch_add(1, std::memory_order_relaxed);
  return executable;
}

}  // namespace tektite::compiler
