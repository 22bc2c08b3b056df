#include "runtime_hooks/tensorflow/hook/prepared_cluster.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "runtime_hooks/tensorflow/hook/counters.h"
#include "runtime_hooks/tensorflow/hook/verdicts.h"
#include "tensorflow/core/platform/mutex.h"
#include "tensorflow/core/util/determinism.h"

namespace tektite::tf_hook {
namespace {

constexpr size_t kMostLeft = 32;

struct Left {
  std::string body;
  std::unique_ptr<PreparedCluster> cluster;
};

struct LeftClusters {
  tensorflow::mutex mu;
  std::list<Left> latest_first TF_GUARDED_BY(mu);
};

LeftClusters& AllLeft() {
  static auto* const left = new LeftClusters;  // ops may go after static objects have
  return *left;
}

// TensorFlow's answer when it was asked last.
std::atomic<bool> determinism_required{false};

bool AskForDeterminism() {
  const bool required = tensorflow::OpDeterminismRequired();
  if (required != determinism_required.load(std::memory_order_relaxed)) {
    determinism_required.store(required, std::memory_order_relaxed);
  }
  return required;
}

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

PreparedCluster::~PreparedCluster() {
  if (contest_ != nullptr) RemoveContest(contest_.get());
  library_.cluster_destroy(cluster_);
}

void PreparedCluster::SetContest(const std::string& name, const std::string& topic) {
  has_reproducible_flag_ = library_.flag(library_.compiler, "reproducible", 0) != 0;
  const bool wanted = library_.flag(library_.compiler, "contest", 0) != 0;
  if (contest_ != nullptr && wanted && topic == contest_topic_) return;
  if (contest_ != nullptr) RemoveContest(contest_.get());
  contest_ = nullptr;
  if (!wanted) return;
  contest_topic_ = topic;
  std::string kept;
  if (char* text = library_.cluster_recall(cluster_, topic.c_str())) {
    kept = text;
    library_.string_free(text);
  }
  contest_ = std::make_unique<Contest>(&Nanoseconds, ReadVerdicts(kept, SecondsNow()));
  AddContest(contest_.get(), name);
}

bool PreparedCluster::IsReproducible(bool is_direct) const {
  if (has_reproducible_flag_) return true;
  return is_direct ? determinism_required.load(std::memory_order_relaxed) : AskForDeterminism();
}

void PreparedCluster::EndTurn(const Contest::Turn& turn) {
  contest_->End(turn);
  if (!turn.is_measured || !contest_->HasNews()) return;
  // Asked for and kept by one thread at a time, so that later news are not overwritten by earlier.
  tensorflow::mutex_lock lock(news_mu_);
  const std::vector<Verdict> verdicts = contest_->Verdicts(SecondsNow());
  library_.cluster_keep(cluster_, contest_topic_.c_str(), SummaryOf(verdicts).c_str(),
                        WriteVerdicts(verdicts).c_str());
}

std::unique_ptr<PreparedCluster> PreparedCluster::Obtain(const std::string& name,
                                                         const std::string& body,
                                                         const std::string& topic) {
  const CompilerLibrary* const library = CompilerLibrary::Get();
  if (library == nullptr) return nullptr;
  std::unique_ptr<PreparedCluster> prepared;
  {
    LeftClusters& left = AllLeft();
    tensorflow::mutex_lock lock(left.mu);
    const auto found = std::find_if(left.latest_first.begin(), left.latest_first.end(),
                                    [&](const Left& one) { return one.body == body; });
    if (found != left.latest_first.end()) {
      prepared = std::move(found->cluster);
      left.latest_first.erase(found);
    }
  }
  if (prepared == nullptr) {
    tektite_status status = {};
    tektite_cluster* const cluster =
        library->cluster_create(library->compiler, name.c_str(), body.data(), body.size(), &status);
    if (cluster == nullptr) return nullptr;
    prepared = absl::WrapUnique(new PreparedCluster(*library, cluster));
  }
  prepared->SetContest(name, topic);
  return prepared;
}

void PreparedCluster::Leave(const std::string& body, std::unique_ptr<PreparedCluster> cluster) {
  LeftClusters& left = AllLeft();
  std::list<Left> one_too_many;  // destroyed when the mutex is free
  tensorflow::mutex_lock lock(left.mu);
  left.latest_first.push_front({body, std::move(cluster)});
  if (left.latest_first.size() > kMostLeft) {
    one_too_many.splice(one_too_many.end(), left.latest_first, std::prev(left.latest_first.end()));
  }
}

void NoteDeterminism() { AskForDeterminism(); }

}  // namespace tektite::tf_hook

// TensorFlow's switch for deterministic ops has been turned.
extern "C" __attribute__((visibility("default"))) void tektite_hook_note_determinism() {
  tektite::tf_hook::NoteDeterminism();
}
