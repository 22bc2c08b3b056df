#include "jit/serving/compiler_state.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/base/log.h"
#include "jit/cache/counter_files.h"
#include "jit/serving/fallback.h"

namespace tektite::serving {
namespace {

std::string ProfileJson(const std::vector<compiler::KernelTime>& times) {
  return JsonArray(times, [](const compiler::KernelTime& time) {
    return JsonObject()
        .Add("cluster", time.cluster)
        .Add("kernel", time.kernel)
        .Add("runs", time.runs)
        .Add("microseconds", time.microseconds)
        .Add("least_microseconds", time.least_microseconds)
        .Add("latest_ns", time.latest_ns)
        .Add("flops", time.work.flops)
        .Add("bytes", time.work.bytes)
        .Add("weight_bytes", time.work.weight_bytes)
        .Add("shape", time.work.shape)
        .Text();
  });
}

// Microseconds of all calls together; runtime/thread_team.h says what each is.
std::string CallsJson(const std::vector<compiler::CallProfile>& profiles) {
  return JsonArray(profiles, [](const compiler::CallProfile& profile) {
    const runtime::CallTimes& times = *profile.executable->call_times();
    const auto microseconds = [](const std::atomic<int64_t>& nanoseconds) {
      return static_cast<double>(nanoseconds.load(std::memory_order_relaxed)) / 1e3;
    };
    return JsonObject()
        .Add("cluster", profile.cluster)
        .Add("entered", profile.executable->num_calls())
        .Add("timed", profile.executable->num_timed_calls())
        .Add("calls", times.calls.load(std::memory_order_relaxed))
        .Add("unhelped", times.unhelped.load(std::memory_order_relaxed))
        .Add("whole", microseconds(times.whole))
        .Add("team", microseconds(times.team))
        .Add("shared", microseconds(times.shared))
        .Add("alone", microseconds(times.alone))
        .Add("waiting", microseconds(times.waiting))
        .Add("helping", microseconds(times.helping))
        .Add("absent", microseconds(times.absent))
        .Add("compile_seconds", profile.compile_seconds)
        .Add("arena_bytes", profile.executable->arena_bytes())
        .Text();
  });
}

// The measurements of kernels that can be made in several ways, and the choices.
std::string TuningJson(const std::vector<compiler::Tuner::Result>& results) {
  return JsonArray(results, [](const compiler::Tuner::Result& result) {
    JsonObject times;
    for (const auto& [candidate, us] : result.microseconds) times.Add(candidate, us);
    return JsonObject()
        .Add("contraction", result.name)
        .Add("chosen", result.chosen)
        .Add("from_disk", static_cast<int64_t>(result.from_disk))
        .Add("microseconds", times)
        .Text();
  });
}

JsonObject DiskJson(const cache::DiskCounters& counters) {
  JsonObject json;
#define TEKTITE_DISK_COUNTER(name, sentence) json.Add(#name, counters.name);
#include "jit/cache/disk_counter_list.inc"
#undef TEKTITE_DISK_COUNTER
  return json;
}

}  // namespace

CompilerState::CompilerState(std::unique_ptr<compiler::Compiler> compiler, std::string host_kernels)
    : compiler_(std::move(compiler)), host_kernels_(std::move(host_kernels)) {}

std::string CompilerState::RegisterCluster(absl::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++clusters_;
  const int64_t number = ++names_[std::string(name)];
  return number == 1 ? std::string(name) : absl::StrCat(name, "#", number);
}

void CompilerState::AddCluster(const std::string& name, const FasterSide* sides) {
  std::lock_guard<std::mutex> lock(mutex_);
  sides_[sides] = name;
}

void CompilerState::RemoveCluster(const FasterSide* sides) {
  std::lock_guard<std::mutex> lock(mutex_);
  sides_.erase(sides);
}

JsonObject CompilerState::ComparisonJson() const {
  const auto counts = [](const Comparison::Report& report) {
    return std::move(JsonObject()
                         .Add("compiled", int64_t{report.compiled})
                         .Add("host", int64_t{report.host})
                         .Add("open", int64_t{report.open}));
  };
  Comparison::Report all;
  JsonObject lost, clusters;
  for (const auto& [sides, name] : sides_) {
    const Comparison::Report report = sides->Summary();
    all.compiled += report.compiled;
    all.host += report.host;
    all.open += report.open;
    if (report.host > 0) lost.Add(name, report.worst_ratio);
    clusters.Add(name, counts(report)
                           .Add("host_ms", static_cast<double>(sides->host_ns()) / 1e6)
                           .Add("won_ratio",
                                report.compiled == 0 ? 0.0 : report.won_ratios / report.compiled));
  }
  return std::move(counts(all).Add("lost", lost).Add("clusters", clusters));
}

void CompilerState::CountFallback(absl::string_view cluster, const absl::Status& status) {
  const Fallback fallback = FallbackOf(status.code());
  const std::string code = FallbackCode(fallback);
  std::string message = absl::StrCat("cluster '", cluster, "': ", status.message());
  if (fallback == Fallback::INTERNAL_ERROR) Warn(message, " (the host's kernels run instead)");
  std::lock_guard<std::mutex> lock(mutex_);
  ++fallbacks_[code];
  fallback_examples_.try_emplace(code, std::move(message));
  Publish();
}

void CompilerState::CountCompiled(absl::string_view cluster, bool generic,
                                  const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (status.ok()) {
    ++(generic ? generic_artifacts_ : specialized_artifacts_);
  } else if (generic && generic_refusals_++ == 0) {
    generic_refusal_example_ = absl::StrCat("cluster '", cluster, "': ", status.message());
  }
  Publish();
}

void CompilerState::Publish() {
  if (!counter_file_tried_) {
    counter_file_tried_ = true;
    const std::string path = cache::NewCounterFilePath(flags());
    if (!path.empty()) counter_file_ = CounterFile::Create(path);
  }
  if (counter_file_ == nullptr) return;
  const bool runs_live = live_runs_.load(std::memory_order_relaxed) != nullptr;
  for (const auto& [name, value] : PublicCounters()) {
    // Calls count themselves there from the second time on; the count here may be older.
    if (runs_live && name == "runs") continue;
    std::atomic<uint64_t>* const counter = counter_file_->Counter(name);
    if (counter != nullptr) counter->store(value, std::memory_order_relaxed);
  }
  if (!runs_live) live_runs_.store(counter_file_->Counter("runs"), std::memory_order_release);
  counter_file_->Save();
}

std::vector<std::pair<std::string, uint64_t>> CompilerState::PublicCounters() const {
  const compiler::Compiler::Counters c = compiler_->counters();
  std::vector<std::pair<std::string, uint64_t>> counters;
  const auto add = [&](std::string name, int64_t value) {
    counters.emplace_back(std::move(name), static_cast<uint64_t>(value));
  };
  add("runs", runs_.load(std::memory_order_relaxed));
  add("clusters", clusters_);
  add("ops", ops_);
  add("clustered_ops", clustered_ops_);
  add("compiles", c.compiles);
  add("compile_microseconds", static_cast<int64_t>(c.compile_seconds * 1e6));
  add("load_microseconds", static_cast<int64_t>(c.load_seconds * 1e6));
  add("kernels", c.kernels);
  add("loaded_kernels", c.loaded_kernels);
  add("loaded_modules", c.loaded_modules);
  add("weight_bytes", compiler_->loader().weight_bytes());
  add("arena_bytes", compiler_->loader().arena_bytes());
#define TEKTITE_DISK_COUNTER(name, sentence) add("disk_" #name, c.disk.name);
#include "jit/cache/disk_counter_list.inc"
#undef TEKTITE_DISK_COUNTER
  for (const auto& [code, count] : fallbacks_) add(absl::StrCat("fallbacks_", code), count);
  return counters;
}

void CompilerState::CountGuardFailure(absl::string_view cluster, const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (guard_failures_++ == 0) {
    guard_failure_example_ = absl::StrCat("cluster '", cluster, "': ", status.message());
  }
}

void CompilerState::CountMarking(int64_t ops, int64_t clustered_ops, const LeftOutOps& left_out) {
  std::lock_guard<std::mutex> lock(mutex_);
  ops_ += ops;
  clustered_ops_ += clustered_ops;
  for (const auto& [code, counted] : left_out) {
    LeftOut& all = left_out_[code];
    if (all.ops == 0) all.example = counted.example;
    all.ops += counted.ops;
  }
}

void CompilerState::CountLoop(const std::string& name, const LoopInParts& parts) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (loops_.size() < kMostLoops || loops_.count(name) > 0) loops_[name] = parts;
}

