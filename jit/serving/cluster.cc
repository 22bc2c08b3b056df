#include "jit/serving/cluster.h"

#include <sched.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "jit/base/catch_all.h"
#include "jit/base/log.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/compiler/background.h"
#include "jit/runtime/call_sampling.h"
#include "jit/serving/compile_cost.h"

namespace tektite::serving {
namespace {

// After so many failures the cluster tries no more generic code.
constexpr int kMostGenericFailures = 3;
// Memory that one compilation may take.
constexpr int64_t kMostCompileMegabytes = 4096;
// A call looks for code again when the code that it found does not fit it after all.
constexpr int kMostChoices = 4;
// At the end of the key of a call that is to be reproducible; keys of other calls of its layout are
// shorter.
constexpr int64_t kReproducibleWord = -1;

bool HasNoElements(const Call& call) {
  for (const Tensor& tensor : call.args) {
    if (tensor.version != 0) continue;
    for (int64_t d : tensor.dims) {
      if (d == 0) return true;
    }
  }
  return false;
}

// Those of all compilers of the process: a thread that waits, waits for all.
struct LiveClusters {
  std::mutex mutex;
  std::set<Cluster*> clusters;
};
LiveClusters& Live() {
  static LiveClusters& all = *new LiveClusters;  // clusters may outlive static objects
  return all;
}

// That the process may run on.
int NumCpus() {
  static const int number = [] {
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 2;
  }();
  return number;
}

}  // namespace

Cluster::Cluster(std::shared_ptr<CompilerState> state, absl::string_view name,
                 std::unique_ptr<GraphSource> source)
    : state_(std::move(state)),
      name_(state_->RegisterCluster(name)),
      source_(std::move(source)),
      weights_(state_->compiler().loader().NewWeightStore()),
      budget_({state_->flags().compile_budget_ms, kMostCompileMegabytes}),
      sides_(SideOptions()) {
  state_->AddCluster(name_, &sides_);
  std::lock_guard<std::mutex> lock(Live().mutex);
  Live().clusters.insert(this);
}

Cluster::~Cluster() {
  {
    std::lock_guard<std::mutex> lock(Live().mutex);
    Live().clusters.erase(this);
  }
  state_->RemoveCluster(&sides_);
}

std::shared_ptr<Cluster> Cluster::Create(std::shared_ptr<CompilerState> state,
                                         absl::string_view name,
                                         std::unique_ptr<GraphSource> source) {
  return std::shared_ptr<Cluster>(new Cluster(std::move(state), name, std::move(source)));
}

void Cluster::Dump(absl::string_view file, absl::string_view bytes) const {
  const std::string directory = state_->compiler().DumpDirectory(name_);
  if (directory.empty()) return;
  const std::string path = absl::StrCat(directory, "/", file);
  const absl::Status written = ReplaceFile(path, bytes);
  if (!written.ok()) Warn("dump_to: ", written.message());
}

absl::Status Cluster::RunCode(const Call& call, const int64_t* host_ns, Comparison::Turn* turn) {
  // How many calls this one stands for in a profile; 0: it is not measured.
  const int weight =
      state_->flags().profile_kernels
          ? runtime::WeightOfCall(profiled_calls_.fetch_add(1, std::memory_order_relaxed))
          : 0;
  int64_t began = weight > 0 ? Nanoseconds() : 0;
  absl::Status status = CatchAll([&]() -> absl::Status {
    // Kept from call to call: a model has hundreds of arguments.
    static thread_local CallKey key;
    TEKTITE_RETURN_IF_ERROR(MakeCallKey(*source_, call, &key));
    if (IsReproducible(call)) key.push_back(kReproducibleWord);
    absl::InlinedVector<runtime::Argument, 16> arguments(call.args.size());
    for (size_t i = 0; i < call.args.size(); ++i) {
      const Tensor& arg = call.args[i];
      arguments[i] = {arg.data, arg.version, arg.dims.data(), arg.space};
    }
    auto run = [&](runtime::Executable& executable) {
      turn->artifact = executable.number();
      absl::Status status = executable.Run(arguments, *call.host);
      turn->is_packing = executable.num_unpacked() > 0;
      if (weight > 0) executable.call_times()->whole += weight * (Nanoseconds() - began);
      return status;
    };
    TEKTITE_ASSIGN_OR_RETURN(const ExecutablePtr executable, Find(call, key, host_ns));
    // Of a call that waited for its code a profile counts the rest; compiling stands apart.
    if (weight > 0 && executable->num_calls() == 0) began = Nanoseconds();
    absl::Status ran = run(*executable);
    // One call with a NaN is no reason to do without.
    const bool fails = absl::IsFailedPrecondition(ran) && executable->has_added_checks();
    if (fails && sides_.HasFailed()) DropAddedChecks();
    if (!absl::IsOutOfRange(ran)) return ran;
    // Nothing was asked of the host yet.
    state_->CountGuardFailure(name_, ran);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Shape& shape = *ShapeOfLocked(call, key);
      shape.never_generic = true;
      if (shape.tier == Tier::kGeneric) shape.DropCode();
    }
    TEKTITE_ASSIGN_OR_RETURN(const ExecutablePtr own, Find(call, key, host_ns));
    ran = run(*own);
    return absl::IsOutOfRange(ran) ? absl::UnimplementedError(ran.message()) : ran;
  });
  if (!status.ok()) return Count(std::move(status));
  state_->CountRun();
  return status;
}

