// The compiler: a graph in, something that runs out.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<Compiler> compiler, Compiler::Create({flags, ""}));
//   TEKTITE_ASSIGN_OR_RETURN(auto executable, compiler->Compile(std::move(graph), job));
//   executable->Run(arguments, host);
//
// Compile runs the pass pipeline, asks for a kernel for every fusion (the back ends in their order,
// identical kernels once), and plans memory.  Thread-safe.
// A fusion that the first back end has no kernel for is taken apart and compiled op by op.  What a
// card has no kernel for, the host runs within the executable (jit/runtime/host_side_kernel.h).
// Code for a graph with symbols serves all sizes that its checks allow (jit/runtime/size_checks.h).
// Limits: an op that every back end but the reference interpreter refuses, and that is not tiny,
// makes Compile refuse the graph with Unimplemented: the host's own kernels are faster than an
// interpreter.
#ifndef TEKTITE_JIT_COMPILER_COMPILER_H_
#define TEKTITE_JIT_COMPILER_COMPILER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/kernel_store.h"
#include "jit/cache/key.h"
#include "jit/compiler/backend_info.h"
#include "jit/compiler/compile_budget.h"
#include "jit/compiler/module.h"
#include "jit/compiler/profiles.h"
#include "jit/compiler/tuner.h"
#include "jit/ir/graph.h"
#include "jit/passes/pass.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/loader.h"

namespace tektite::compiler {

struct CompilerOptions {
  Flags flags;
  BackendList backends;
  // Empty: the first of the list that --device allows and that can be made on this machine.
  std::string backend;
  std::string host;                        // "tensorflow 2.21.0": caches keep hosts apart
  std::shared_ptr<cache::DiskStore> disk;  // null: what is compiled is not kept
  runtime::HostAllocator allocator = {};   // for what is kept from call to call in host memory
  backend::MemorySource card_memory = {};  // the same for a card's, where there is one
  // Makes a back end that the list does not have; it is used instead of `backend`.
  std::function<std::unique_ptr<backend::Backend>()> own_backend = {};
};

// Where a module is kept on disk.
struct ModuleKey {
  Fingerprint fingerprint;
  std::function<cache::CacheKey()> describe;  // the whole key, of the same fingerprint
};

// The names, sizes and bounds with which one graph is compiled.
struct CompileJob {
  std::string cluster;  // its name, for files and messages
  std::string variant;  // tells its shapes apart: "shape0"
  // Of symbols, to lay out memory for; one that is not named counts as kAssumedSize.
  std::map<std::string, int64_t> typical_sizes = {};
  static constexpr int64_t kAssumedSize = runtime::StepGraph::kAssumedSize;
  runtime::OutputRoles roles;                     // what the graph's outputs are
  std::shared_ptr<runtime::WeightStore> weights;  // null: one of its own
  CompileBudget* budget = nullptr;                // null: no limits
  const ModuleKey* module_key = nullptr;          // null: the module is not kept
  std::string module_note;                        // kept with it, for the caller
  bool measures = true;  // kernels are made in the way that was measured to be fastest
  // Passes may add checks to those of `roles` (PassContext): the caller can compute the call
  // otherwise where one fails.
  bool may_check = true;
  // Filled, if not null: for each fusion, what the back end's list of implementations answered.
  std::string* schedules = nullptr;
};

class Compiler {
 public:
  static absl::StatusOr<std::unique_ptr<Compiler>> Create(CompilerOptions options);
  // Waits for what hosts' streams still run of its code.
  ~Compiler();

  // DeadlineExceeded when the job's budget is used up.  Rewrites the graph.
  absl::StatusOr<Module> MakeModule(ir::Graph& graph, const CompileJob& job);
  // The same, kept on disk where the job says so, and ready to run.
  absl::StatusOr<std::shared_ptr<runtime::Executable>> Compile(std::unique_ptr<ir::Graph> graph,
                                                               const CompileJob& job);
  // ---- modules on disk (stored_module.cc) ----
  // Whether modules are kept and read: not without a disk cache, nor with flags that show the
  // compiler at work.
  bool keeps_modules() const;
  // The part that all keys of modules share.
  const cache::KeyEnvironment& module_environment() const { return *environments_.front(); }
  // The module that an earlier process made under this key, or why it could not.
  std::optional<Module> FindModule(const ModuleKey& key);
  // Keeps that nothing can be compiled, and why; `note` as CompileJob::module_note.  For what
  // follows from the key and the note alone: no later process will try again.
  void StoreRefusal(const ModuleKey& key, absl::string_view note, absl::string_view reason);
  // An estimate of Load's duration; infinite where something has to be compiled.
  double LoadMicroseconds(const Module& module);
  // NotFound when a kernel has gone meanwhile, OutOfRange when the job's sizes are none that the
  // module serves.
  absl::StatusOr<std::shared_ptr<runtime::Executable>> Load(Module module, const CompileJob& job);
  // Load was part of it, and so was what the caller did to find the module.
  void CountLoad(double seconds) {
    load_microseconds_.fetch_add(static_cast<int64_t>(seconds * 1e6), std::memory_order_relaxed);
  }
  // Where modules are loaded, and so what their calls share.
  runtime::Loader& loader() { return *loader_; }
  // Null: nothing is kept.
  cache::DiskStore* disk() { return disk_.get(); }
  // The disk cache's log of this run.  Compile writes it itself; a caller that loads on a request's
  // thread does so later.
  void FlushDisk();

