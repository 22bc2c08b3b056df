#include "jit/compiler/compiler.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/base/log.h"
#include "jit/base/release_memory.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/compiler/kernel_names.h"
#include "jit/compiler/make_module.h"
#include "jit/ops/ops.h"
#include "jit/passes/pipeline.h"
#include "jit/runtime/host_side_kernel.h"

namespace tektite::compiler {
namespace {

using ir::Attr;
using ir::Graph;
using ir::Node;
using ir::Op;

// The interpreter's bound in a call that is otherwise machine code, in results of scalar ops.
constexpr double kTinyWork = 4096;

// Compiling that took less leaves little behind.
constexpr double kBurstSeconds = 0.02;

// A symbol may be any size, so a node with one is never tiny.
double Elements(const ir::Shape& shape) {
  return shape.is_static() ? static_cast<double>(shape.num_elements())
                           : std::numeric_limits<double>::infinity();
}

double ScalarWork(const Graph& graph) {
  double work = 0;
  for (const auto& node : graph.nodes()) {
    if (node->op() == Op::kParameter || node->op() == Op::kConstant) continue;
    double elements = 0;
    for (const ir::Shape& shape : node->shapes()) elements += Elements(shape);
    // A reduction or contraction reads more than it writes; its operands are a fair bound for most.
    for (int i = 0; i < node->num_operands(); ++i) {
      elements += Elements(node->operand_shape(i));
    }
    work += elements;
    for (int r = 0; r < node->num_regions(); ++r) work += ScalarWork(node->region(r));
  }
  return work;
}

std::string FileName(absl::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  }
  return safe.empty() ? "unnamed" : safe;
}

bool MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) Warn("dump_to: cannot make directory ", path, ": ", error.message());
  return !error;
}

