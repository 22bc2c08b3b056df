// The part of a cluster that runs calls on their faster side, and keeps what was found out about
// it.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/compiler/background.h"
#include "jit/serving/cluster.h"

namespace tektite::serving {
namespace {

// Arguments that tell one class of calls from another: those beyond rarely do.
constexpr int kMostShapeArgs = 16;

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

class Cluster::CallSides : public Sides {
 public:
  CallSides(Cluster& cluster, const Call& call) : cluster_(cluster), call_(call) {}

  absl::Status RunCode(const int64_t* host_ns, Comparison::Turn* turn) override {
    return cluster_.RunCode(call_, host_ns, turn);
  }
  absl::Status RunHost(Fallback why, const absl::Status& refusal) override {
    // Of sizes that have no code yet, say, beside the arenas of others that have.
    if (!refusal.ok()) cluster_.state_->compiler().loader().ReleaseLargeArenas();
    return call_.host_kernels->Run(why, refusal);
  }
  void Settle(Comparison::Side side) override {
    runtime::Loader& loader = cluster_.state_->compiler().loader();
    // The host's kernels would need their memory beside an arena of hundreds of megabytes.
    if (side == Comparison::Side::kHost) loader.ReleaseLargeArenas();
    void* const stream = call_.host->DeviceStream();
    if (stream != nullptr) loader.WaitForStream(stream);
  }

 private:
  Cluster& cluster_;
  const Call& call_;
};

FasterSide::Options Cluster::SideOptions() {
  FasterSide::Options options;
  options.compares = state_->flags().compare;
  options.recall = [this] {
    const std::optional<std::string> key = DecisionKey();
    if (!key) return std::vector<Decision>();
    compiler::Compiler& compiler = state_->compiler();
    const auto kept = compiler.disk()->Load(
        compiler.module_environment().Finish(cache::EntryKind::kDecision, *key), nullptr);
    return ReadDecisions(kept.value_or(""), SecondsNow());
  };
  options.keep = [this](const Comparison& comparison) {
    std::optional<std::string> key = DecisionKey();
    if (!key) return;
    const std::vector<Decision> decisions = comparison.Decisions(SecondsNow());
    std::string name =
        absl::StrCat(name_, ": ", SummaryOf(decisions), " against ", state_->host_kernels());
    compiler::Background::Get().Submit([state = state_, key = *std::move(key),
                                        name = std::move(name), text = WriteDecisions(decisions)] {
      compiler::Compiler& compiler = state->compiler();
      const cache::CacheKey entry = cache::DescribeMeasurement(cache::EntryKind::kDecision, key,
                                                               name, compiler.module_environment());
      compiler.disk()->Store(entry, text);
      compiler.disk()->Flush();
    });
  };
  return options;
}

std::optional<std::string> Cluster::DecisionKey() {
  if (!state_->compiler().keeps_modules()) return std::nullopt;
  const std::optional<Fingerprint> source = SourceFingerprint();
  if (!source) return std::nullopt;
  return absl::StrCat("graph ", source->Hex(), "\nagainst ", state_->host_kernels(), "\n");
}

// The shapes of variables and of other arguments that stay as they are tell no call from another,
// and their sizes say nothing of its work.
CallFacts Cluster::FactsOf(const Call& call) const {
  CallFacts facts;
  facts.host = call.host_kernels != nullptr ? CallFacts::Host::kRuns
               : call.if_won                ? CallFacts::Host::kAbsent
                                            : CallFacts::Host::kNone;
  if (facts.host == CallFacts::Host::kNone) return facts;
  facts.host_extra_ns = call.host_extra_ns;
  facts.reproducible = IsReproducible(call);
  facts.code_generation = generation_.load(std::memory_order_relaxed);
  // With other threads both sides are other programs.
  facts.shape_class = static_cast<uint64_t>(call.host->Pool().num_threads);
  facts.work = 0;
  int counted = 0;
  for (int i = 0; i < static_cast<int>(call.args.size()) && counted < kMostShapeArgs; ++i) {
    if (call.args[i].version != 0 || source_->IsVariable(i)) continue;
    ++counted;
    double elements = 1;
    for (const int64_t size : call.args[i].dims) {
      facts.shape_class = AddToShapeClass(facts.shape_class, size);
      elements *= static_cast<double>(size);
    }
    facts.work += elements;
  }
  return facts;
}

absl::Status Cluster::Run(const Call& call, Fallback* why) {
  CallSides sides(*this, call);
  return sides_.Run(FactsOf(call), sides, why);
}

absl::Status Cluster::Refuse(absl::Status refusal, const Call& call, Fallback* why) {
  CallSides sides(*this, call);
  return sides_.RunRefused(FactsOf(call), Count(std::move(refusal)), sides, why);
}

}  // namespace tektite::serving
