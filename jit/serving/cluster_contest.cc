#include "jit/serving/cluster_contest.h"

#include <chrono>
#include <utility>
#include <vector>

#include "jit/base/timing.h"
#include "jit/serving/verdicts.h"

namespace tektite::serving {
namespace {

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ClusterContest::ClusterContest(std::shared_ptr<Cluster> cluster, std::string topic)
    : cluster_(std::move(cluster)),
      topic_(std::move(topic)),
      contest_(&Nanoseconds, ReadVerdicts(cluster_->Recall(topic_).value_or(""), SecondsNow())) {}

Contest::Turn ClusterContest::Begin(uint64_t shape_class, double work, double host_extra_ns) {
  // A trial of calls that are not yet as fast as they will be would say nothing.
  if (cluster_->is_packing()) return {};
  if (cluster_->host_has_run()) contest_.KnowHostHasRun();
  Contest::Turn turn = contest_.Begin(shape_class, work, cluster_->generation(), host_extra_ns);
  if (turn.is_measured && turn.side == Contest::Side::kHost) {
    // The host's kernels would need their memory beside an arena of hundreds of megabytes.
    cluster_->ReleaseLargeArenas();
    contest_.Restart(&turn);
  }
  return turn;
}

void ClusterContest::End(const Contest::Turn& turn) {
  if (turn.shape_class == nullptr) return;  // in no contest: weights are packed
  contest_.End(turn);
  if (!turn.is_measured || !contest_.HasNews()) return;
  // Asked for and kept by one thread at a time, so that later news are not overwritten by earlier.
  std::lock_guard<std::mutex> lock(news_mutex_);
  const std::vector<Verdict> verdicts = contest_.Verdicts(SecondsNow());
  cluster_->Keep(topic_, SummaryOf(verdicts), WriteVerdicts(verdicts));
}

}  // namespace tektite::serving