  // Runs passes only: the named ones, or all where `names` is empty.
  absl::Status RunPasses(ir::Graph& graph, const std::vector<std::string>& names);

  // "name<tab>sentence" of every pass, a line each, in pipeline order.
  static std::string ListPasses();

  const Flags& flags() const { return flags_; }
  // The back end that layouts are chosen for.
  const backend::Backend& primary() const { return *backends_.front(); }
  // Where files about a cluster go; empty: nowhere.  Makes the directory.
  std::string DumpDirectory(absl::string_view cluster) const;

  struct Counters {
    int64_t compiles, kernels, kernel_cache_hits;
    int64_t loaded_kernels;       // from the disk cache or a pack, and so not among `kernels`
    int64_t loaded_modules;       // whole programs, and so not among `compiles`
    int64_t split_fusions;        // taken apart, since the first back end had no kernel for them
    int64_t interpreted_kernels;  // tiny ones that it has none for op by op either
    int64_t host_side_kernels;    // that a card lacks, and the host runs in its graphs
    int64_t unsettled_graphs;     // that rewriting could not come to rest on
    int64_t bf16_products;        // of f32 that --f32_products rounds the operands of
    int64_t byte_products;        // of integers that are multiplied as bytes
    double compile_seconds;
    double load_seconds;  // for finding and loading such programs
    cache::DiskCounters disk;
  };
  Counters counters() const;

  // The tuner's results for kernels that can be made in several ways.
  std::vector<Tuner::Result> Tunings() const;

  // Of its executables, with --profile_kernels.
  const Profiles& profiles() const { return profiles_; }

 private:
  explicit Compiler(Flags flags) : flags_(std::move(flags)) {}
  absl::Status CreateTuner(const std::function<std::unique_ptr<backend::Backend>()>& own_backend);
  passes::PassContext MakePassContext(const Flags& flags, bool measures = true);
  absl::StatusOr<cache::KernelPtr> CompileKernel(const ir::Node& fusion,
                                                 const backend::CompileOptions& options,
                                                 bool primary_only, Fingerprint* key);
  void CountProducts(const Module& module);
  void StoreModule(const Module& module, const ModuleKey& key);
  // Of each of the module's kernels.
  absl::Status LoadKernels(Module* module);
  absl::StatusOr<std::vector<cache::KernelPtr>> LoadImages(
      const Module& module, absl::Span<const absl::string_view> images);
  absl::StatusOr<cache::KernelPtr> MakeKernel(const ModuleKernel& kernel);
  // By way of the disk cache, when there is one.
  absl::StatusOr<cache::KernelPtr> LoadOrCompile(size_t backend, const ir::Node& fusion,
                                                 const Fingerprint& key,
                                                 const backend::CompileOptions& options);

  const Flags flags_;
  BackendList list_;
  std::vector<std::unique_ptr<backend::Backend>> backends_;
  std::vector<std::shared_ptr<const cache::KeyEnvironment>> environments_;  // by back end
  std::shared_ptr<cache::DiskStore> disk_;                                  // may be null
  cache::KernelStore kernels_;
  std::shared_ptr<Tuner> tuner_;  // null: --tuning=off
  std::unique_ptr<runtime::Loader> loader_;
  Profiles profiles_;
  std::atomic<int64_t> compiles_{0}, compile_microseconds_{0}, load_microseconds_{0};
  std::atomic<int64_t> split_fusions_{0}, interpreted_kernels_{0}, unsettled_graphs_{0};
  std::atomic<int64_t> bf16_products_{0}, byte_products_{0};
  std::atomic<int64_t> host_side_kernels_{0};
  std::atomic<int64_t> compiled_kernels_{0}, loaded_kernels_{0}, loaded_modules_{0};
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_COMPILER_H_