absl::Status Cluster::Count(absl::Status status) {
  state_->CountRun();
  state_->CountFallback(name_, status);
  return status;
}

bool Cluster::IsReproducible(const Call& call) const {
  return call.reproducible || state_->flags().reproducible;
}

bool Cluster::IsAsync(const Call& call) const {
  return state_->flags().compile == "async" && !IsReproducible(call);
}

absl::StatusOr<Cluster::ExecutablePtr> Cluster::Find(const Call& call, const CallKey& key,
                                                     const int64_t* host_ns) {
  for (int choice = 0;; ++choice) {
    ShapePtr shape;
    CodePtr code;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      shape = ShapeOfLocked(call, key);
      CountCallLocked(*shape, call);
      if (shape->ready != nullptr) return shape->ready;
      code = ChooseLocked(*shape);
    }
    if (code == nullptr) return absl::UnavailableError("not compiled: --compile=off");
    Advance(code, shape, call, host_ns);
    std::unique_lock<std::mutex> lock(code->mutex);
    if (!IsAsync(call)) code->changed.wait(lock, [&] { return IsMade(code->progress.state()); });
    if (!IsMade(code->progress.state())) return code->executable.status();
    const absl::StatusOr<ExecutablePtr> executable = code->executable;
    const bool serves = executable.ok() && (!code->generic || code->rules.Match(key));
    lock.unlock();
    if (serves) {
      std::lock_guard<std::mutex> cluster_lock(mutex_);
      if (shape->code == code) shape->ready = *executable;
      return executable;
    }
    if (!code->generic || choice == kMostChoices) return executable.status();
    GiveUp(shape, code, /*never_generic=*/!executable.ok());
  }
}

void Cluster::Advance(const CodePtr& code, const ShapePtr& shape, const Call& call,
                      const int64_t* host_ns) {
  CallProgress& progress = code->progress;
  if (!IsAsync(call)) {
    if (!progress.Take(CallEvent::kDemanded)) return;
    state_->CountRequestCompile();
    Compile(*code, shape->key, Describe(call));
    return;
  }
  if (progress.Take(CallEvent::kAsked)) {
    std::vector<ArgInfo> args = Describe(call);
    if (LoadAtOnce(*code, shape->key, args)) return;
    std::lock_guard<std::mutex> lock(code->mutex);
    code->asker = shape;
    code->args = std::move(args);
    progress.Take(CallEvent::kNotLoaded);
  }
  if (progress.state() == CallState::kWaiting && IsWorthCompiling(host_ns)) {
    Start(code, shape, Describe(call));
  }
}

void Cluster::StartAllThatWait() {
  std::vector<std::shared_ptr<Cluster>> all;
  {
    std::lock_guard<std::mutex> lock(Live().mutex);
    for (Cluster* cluster : Live().clusters) all.push_back(cluster->weak_from_this().lock());
  }
  for (const auto& cluster : all) {
    if (cluster != nullptr) cluster->StartWhatWaits();
  }
}

void Cluster::StartWhatWaits() {
  std::vector<CodePtr> waiting;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, shape] : shapes_) {
      const bool waits = shape->code && shape->code->progress.state() == CallState::kWaiting;
      if (waits) waiting.push_back(shape->code);
    }
  }
  for (const CodePtr& code : waiting) {
    std::unique_lock<std::mutex> lock(code->mutex);
    if (code->progress.state() != CallState::kWaiting) continue;
    const ShapePtr asker = code->asker.lock();
    std::vector<ArgInfo> args = code->args;
    lock.unlock();
    if (asker != nullptr) Start(code, asker, std::move(args));
  }
}

