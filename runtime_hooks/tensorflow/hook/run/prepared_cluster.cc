#include "runtime_hooks/tensorflow/hook/run/prepared_cluster.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <utility>

#include "absl/memory/memory.h"
#include "runtime_hooks/tensorflow/hook/card_compilers.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
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

}  // namespace

int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

PreparedCluster::~PreparedCluster() {
  DropContest();
  library_.cluster_destroy(cluster_);
}

void PreparedCluster::DropContest() {
  if (contest_ == nullptr) return;
  RemoveContest(contest_);
  library_.contest_destroy(contest_);
  contest_ = nullptr;
}

void PreparedCluster::SetContest(const std::string& name, const std::string& topic) {
  guards_xla_ = library_.flag(compiler_, "xla_guard", 1) != 0;
  has_reproducible_flag_ = library_.flag(compiler_, "reproducible", 0) != 0;
  const bool wanted = library_.flag(compiler_, "contest", 0) != 0;
  if (contest_ != nullptr && wanted && topic == contest_topic_) return;
  DropContest();
  if (!wanted) return;
  contest_topic_ = topic;
  contest_ = library_.contest_create(cluster_, topic.c_str());
  if (contest_ != nullptr) AddContest(contest_, name, host_time_);
}

bool PreparedCluster::IsReproducible(bool is_direct) const {
  if (has_reproducible_flag_) return true;
  return is_direct ? determinism_required.load(std::memory_order_relaxed) : AskForDeterminism();
}

std::unique_ptr<PreparedCluster> PreparedCluster::Obtain(const std::string& name,
                                                         const std::string& body,
                                                         const std::string& topic,
                                                         tensorflow::DeviceBase* card) {
  const CompilerLibrary* const library = CompilerLibrary::Get();
  if (library == nullptr) return nullptr;
  tektite_compiler* const compiler =
      card == nullptr ? library->compiler : CompilerForCard(*library, *card);
  if (compiler == nullptr) return nullptr;
  std::unique_ptr<PreparedCluster> prepared;
  {
    LeftClusters& left = AllLeft();
    tensorflow::mutex_lock lock(left.mu);
    const auto found = std::find_if(
        left.latest_first.begin(), left.latest_first.end(),
        [&](const Left& one) { return one.body == body && one.cluster->compiler_ == compiler; });
    if (found != left.latest_first.end()) {
      prepared = std::move(found->cluster);
      left.latest_first.erase(found);
    }
  }
  if (prepared == nullptr) {
    tektite_status status = {};
    tektite_cluster* const cluster =
        library->cluster_create(compiler, name.c_str(), body.data(), body.size(), &status);
    if (cluster == nullptr) return nullptr;
    prepared = absl::WrapUnique(new PreparedCluster(*library, compiler, cluster));
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