std::string CompilerState::StatsJson() const {
  const compiler::Compiler::Counters c = compiler_->counters();
  std::lock_guard<std::mutex> lock(mutex_);
  JsonObject fallbacks, examples, left_out;
  for (const auto& [code, count] : fallbacks_) fallbacks.Add(code, count);
  for (const auto& [code, message] : fallback_examples_) {
    examples.Add(code, message);
  }
  for (const auto& [code, entry] : left_out_) {
    left_out.Add(code, JsonObject().Add("ops", entry.ops).Add("example", entry.example));
  }
  JsonObject loops;
  for (const auto& [name, parts] : loops_) {
    loops.Add(name, JsonObject()
                        .Add("ops", parts.ops)
                        .Add("clustered_ops", parts.clustered_ops)
                        .Add("clusters", parts.clusters));
  }
  JsonObject stats;
  stats.Add("clusters", clusters_)
      .Add("compiles", c.compiles)
      .Add("request_compiles", request_compiles_.load(std::memory_order_relaxed))
      .Add("compile_seconds", c.compile_seconds)
      .Add("load_seconds", c.load_seconds)
      .Add("generic_artifacts", generic_artifacts_)
      .Add("specialized_artifacts", specialized_artifacts_)
      .Add("generic_refusals", generic_refusals_)
      .Add("generic_refusal_example", generic_refusal_example_)
      .Add("guard_failures", guard_failures_)
      .Add("guard_failure_example", guard_failure_example_)
      .Add("kernels", c.kernels)
      .Add("kernel_cache_hits", c.kernel_cache_hits)
      .Add("loaded_kernels", c.loaded_kernels)
      .Add("loaded_modules", c.loaded_modules)
      .Add("disk", DiskJson(c.disk))
      .Add("split_fusions", c.split_fusions)
      .Add("interpreted_kernels", c.interpreted_kernels)
      .Add("host_side_kernels", c.host_side_kernels)
      .Add("unsettled_graphs", c.unsettled_graphs)
      .Add("bf16_products", c.bf16_products)
      .Add("byte_products", c.byte_products)
      .Add("runs", runs_.load(std::memory_order_relaxed))
      .Add("fallbacks", fallbacks)
      .Add("fallback_examples", examples)
      .Add("ops", ops_)
      .Add("clustered_ops", clustered_ops_)
      .Add("weight_bytes", compiler_->loader().weight_bytes())
      .Add("arena_bytes", compiler_->loader().arena_bytes())
      .Add("comparison", ComparisonJson())
      .Add("left_out", left_out)
      .Add("loops_in_parts", loops);
  stats.AddArray("tuning", TuningJson(compiler_->Tunings()));
  if (flags().profile_kernels) {
    stats.AddArray("calls", CallsJson(compiler_->profiles().Calls()));
    stats.AddArray("profile", ProfileJson(compiler_->profiles().Kernels()));
  }
  return stats.Text();
}

}  // namespace tektite::serving
