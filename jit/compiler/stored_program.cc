// The compiler's dealings with programs on disk: compiling once, and taking that up again.
#include <deque>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jit/base/log.h"
#include "jit/base/status.h"
#include "jit/compiler/compiler.h"
#include "jit/ops/ops.h"

namespace tektite::compiler {
namespace {

// Measured on warm files: a program takes this long, a kernel that much more (tests/cache counts
// both), and a step of it the rest.
constexpr double kProgramMicroseconds = 100, kKernelMicroseconds = 5, kStepMicroseconds = 0.5;
// A program with large constants would only repeat what its model's file holds.
constexpr size_t kMostProgramBytes = 16 << 20;

}  // namespace

bool Compiler::keeps_plans() const {
  const bool watched =
      flags_.verify || flags_.time_passes || flags_.profile_kernels || !flags_.dump_to.empty();
  return disk_ != nullptr && !watched && backends_.front()->keeps_images();
}

void Compiler::FlushDisk() {
  if (disk_ != nullptr) disk_->Flush();
}

void Compiler::StoreProgram(const runtime::StepGraph& steps, const KernelNames& names,
                            const CompileJob& job) {
  Program program;
  program.note = job.plan_note;
  program.roles = job.roles;
  absl::flat_hash_map<const backend::Kernel*, int> numbers;
  std::deque<std::string> images;
  for (const runtime::Step& step : steps.steps) {
    if (step.kernel == nullptr) {
      program.kernel_of_step.push_back(Program::kNoKernel);
      continue;
    }
    const auto [it, added] =
        numbers.try_emplace(step.kernel.get(), static_cast<int>(program.kernels.size()));
    if (added) {
      ProgramKernel& kernel = program.kernels.emplace_back(names.at(step.kernel.get()));
      if (kernel.fusion.empty()) kernel.image = images.emplace_back(step.kernel->Image());
    }
    program.kernel_of_step.push_back(it->second);
  }
  size_t constant_bytes = 0;
  for (const ir::Literal& literal : steps.constants) constant_bytes += literal.num_bytes();
  if (constant_bytes > kMostProgramBytes) return;
  disk_->Store(job.plan->describe(), WriteProgram(program, steps));
}

void Compiler::StoreRefusal(const PlanKey& plan, absl::string_view note, absl::string_view reason) {
  if (!keeps_plans() || reason.empty()) return;
  cache::CacheKey key = plan.describe();
  absl::StrAppend(&key.name, ", refused: ", reason);  // what people see in a list of entries
  disk_->Store(key, WriteRefusal(note, reason));
  disk_->Flush();
}

std::optional<Program> Compiler::FindProgram(const PlanKey& key) {
  if (!keeps_plans()) return std::nullopt;
  std::optional<std::string> bytes = disk_->Load(key.fingerprint, key.describe);
  if (!bytes) return std::nullopt;
  Program program;
  program.key = key.fingerprint;
  if (ReadProgram(*std::move(bytes), &program)) return program;
  disk_->Reject(key.fingerprint);
  return std::nullopt;
}

std::optional<std::string> Compiler::FindDecision(absl::string_view text) {
  if (disk_ == nullptr) return std::nullopt;
  return disk_->Load(plan_environment().Finish(cache::EntryKind::kDecision, text), nullptr);
}

void Compiler::StoreDecision(absl::string_view text, absl::string_view name,
                             absl::string_view decision) {
  if (disk_ == nullptr) return;
  disk_->Store(
      cache::DescribeMeasurement(cache::EntryKind::kDecision, text, name, plan_environment()),
      decision);
  disk_->Flush();
}

double Compiler::LoadMicroseconds(const Program& program) {
  double microseconds =
      kProgramMicroseconds + kStepMicroseconds * static_cast<double>(program.kernel_of_step.size());
  for (const ProgramKernel& kernel : program.kernels) {
    if (kernels_.Has(kernel.key)) continue;
    if (kernel.image.empty()) return std::numeric_limits<double>::infinity();
    microseconds += kKernelMicroseconds;
  }
  return microseconds;
}

absl::StatusOr<cache::KernelPtr> Compiler::MakeKernel(const ProgramKernel& kernel) {
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
    const Program& program, absl::Span<const absl::string_view> images) {
  auto loaded = backends_.front()->Load(images);
  if (loaded.ok()) {
    loaded_kernels_.fetch_add(static_cast<int64_t>(images.size()), std::memory_order_relaxed);
  } else {
    disk_->Reject(program.key);
  }
  return loaded;
}

absl::StatusOr<std::vector<cache::KernelPtr>> Compiler::LoadKernels(const Program& program) {
  std::vector<cache::KernelPtr> kernels(program.kernels.size());
  // Kernels that are not in memory yet are loaded together.
  std::vector<absl::string_view> images;
  std::vector<size_t> places;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const ProgramKernel& kernel = program.kernels[k];
    if (kernel.image.empty() || kernels_.Has(kernel.key)) continue;
    images.push_back(kernel.image);
    places.push_back(k);
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<cache::KernelPtr> loaded, LoadImages(program, images));
  for (size_t i = 0; i < places.size(); ++i) kernels[places[i]] = std::move(loaded[i]);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const ProgramKernel& kernel = program.kernels[k];
    if (kernel.image.empty()) {
      TEKTITE_ASSIGN_OR_RETURN(kernels[k], MakeKernel(kernel));
      continue;
    }
    auto load = [&, mine = std::move(kernels[k])]() -> absl::StatusOr<cache::KernelPtr> {
      if (mine != nullptr) return mine;
      // It was in memory a moment ago.
      TEKTITE_ASSIGN_OR_RETURN(auto again, LoadImages(program, {kernel.image}));
      return std::move(again.front());
    };
    TEKTITE_ASSIGN_OR_RETURN(kernels[k], kernels_.GetOrCompile(kernel.key, load));
  }
  return kernels;
}

absl::StatusOr<std::shared_ptr<runtime::Executable>> Compiler::Load(Program program,
                                                                    const CompileJob& job) {
  runtime::StepGraph& steps = program.steps;
  const std::vector<std::string>& symbols = steps.program.symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto size = job.typical_sizes.find(symbols[i]);
    if (size == job.typical_sizes.end()) {
      return absl::OutOfRangeError(absl::StrCat("no parameter defines the size ", symbols[i]));
    }
    steps.typical_sizes[i] = size->second;
  }
  if (const auto* failed = runtime::FirstFailed(steps.checks, steps.SetTypicalBytes())) {
    return absl::OutOfRangeError(absl::StrCat("the program needs ", failed->text));
  }
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<cache::KernelPtr> kernels, LoadKernels(program));
  program.bytes = nullptr;  // memory that is mapped, for what follows
  steps.names.assign(steps.steps.size(), "no kernel");
  for (size_t s = 0; s < steps.steps.size(); ++s) {
    const int kernel = program.kernel_of_step[s];
    if (kernel == Program::kNoKernel) continue;
    steps.steps[s].kernel = kernels[kernel];
    const std::string& name = steps.names[s] = program.kernels[kernel].name;
    if (absl::StrContains(name, "_in_bf16")) bf16_products_.fetch_add(1, std::memory_order_relaxed);
    if (absl::StrContains(name, "_in_s8")) byte_products_.fetch_add(1, std::memory_order_relaxed);
  }
  steps.FindGroups();
  auto executable = MakeExecutable(std::move(steps), job, program.roles);
  loaded_plans_.fetch_add(1, std::memory_order_relaxed);
  return executable;
}

}  // namespace tektite::compiler
