// A graph that a host runs, and the code made for the shapes its calls have.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto cluster, Cluster::Create(state, name, std::move(source)));
//   Fallback why = Fallback::NONE;
//   absl::Status status = cluster->Run(call, &why);
//
// Calls are told apart by a key (call_key.h).  The first key gets code for exactly its sizes; when
// a second one differs, or when the graph says from the start that sizes vary, *generic* code is
// made that serves all keys alike but for those sizes (shape_history.h), usually once in a
// cluster's life.  A key that is called --hot_calls times gets code of its own in the background.
// Sizes that generic code does not fit (a guard fails) get code of their own at once.
//
// The cluster remembers a key that cannot be compiled, so that it costs one attempt and not one a
// call.  With --compile=async a call that finds no code is answered with Unavailable while a
// background thread makes it.  Memory is bounded whatever the number of shapes: the last
// kMostShapes keys are known, kMostOwn of them with code of their own, kMostHot of
// those for being hot.  A cluster whose compilations together take more than their budget gets
// no more code.  Calls that are to be reproducible have shapes of their own: their code is for
// exactly their sizes, waits for nothing, measures nothing and has no budget, so that neither the
// calls before nor the clock decide which code runs.
//
// Where the host has kernels of its own (Call::host_kernels), each call runs on its faster side
// (faster_side.h), and nothing is compiled before it is likely to pay.
//
// A module of an earlier process is read back from the disk cache, whole (jit/compiler/module.h).
// Where that takes less than --load_ms, the call that needs it does so itself, so that the first
// call of a process may run compiled code.
#ifndef TEKTITE_JIT_SERVING_CLUSTER_H_
#define TEKTITE_JIT_SERVING_CLUSTER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "jit/base/hash.h"
#include "jit/base/timing.h"
#include "jit/compiler/compile_budget.h"
#include "jit/compiler/compiler.h"
#include "jit/serving/call.h"
#include "jit/serving/call_key.h"
#include "jit/serving/call_state.h"
#include "jit/serving/compiler_state.h"
#include "jit/serving/fallback.h"
#include "jit/serving/faster_side.h"
#include "jit/serving/graph_source.h"
#include "jit/serving/shape_history.h"

namespace tektite::serving {

class Cluster : public std::enable_shared_from_this<Cluster> {
 public:
  static std::shared_ptr<Cluster> Create(std::shared_ptr<CompilerState> state,
                                         absl::string_view name,
                                         std::unique_ptr<GraphSource> source);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const GraphSource& source() const { return *source_; }
  const std::string& name() const { return name_; }
  // Leaves what the cluster was made from in the dump directory, if there is one.
  void Dump(absl::string_view file, absl::string_view bytes) const;

  // ---- cluster_sides.cc: which side runs a call ----
  // OK when code, or the host's kernels (`why` says which and why), have run it.
  absl::Status Run(const Call& call, Fallback* why);
  // Counts a call that cannot be made as one left to the host, and has its kernels run it if it has
  // any; otherwise returns `refusal`.  The arguments of `call` may be missing.
  absl::Status Refuse(absl::Status refusal, const Call& call, Fallback* why);
  // Compiles what waits until that pays, of all clusters of the process: a thread waits for it.
  static void StartAllThatWait();
  // As FasterSide's.
  int Standing() { return sides_.Standing(); }

  static constexpr size_t kMostShapes = 1024;
  static constexpr size_t kMostGeneric = 8;
  static constexpr size_t kMostOwn = 64;
  static constexpr size_t kMostHot = 8;

 private:
  // ---- cluster_sides.cc ----
  class CallSides;
  FasterSide::Options SideOptions();
  CallFacts FactsOf(const Call& call) const;
  // Of what was found out about the sides' speed; nothing where it is not kept.
  std::optional<std::string> DecisionKey();

  // ---- cluster.cc ----
  // As Sides'.
  absl::Status RunCode(const Call& call, const int64_t* host_ns, Comparison::Turn* turn);
  // Counts a call that no code ran; returns `status`.
  absl::Status Count(absl::Status status);
  using ExecutablePtr = std::shared_ptr<runtime::Executable>;
  struct Shape;
  // The result of one compilation, or why it failed; Unavailable until it is made.
  struct Code {
    bool generic = false;
    bool reproducible = false;
    int number = 0;
    CallProgress progress{CallState::kNew};
    std::mutex mutex;  // guards the members below
    // Of the call that asked for it, while it waits.
    std::weak_ptr<Shape> asker;
    std::vector<ArgInfo> args;
    std::condition_variable changed;
    absl::StatusOr<ExecutablePtr> executable = absl::UnavailableError("not compiled yet");
    ShapeRules rules;  // of generic code, once it is made
  };
  using CodePtr = std::shared_ptr<Code>;
  enum class Tier { kNone, kGeneric, kOwn, kHot };
  // A key and the code that serves it; under the cluster's mutex.
  struct Shape {
    CallKey key;
    Tier tier = Tier::kNone;
    CodePtr code;
    ExecutablePtr ready;  // the code's, once it is there
    bool never_generic = false;
    bool reproducible = false;
    int64_t calls = 0;  // of generic code
    int cooled = 0;     // how often it was hot and made room for another
    uint64_t last_use = 0;