Cluster::ShapePtr Cluster::ShapeOfLocked(const Call& call, const CallKey& key) {
  if (latest_ == nullptr || latest_->key != key) {
    ShapePtr& shape = shapes_[key];
    if (shape == nullptr) {
      shape = std::make_shared<Shape>();
      shape->key = key;
      shape->reproducible = IsReproducible(call);
      std::vector<KeyWord> words = KeyLayout(*source_, call);
      if (shape->reproducible) {
        shape->never_generic = true;  // and no part of what other calls' code is made from
      } else if (!history_) {
        std::vector<GraphSource::Size> sizes;
        for (const KeyWord& word : words) {
          sizes.push_back(word.kind == KeyWord::Kind::kDimension
                              ? source_->SizeOf(word.argument, word.index)
                              : GraphSource::Size::kAnything);
        }
        history_.emplace(std::move(words), std::move(sizes));
        history_->Observe(key);
      } else if (history_->words() == words) {
        history_->Observe(key);
      } else {
        shape->never_generic = true;  // an argument of another rank
      }
      shape->never_generic |= HasNoElements(call);
    }
    latest_ = shape;
    latest_->last_use = ++clock_;
    ForgetShapesLocked();
  } else {
    latest_->last_use = ++clock_;
  }
  return latest_;
}

Cluster::CodePtr Cluster::ChooseLocked(Shape& shape) {
  if (shape.code != nullptr) return shape.code;
  const Flags& flags = state_->flags();
  if (flags.tier != "specialized" && !shape.never_generic) {
    if (CodePtr code = GenericLocked(shape)) {
      shape.tier = Tier::kGeneric;
      return shape.code = code;
    }
  }
  if (flags.compile == "off") return nullptr;
  LimitLocked(Tier::kOwn, kMostOwn - 1);
  shape.tier = Tier::kOwn;
  return shape.code = AddLocked(/*generic=*/false, shape.reproducible);
}

Cluster::CodePtr Cluster::GenericLocked(Shape& shape) {
  for (auto it = generic_.rbegin(); it != generic_.rend(); ++it) {
    if ((*it)->rules.Match(shape.key)) return *it;
  }
  if (generic_at_work_ != nullptr) return generic_at_work_;
  const Flags& flags = state_->flags();
  if (flags.compile == "off" || generic_failures_ >= kMostGenericFailures ||
      generic_.size() >= kMostGeneric) {
    return nullptr;
  }
  ShapeHistory::Choice choice;
  choice.everything = flags.tier == "generic";
  const std::vector<int> symbols = history_->ChooseSymbols(shape.key, choice);
  if (std::all_of(symbols.begin(), symbols.end(), [](int s) { return s < 0; })) return nullptr;
  return generic_at_work_ = AddLocked(/*generic=*/true, /*reproducible=*/false);
}

Cluster::CodePtr Cluster::AddLocked(bool generic, bool reproducible) {
  auto code = std::make_shared<Code>();
  code->generic = generic;
  code->reproducible = reproducible;
  code->number = codes_made_++;
  return code;
}

void Cluster::LimitLocked(Tier tier, size_t most) {
  std::vector<Shape*> shapes;
  for (const auto& [key, shape] : shapes_) {
    if (shape->tier == tier && shape->code != nullptr) shapes.push_back(shape.get());
  }
  if (shapes.size() <= most) return;
  std::sort(shapes.begin(), shapes.end(),
            [](const Shape* a, const Shape* b) { return a->last_use < b->last_use; });
  shapes.resize(shapes.size() - most);
  for (Shape* shape : shapes) {
    if (tier == Tier::kHot) ++shape->cooled;
    shape->DropCode();
    shape->calls = 0;
  }
}

// A quarter at a time, so that a stream of new shapes pays for it once in a while.
void Cluster::ForgetShapesLocked() {
  if (shapes_.size() <= kMostShapes) return;
  std::vector<uint64_t> uses;
  for (const auto& [key, shape] : shapes_) uses.push_back(shape->last_use);
  const auto quarter = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 4);
  std::nth_element(uses.begin(), quarter, uses.end());
  const uint64_t oldest_kept = *quarter;
  absl::erase_if(shapes_, [&](const auto& entry) { return entry.second->last_use < oldest_kept; });
}

