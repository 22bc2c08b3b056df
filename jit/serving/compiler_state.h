// A compiler with the counters of the clusters it serves, for `tektite.stats()` and `tektite
// stats`.
//
//   auto state = std::make_shared<CompilerState>(std::move(compiler));
//   const std::string name = state->RegisterCluster("model/train_step");
//   state->CountRun();
//   state->StatsJson()
//
// StatsJson has
//   {"clusters": n, "compiles": n, "request_compiles": n (by calls, which waited for them),
//    "compile_seconds": x, "load_seconds": x (for programs that were found on disk),
//    "kernels": n (compiled by this process), "loaded_kernels": n (from the disk cache or a pack),
//    "kernel_cache_hits": n, "disk": {...} (jit/cache/disk_counter_list.inc),
//    "generic_artifacts": n, "specialized_artifacts": n (code for many shapes, for one),
//    "generic_refusals": n, "generic_refusal_example": "..." (code for many could not be made),
//    "guard_failures": n, "guard_failure_example": "..." (it did not fit a call's sizes),
//    "comparison": {"compiled": n, "host": n, "open": n, "lost": {"cluster": x}, "clusters": {...}}
//        (classes of shapes that code, or the host's kernels, have won, and that are undecided; by
//        how much the worst one lost; the same by cluster, with "host_ms": x and "won_ratio": x),
//    "runs": n, "ops": n, "clustered_ops": n, "fallbacks": {"REASON_CODE": n},
//    "fallback_examples": {"REASON_CODE": "message of the first"},
//    "left_out": {"REASON_CODE": {"ops": n, "example": "..."}},
//    "split_fusions": n, "interpreted_kernels": n, "unsettled_graphs": n (rewriting was cut off),
//    "bf16_products": n, "byte_products": n (steps that multiply f32 in bf16, by --f32_products,
//        and integers as bytes),
//    "host_side_kernels": n (steps of a card's programs that the host runs),
//    "weight_bytes": n, "arena_bytes": n, ...}
// and with --profile_kernels, the longest first,
//    "profile": [{"cluster": "name and number of the shape", "kernel": "...", "runs": n,
//        "microseconds": x, "flops": x, "bytes": n (at least to be moved in a run),
//        "weight_bytes": n (of them weights), "shape": "for people"}]
//
// Clusters share it and keep it alive.  Thread-safe.
#ifndef TEKTITE_JIT_SERVING_COMPILER_STATE_H_
#define TEKTITE_JIT_SERVING_COMPILER_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "jit/base/counter_file.h"
#include "jit/base/json.h"
#include "jit/compiler/compiler.h"
#include "jit/serving/faster_side.h"

namespace tektite::serving {

class CompilerState {
 public:
  // `host_kernels`: what the speed of the host's own kernels depends on, such as "TensorFlow with
  // oneDNN".
  explicit CompilerState(std::unique_ptr<compiler::Compiler> compiler, std::string host_kernels);

  compiler::Compiler& compiler() { return *compiler_; }
  const Flags& flags() const { return compiler_->flags(); }
  const std::string& host_kernels() const { return host_kernels_; }

  // A cluster's name made unique among all of this compiler's: "f", "f#2", ...
  std::string RegisterCluster(absl::string_view name);
  // While a cluster lives, what its sides have shown is counted.
  void AddCluster(const std::string& name, const FasterSide* sides);
  void RemoveCluster(const FasterSide* sides);
  void CountRun() {
    const int64_t runs = runs_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::atomic<uint64_t>* const live = live_runs_.load(std::memory_order_acquire);
    if (live != nullptr) live->store(runs, std::memory_order_relaxed);
  }
  // A call that compiled before it ran.
  void CountRequestCompile() { request_compiles_.fetch_add(1, std::memory_order_relaxed); }
  // Also warns once about a defect, which no user would see otherwise.
  void CountFallback(absl::string_view cluster, const absl::Status& status);
  // Code was made, generic or for one set of shapes, or it could not be.
  void CountCompiled(absl::string_view cluster, bool generic, const absl::Status& status);
  // Generic code did not fit the sizes of a call.
  void CountGuardFailure(absl::string_view cluster, const absl::Status& status);
  // Ops of a host's graph: all, those in clusters, and those left out by the reason's code.
  struct LeftOut {
    int64_t ops = 0;
    std::string example;
  };
  using LeftOutOps = std::map<std::string, LeftOut>;
  void CountMarking(int64_t ops, int64_t clustered_ops, const LeftOutOps& left_out);

  // A loop that the host steers: what each turn calls.
  struct LoopInParts {
    int64_t ops = 0;            // of a turn, less those that steer
    int64_t clustered_ops = 0;  // of them in clusters
    int64_t clusters = 0;
  };
  // The first kMostLoops by name; of a name that comes again the latest.
  static constexpr size_t kMostLoops = 64;
  void CountLoop(const std::string& name, const LoopInParts& parts);

  std::string StatsJson() const;

 private:
  // Writes the counters to the file that `tektite stats` reads; makes it first.  mutex_ is held.
  void Publish();
  // The counters that are published.  mutex_ is held.
  std::vector<std::pair<std::string, uint64_t>> PublicCounters() const;

  // How many classes of shapes each side has won, and by how much the worst of each cluster lost;
  // then the same by cluster, with the time of the host's kernels.  mutex_ is held.
  JsonObject ComparisonJson() const;

  std::unique_ptr<compiler::Compiler> compiler_;
  const std::string host_kernels_;
  std::unique_ptr<CounterFile> counter_file_;
  std::atomic<std::atomic<uint64_t>*> live_runs_{nullptr};
  bool counter_file_tried_ = false;  // under mutex_
  std::atomic<int64_t> runs_{0}, request_compiles_{0};
  mutable std::mutex mutex_;  // guards the members below
  int64_t clusters_ = 0;
  int64_t ops_ = 0;
  int64_t clustered_ops_ = 0;
  int64_t generic_artifacts_ = 0, specialized_artifacts_ = 0;
  int64_t guard_failures_ = 0, generic_refusals_ = 0;
  std::string guard_failure_example_, generic_refusal_example_;
  std::map<std::string, int64_t> names_;
  std::map<const FasterSide*, std::string> sides_;
  std::map<std::string, int64_t> fallbacks_;
  std::map<std::string, std::string> fallback_examples_;
  LeftOutOps left_out_;
  std::map<std::string, LoopInParts> loops_;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_COMPILER_STATE_H_