    void DropCode() {
      tier = Tier::kNone;
      code = nullptr;
      ready = nullptr;
    }
  };
  using ShapePtr = std::shared_ptr<Shape>;

  Cluster(std::shared_ptr<CompilerState> state, absl::string_view name,
          std::unique_ptr<GraphSource> source);

  // ---- cluster.cc: which code serves a call; names ending in Locked want mutex_ held ----
  bool IsReproducible(const Call& call) const;
  // Whether a call without code is the host's meanwhile.
  bool IsAsync(const Call& call) const;
  absl::StatusOr<ExecutablePtr> Find(const Call& call, const CallKey& key, const int64_t* host_ns);
  // Takes code that is not made as far as it should be by now.
  void Advance(const CodePtr& code, const ShapePtr& shape, const Call& call,
               const int64_t* host_ns);
  ShapePtr ShapeOfLocked(const Call& call, const CallKey& key);
  // Null with --compile=off.
  CodePtr ChooseLocked(Shape& shape);
  CodePtr GenericLocked(Shape& shape);
  CodePtr AddLocked(bool generic, bool reproducible);
  // Keeps at most `most` shapes of that tier with code of their own.
  void LimitLocked(Tier tier, size_t most);
  void ForgetShapesLocked();
  void CountCallLocked(Shape& shape, const Call& call);
  // Code is made again without them: they fail in call after call.
  void DropAddedChecks();
  // As CompileJob::may_check; whatever calls came before, where code is to be reproducible.
  bool MayCheck(bool reproducible) const { return reproducible || may_check_; }
  // The shape's code turned out not to serve it.
  void GiveUp(const ShapePtr& shape, const CodePtr& code, bool never_generic);
  void Start(const CodePtr& code, const ShapePtr& shape, std::vector<ArgInfo> args);
  // False when the queue is full.
  bool Submit(std::function<void()> task) const;
  // Whether compiling is likely to pay by now (compile_cost.h).
  bool IsWorthCompiling(const int64_t* host_ns) const;
  void StartWhatWaits();
  // The code to compile for the shape now that generic code turned out not to serve it; null: none.
  CodePtr InPlaceOf(const ShapePtr& shape, const CodePtr& code);
  // While code for one shape waited for its turn, code for many was asked for, which may do.
  bool IsOvertaken(const ShapePtr& shape, const CodePtr& code);

  // ---- cluster_compile.cc ----
  // All that code is made from.  Borrows the key and the arguments: copies of hundreds of weights'
  // shapes were a seventh of the time that loading a model takes.
  struct Recipe {
    const CallKey& key;
    const std::vector<ArgInfo>& args;
    const bool reproducible;
    // Of generic code: which words of the key become which symbols, the most general choice first.
    std::vector<KeyWord> words;
    std::vector<std::vector<int>> tries;
  };
  std::vector<ArgInfo> Describe(const Call& call) const;
  Recipe Prepare(const Code& code, const CallKey& key, const std::vector<ArgInfo>& args);
  void Compile(Code& code, const CallKey& key, const std::vector<ArgInfo>& args);
  void Settle(Code& code, absl::StatusOr<ExecutablePtr> executable, ShapeRules rules);
  absl::StatusOr<ExecutablePtr> MakeOwn(int number, const Recipe& recipe,
                                        const compiler::ModuleKey* key);
  // `rules`: the calls that the code serves, or that the refusal holds for.
  absl::StatusOr<ExecutablePtr> MakeGeneric(int number, const Recipe& recipe,
                                            const compiler::ModuleKey* key, ShapeRules* rules);
  compiler::CompileJob JobFor(std::string variant, std::map<std::string, int64_t> sizes,
                              bool reproducible);

  // ---- cluster_module.cc: code that an earlier process left on disk ----
  // Nothing where nothing is kept.
  std::optional<compiler::ModuleKey> KeyOf(const Recipe& recipe);
  std::optional<Fingerprint> SourceFingerprint();
  // On a request's thread, when that takes next to no time; false: it has to be compiled, or
  // loaded elsewhere.
  bool LoadAtOnce(Code& code, const CallKey& key, const std::vector<ArgInfo>& args);
  // False when there is none, or when it would take more than `most_microseconds`.  `began` when
  // it was first thought of.
  bool LoadStored(Code& code, const Recipe& recipe, const compiler::ModuleKey& key,
                  double most_microseconds, const Stopwatch& began);

  const std::shared_ptr<CompilerState> state_;
  const std::string name_;
  const std::unique_ptr<const GraphSource> source_;
  const std::shared_ptr<runtime::WeightStore> weights_;

  compiler::CompileBudget budget_;
  std::once_flag fingerprinted_;
  std::optional<Fingerprint> fingerprint_;  // of the source; nothing: it has none
  std::atomic<uint64_t> generation_{0};     // changes whenever more code is ready
  std::atomic<int64_t> profiled_calls_{0};  // with --profile_kernels
  FasterSide sides_;
  std::atomic<bool> may_check_{true};

  std::mutex mutex_;  // guards the members below, and shapes
  absl::flat_hash_map<CallKey, ShapePtr> shapes_;
  ShapePtr latest_;
  std::optional<ShapeHistory> history_;
  std::vector<CodePtr> generic_;  // good ones, latest last
  CodePtr generic_at_work_;
  int generic_failures_ = 0;
  int codes_made_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_CLUSTER_H_