void Cluster::CountCallLocked(Shape& shape, const Call& call) {
  const Flags& flags = state_->flags();
  if (shape.tier != Tier::kGeneric || shape.ready == nullptr || flags.tier != "auto") return;
  if (flags.hot_calls <= 0 || flags.compile == "off") return;
  // Many shapes that are equally hot must not take turns for ever.
  if (++shape.calls != flags.hot_calls << std::min(shape.cooled, 20)) return;
  CodePtr code = AddLocked(/*generic=*/false, /*reproducible=*/false);
  const bool started =
      Submit([self = shared_from_this(), shape = latest_, code, args = Describe(call)] {
        code->progress.Take(CallEvent::kDemanded);
        self->Compile(*code, shape->key, args);
        std::lock_guard<std::mutex> lock(self->mutex_);
        // A shape without faster code stays with the generic one.
        if (!code->executable.ok() || shape->tier != Tier::kGeneric) return;
        self->LimitLocked(Tier::kHot, kMostHot - 1);
        shape->tier = Tier::kHot;
        shape->code = code;
        shape->ready = *code->executable;
      });
  if (!started) shape.calls = 0;
}

void Cluster::DropAddedChecks() {
  std::lock_guard<std::mutex> lock(mutex_);
  may_check_ = false;
  generic_.clear();
  for (auto& [key, shape] : shapes_) {
    if (!shape->reproducible) shape->DropCode();
  }
}

void Cluster::GiveUp(const ShapePtr& shape, const CodePtr& code, bool never_generic) {
  std::lock_guard<std::mutex> lock(mutex_);
  shape->never_generic |= never_generic;
  if (shape->code == code) shape->DropCode();
}

void Cluster::Start(const CodePtr& code, const ShapePtr& shape, std::vector<ArgInfo> args) {
  if (!code->progress.Take(CallEvent::kPays)) return;
  {
    std::lock_guard<std::mutex> lock(code->mutex);
    code->args.clear();
  }
  const bool is_queued = Submit([self = shared_from_this(), code, shape, args = std::move(args)] {
    for (CodePtr next = code; next != nullptr && !self->IsOvertaken(shape, next);) {
      self->Compile(*next, shape->key, args);
      next = self->InPlaceOf(shape, next);
    }
  });
  if (!is_queued) code->progress.Take(CallEvent::kNoRoom);
}

// A training step has no requests that would wait longer, and is the sooner done.
bool Cluster::Submit(std::function<void()> task) const {
  using Priority = compiler::Background::Priority;
  return compiler::Background::Get().Submit(std::move(task), source_->updates_variables()
                                                                 ? Priority::kAsCallers
                                                                 : Priority::kBelowCallers);
}

bool Cluster::IsWorthCompiling(const int64_t* host_ns) const {
  if (host_ns == nullptr) return true;
  // On one CPU code that comes late is all that waiting gains: the first epoch of a small network
  // (first_convnet of bench/epochs) takes 1.11 of stock's time instead of 1.04.
  const int num_cpus = NumCpus();
  const int num_convolutions = num_cpus == 1 ? 0 : source_->num_convolutions();
  const auto cost = static_cast<double>(EstimateCompileNs(source_->num_ops(), num_convolutions));
  const double part = PartToWaitFor(state_->flags().compile_after_percent, num_cpus);
  return static_cast<double>(*host_ns) >= cost * part;
}

Cluster::CodePtr Cluster::InPlaceOf(const ShapePtr& shape, const CodePtr& code) {
  const bool made = code->executable.ok();
  if (!code->generic || (made && code->rules.Match(shape->key))) return nullptr;
  GiveUp(shape, code, /*never_generic=*/!made);
  std::lock_guard<std::mutex> lock(mutex_);
  CodePtr other = ChooseLocked(*shape);
  const bool is_new = other != nullptr && other->progress.Take(CallEvent::kDemanded);
  return is_new ? other : nullptr;
}

bool Cluster::IsOvertaken(const ShapePtr& shape, const CodePtr& code) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (code->generic || shape->never_generic || shape->code != code) return false;
  const bool served = std::any_of(generic_.begin(), generic_.end(), [&](const CodePtr& generic) {
    return generic->rules.Match(shape->key);
  });
  if (!served && generic_at_work_ == nullptr) return false;
  shape->DropCode();
  return true;
}

}  // namespace tektite::serving
