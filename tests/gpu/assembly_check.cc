#include "tests/gpu/assembly_check.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "jit/base/status.h"
#include "jit/ir/fusion_kind.h"
#include "jit/llvm/instr.h"
#include "tests/long_tests.h"

namespace tektite::testing {
namespace {

// The generation that every kernel is assembled for, and those for the sample.
constexpr const char* kArchitecture = "sm_90a";
constexpr const char* kOthers[] = {"sm_80", "sm_120"};
// Of a multiprocessor, which its resident threads share.
constexpr int kAllRegisters = 65536;

// Of kernels in which nothing is new one of so many is assembled: the suite would take minutes
// longer.
int OneOf(ir::FusionKind kind, bool has_matrices) {
  if (has_matrices) return 4;
  switch (kind) {
    case ir::FusionKind::kContraction:
    case ir::FusionKind::kLoop:
    case ir::FusionKind::kRow:
      return 8;
    case ir::FusionKind::kSingle:
    case ir::FusionKind::kWindow:
      return 16;
    default:
      return 2;
  }
}

// An instruction apart from its operands, or how often a kernel has it.
using Trait = std::vector<int64_t>;

void AddTraits(const loop::Block& block, std::map<Trait, int>* traits) {
  for (const loop::Instr* instr : block.instrs) {
    Trait trait = {static_cast<int64_t>(instr->code), static_cast<int64_t>(instr->op),
                   static_cast<int64_t>(instr->access)};
    for (const loop::Type& type : instr->results) {
      trait.push_back(static_cast<int64_t>(type.dtype));
      trait.push_back(type.lanes);
    }
    ++(*traits)[trait];
    if (instr->body != nullptr) AddTraits(*instr->body, traits);
    if (instr->otherwise != nullptr) AddTraits(*instr->otherwise, traits);
  }
}

double ProcessorMilliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double Percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::floor(part * static_cast<double>(values.size() - 1)))];
}

}  // namespace

absl::Status AssemblyCheck::Check(const ir::Node& fusion, const loop::Kernel& kernel) {
  const std::string text = kernel.ToString();
  const std::string kind(ir::FusionKindName(fusion.fusion_kind()));
  bool for_all = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!known_.insert(text.substr(text.find('('))).second) return absl::OkStatus();
    ++kernels_[kind];
    const size_t phase = kernel.name().find("_phase");
    const int number =
        seen_[kind + (phase == std::string::npos ? "" : kernel.name().substr(phase))]++;
    const bool has_matrices = absl::StrContains(text, loop::CodeName(loop::Code::kWarpMultiply)) ||
                              !kernel.tensor_maps.empty();
    if (!AddNews(kernel) && !TestsAreLong() &&
        number % OneOf(fusion.fusion_kind(), has_matrices) != 0) {
      return absl::OkStatus();
    }
    for_all = number % kSample == 0 && kernel.tensor_maps.empty();
  }
  TEKTITE_RETURN_IF_ERROR(CheckFor(kArchitecture, kind, kernel));
  if (!for_all) return absl::OkStatus();
  for (const char* other : kOthers) TEKTITE_RETURN_IF_ERROR(CheckFor(other, kind, kernel));
  return absl::OkStatus();
}

bool AssemblyCheck::AddNews(const loop::Kernel& kernel) {
  std::map<Trait, int> traits;
  AddTraits(kernel.body(), &traits);
  bool has_news = false;
  for (const auto& [trait, count] : traits) {
    has_news |= traits_.insert(trait).second;
    // Registers go by the size of a tile.
    if (static_cast<loop::Code>(trait[0]) != loop::Code::kWarpMultiply) continue;
    has_news |= traits_.insert({trait[0], count, kernel.launch.threads}).second;
  }
  return has_news;
}

absl::Status AssemblyCheck::CheckFor(const std::string& architecture, const std::string& kind,
                                     const loop::Kernel& kernel) {
  if (assembler_ == nullptr) return Internal("no assembler: scripts/setup installs one");
  const double begin = ProcessorMilliseconds();
  TEKTITE_ASSIGN_OR_RETURN(std::string ptx, gpu::EmitPtx(kernel, architecture));
  const double emitted = ProcessorMilliseconds();
  TEKTITE_ASSIGN_OR_RETURN(const gpu::Cubin cubin,
                           gpu::AssembleInRegisters(&ptx, architecture, *assembler_));
  const double end = ProcessorMilliseconds();
  const gpu::Resources& r = cubin.resources;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Milliseconds* times : {&all_, &times_[kind]}) {
    times->llvm.push_back(emitted - begin);
    times->assembler.push_back(end - emitted);
    times->both.push_back(end - begin);
  }
  registers_[kind] = std::max(registers_[kind], r.registers);
  const auto fault = [&](const char* what, int64_t amount) {
    return Internal("kernel ", kernel.name(), " for ", architecture, ": ", amount, " ", what, " (",
                    r.registers, " registers)\n", kernel.ToString());
  };
  if (r.spilled_bytes() > 0) return fault("bytes of spilled registers", r.spilled_bytes());
  if (!r.warning.empty()) {
    return Internal("kernel ", kernel.name(), " for ", architecture, ": ", r.warning);
  }
  if (r.stack_bytes > 0) return fault("bytes of stack", r.stack_bytes);
  if (r.registers > kAllRegisters / kernel.launch.resident_threads)
    return fault("registers", r.registers);
  return absl::OkStatus();
}

std::string AssemblyCheck::Describe(const Milliseconds& times) {
  return absl::StrFormat("median %.1f ms, p95 %.1f ms (LLVM %.1f, assembler %.1f), most %.1f ms",
                         Percentile(times.both, 0.5), Percentile(times.both, 0.95),
                         Percentile(times.llvm, 0.95), Percentile(times.assembler, 0.95),
                         Percentile(times.both, 1));
}

std::string AssemblyCheck::Summary() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (all_.both.empty()) return "";
  std::string text =
      absl::StrFormat("GPU kernels: %d, code made %d times by LLVM and %s: %s\n", known_.size(),
                      all_.both.size(), assembler_->version(), Describe(all_));
  for (const auto& [kind, registers] : registers_) {
    absl::StrAppend(&text, kind, ": ", kernels_.at(kind), " kernels, at most ", registers,
                    " registers; ", Describe(times_.at(kind)), "\n");
  }
  return text;
}

}  // namespace tektite::testing