void DumpText(const std::string& path, absl::string_view text) {
  const absl::Status written = ReplaceFile(path, text);
  if (!written.ok()) Warn("dump_to: ", written.message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Compiler>> Compiler::Create(CompilerOptions options) {
  std::unique_ptr<Compiler> compiler(new Compiler(std::move(options.flags)));
  compiler->list_ = options.backends;
  absl::Status refused;
  if (options.own_backend) {
    compiler->backends_.push_back(options.own_backend());
    options.backend = std::string(compiler->primary().name());
  }
  const std::string& asked = compiler->flags_.device;
  const bool may_be_host = asked == "cpu" || asked == "auto";
  for (const BackendInfo& info : compiler->list_.rows) {
    bool wanted = info.name == options.backend && !options.own_backend;
    if (options.backend.empty()) wanted = info.is_for_card ? asked != "cpu" : may_be_host;
    // The interpreter stands behind every other back end, for what is tiny and rare, and the host's
    // behind those of a card, for what these have no kernels for.
    const bool is_on_card = !compiler->backends_.empty() && compiler->primary().device() != nullptr;
    const bool stands_behind = !compiler->backends_.empty() &&
                               (info.name == kReference || (is_on_card && !info.is_for_card));
    if (!wanted && !stands_behind) continue;
    auto backend = info.create(compiler->flags_);
    if (backend.ok()) {
      compiler->backends_.push_back(*std::move(backend));
    } else {
      refused = backend.status();
      if (!options.backend.empty() || !may_be_host) break;
      // A machine without a card is nothing to warn of.
      if (!info.is_for_card || !absl::IsUnavailable(refused)) {
        Warn("back end ", info.name, " is off: ", refused.message());
      }
    }
  }
  if (compiler->backends_.empty()) {
    if (!refused.ok()) return refused;
    return absl::NotFoundError(absl::StrCat(
        "no back end is called '", options.backend, "'; there are: ",
        absl::StrJoin(compiler->list_.rows, ", ", [](std::string* out, const BackendInfo& info) {
          absl::StrAppend(out, info.name);
        })));
  }
  for (const auto& backend : compiler->backends_) {
    compiler->environments_.push_back(
        cache::KeyEnvironment::Create(*backend, compiler->flags_, options.host));
  }
  compiler->disk_ = std::move(options.disk);
  TEKTITE_RETURN_IF_ERROR(compiler->CreateTuner(options.own_backend));
  const int64_t megabytes = std::max<int64_t>(compiler->flags_.weight_cache_mb, 0);
  std::shared_ptr<backend::Device> device = compiler->primary().device();
  if (device == nullptr) {
    device = std::make_shared<runtime::HostDevice>(options.allocator);
  } else if (options.card_memory.allocate != nullptr) {
    device->memory().Offer(options.card_memory);
  }
  compiler->loader_ = std::make_unique<runtime::Loader>(
      std::move(device), std::min<int64_t>(megabytes, 1 << 30) << 20);
  return compiler;
}

Compiler::~Compiler() {
  if (!backends_.empty() && primary().device() != nullptr) primary().device()->Drain();
}

absl::Status Compiler::CreateTuner(
    const std::function<std::unique_ptr<backend::Backend>()>& own_backend) {
  if (flags_.tuning != "auto") return absl::OkStatus();
  if (own_backend) {
    tuner_ = Tuner::Create(own_backend(), environments_.front(), disk_);
    return absl::OkStatus();
  }
  for (const BackendInfo& info : list_.rows) {
    if (info.name != primary().name()) continue;
    TEKTITE_ASSIGN_OR_RETURN(auto backend, info.create(flags_));
    tuner_ = Tuner::Create(std::move(backend), environments_.front(), disk_);
  }
  return absl::OkStatus();
}

std::vector<Tuner::Result> Compiler::Tunings() const {
  return tuner_ == nullptr ? std::vector<Tuner::Result>() : tuner_->results();
}

std::string Compiler::DumpDirectory(absl::string_view cluster) const {
  if (flags_.dump_to.empty()) return "";
  std::string directory = absl::StrCat(flags_.dump_to, "/", FileName(cluster));
  return MakeDirectory(directory) ? directory : "";
}

passes::PassContext Compiler::MakePassContext(const Flags& flags, bool measures) {
  passes::PassContext context(flags);
  context.evaluate = list_.evaluate;
  context.target = primary().target();
  Tuner* const tuner = measures ? tuner_.get() : nullptr;
  context.alternatives = tuner != nullptr;
  context.schedules = [this, tuner](const Node& fusion, const target::Facts& facts) {
    std::vector<target::Offer> offers = primary().Schedules(fusion, facts);
    if (tuner != nullptr) tuner->Prefer(fusion, facts, &offers);
    return offers;
  };
  return context;
}

absl::Status Compiler::RunPasses(Graph& graph, const std::vector<std::string>& names) {
  passes::PassContext context = MakePassContext(flags_);
  if (names.empty()) return passes::RunPipeline(graph, context);
  return passes::RunPasses(graph, names, context);
}

std::string Compiler::ListPasses() {
  std::string text;
  for (const passes::PassInfo& pass : passes::AllPasses()) {
    absl::StrAppend(&text, pass.name, "\t", pass.sentence, "\n");
  }
  return text;
}

absl::StatusOr<Module> Compiler::MakeModule(Graph& graph, const CompileJob& job) {
  Flags flags = flags_;
  flags.dump_to = DumpDirectory(job.cluster);
  passes::PassContext context = MakePassContext(flags, job.measures);
  context.dump_name = job.variant;
  const CompileBudget::Session session(job.budget);
  context.checkpoint = [&session] {
    ReleaseFreeMemoryAtTimes();  // a long program's passes take time and memory, too
    return session.Check();
  };
  context.may_check = job.may_check;
  context.num_updates = static_cast<int>(job.roles.updated.size());
  ModuleOptions options;
  options.passes = &context;
  options.make_kernel = [this](const Node& fusion, const backend::CompileOptions& kernel,
                               bool primary_only, Fingerprint* key) {
    return CompileKernel(fusion, kernel, primary_only, key);
  };
  options.typical_sizes = job.typical_sizes;
  options.roles = job.roles;
  options.is_written = job.module_key != nullptr && keeps_modules();
  options.schedules = job.schedules;
  if (!flags.dump_to.empty()) {
    options.dump_dir = absl::StrCat(flags.dump_to, "/", FileName(job.variant));
    if (!MakeDirectory(options.dump_dir)) options.dump_dir.clear();
  }
  int64_t split_fusions = 0;
  options.split_fusions = &split_fusions;
  TEKTITE_ASSIGN_OR_RETURN(Module module, compiler::MakeModule(graph, options));
  module.note = job.module_note;
  split_fusions_.fetch_add(split_fusions, std::memory_order_relaxed);
  if (context.unsettled > 0) unsettled_graphs_.fetch_add(1, std::memory_order_relaxed);
  module.bf16_products = static_cast<uint32_t>(context.bf16_products);
  module.byte_products = static_cast<uint32_t>(context.byte_products);
  CountProducts(module);
  return module;
}

absl::StatusOr<std::shared_ptr<runtime::Executable>> Compiler::Compile(std::unique_ptr<Graph> graph,
                                                                       const CompileJob& job) {
  Stopwatch watch;
  TEKTITE_ASSIGN_OR_RETURN(Module module, MakeModule(*graph, job));
  // While ways are still being measured, a module might keep a way that is not the best.
  const bool is_measuring = job.measures && tuner_ != nullptr && tuner_->IsMeasuring();
  if (job.module_key != nullptr && keeps_modules() && !is_measuring)
    StoreModule(module, *job.module_key);
  FlushDisk();
  auto executable = loader_->Load(std::move(module.steps),
                                  {std::move(module.roles), job.weights, flags_.profile_kernels});
  if (const std::string directory = DumpDirectory(job.cluster); !directory.empty()) {
    DumpText(absl::StrCat(directory, "/", FileName(job.variant), ".plan"), executable->PlanText());
  }
  if (flags_.profile_kernels) {
    ir::SymbolMap sizes;  // what kernels had to do is said for the sizes they were made for
    for (const auto& [symbol, size] : job.typical_sizes) sizes.emplace(symbol, size);
    graph->Substitute(sizes);
    profiles_.Add(absl::StrCat(job.cluster, "/", job.variant), executable, WorkOfKernels(*graph),
                  watch.Seconds());
  }
  graph.reset();
  if (watch.Seconds() >= kBurstSeconds) ReleaseFreeMemory();
  compiles_.fetch_add(1, std::memory_order_relaxed);
  compile_microseconds_.fetch_add(static_cast<int64_t>(watch.Seconds() * 1e6),
                                  std::memory_order_relaxed);
  return executable;
}

absl::StatusOr<cache::KernelPtr> Compiler::CompileKernel(const Node& fusion,
                                                         const backend::CompileOptions& options,
                                                         bool primary_only, Fingerprint* key) {
  absl::Status refused;
  const std::string text = cache::KernelText(fusion);
  for (size_t b = 0; b < backends_.size(); ++b) {
    const auto& backend = backends_[b];
    if (primary_only && backend != backends_.front()) break;
    if (backend->name() == kReference && backend != backends_.front() &&
        ScalarWork(fusion.region()) > kTinyWork) {
      break;
    }
    *key = environments_[b]->Finish(cache::EntryKind::kKernel, text);
    auto kernel =
        kernels_.GetOrCompile(*key, [&] { return LoadOrCompile(b, fusion, *key, options); });
    if (kernel.ok() && backend->name() == kReference && backend != backends_.front()) {
      interpreted_kernels_.fetch_add(1, std::memory_order_relaxed);
    }
    if (kernel.ok() && backend->device() != primary().device()) {
      host_side_kernels_.fetch_add(1, std::memory_order_relaxed);
      return std::make_shared<runtime::HostSideKernel>(*std::move(kernel), fusion.region());
    }
    if (kernel.ok() || kernel.status().code() != absl::StatusCode::kUnimplemented) return kernel;
    if (refused.ok()) refused = kernel.status();
  }
  return absl::Status(refused.code(),
                      absl::StrCat("kernel '", LayerOf(fusion.name()), ": ", DescribeFusion(fusion),
                                   "': ", refused.message()));
}

absl::StatusOr<cache::KernelPtr> Compiler::LoadOrCompile(size_t b, const Node& fusion,
                                                         const Fingerprint& key,
                                                         const backend::CompileOptions& options) {
  backend::Backend& backend = *backends_[b];
  const bool on_disk = disk_ != nullptr && backend.keeps_images();
  auto describe = [&] {
    return cache::DescribeKernel(fusion, NameOfKernel(fusion, 0).what, *environments_[b]);
  };
  // A dump shows what compiling does, so with one the program is compiled.
  if (on_disk && options.dump_dir.empty()) {
    if (const std::optional<std::string> image = disk_->Load(key, describe)) {
      auto kernels = backend.Load({*image});
      if (kernels.ok()) {
        loaded_kernels_.fetch_add(1, std::memory_order_relaxed);
        return std::move(kernels->front());
      }
      disk_->Reject(key);
    }
  }
  auto kernel = backend.Compile(fusion, options);
  if (!kernel.ok()) return kernel;
  compiled_kernels_.fetch_add(1, std::memory_order_relaxed);
  if (on_disk) {
    // Every later process would reject one without as damaged.
    if (const std::string image = (*kernel)->Image(); !image.empty()) {
      // The program that holds it as well is synced.  (3.8 ms a sync on a virtual disk, so 0.35 s
      // of compiling the 90 kernels of two convolutional LSTMs' training step.)
      disk_->Store(describe(), image, cache::Directory::Sync::kNo);
    }
  }
  return kernel;
}

Compiler::Counters Compiler::counters() const {
  Counters c{};
  c.compiles = compiles_.load(std::memory_order_relaxed);
  c.kernels = compiled_kernels_.load(std::memory_order_relaxed);
  c.loaded_modules = loaded_modules_.load(std::memory_order_relaxed);
  c.loaded_kernels = loaded_kernels_.load(std::memory_order_relaxed);
  if (disk_ != nullptr) c.disk = disk_->counters();
  c.kernel_cache_hits = kernels_.hits();
  c.split_fusions = split_fusions_.load(std::memory_order_relaxed);
  c.unsettled_graphs = unsettled_graphs_.load(std::memory_order_relaxed);
  c.bf16_products = bf16_products_.load(std::memory_order_relaxed);
  c.byte_products = byte_products_.load(std::memory_order_relaxed);
  c.host_side_kernels = host_side_kernels_.load(std::memory_order_relaxed);
  c.interpreted_kernels = interpreted_kernels_.load(std::memory_order_relaxed);
  c.compile_seconds =
      static_cast<double>(compile_microseconds_.load(std::memory_order_relaxed)) * 1e-6;
  c.load_seconds = static_cast<double>(load_microseconds_.load(std::memory_order_relaxed)) * 1e-6;
  return c;
}

}  // namespace tektite::compiler
