// The contest of one cluster, and its verdicts for later processes.
//
//   ClusterContest contest(cluster, "against TensorFlow, 2 threads");
//   Contest::Turn turn = contest.Begin(shape_class, work, host_extra_ns);
//   ... run turn.side ...
//   contest.End(turn);
//
// Thread-safe.
#ifndef TEKTITE_JIT_SERVING_CLUSTER_CONTEST_H_
#define TEKTITE_JIT_SERVING_CLUSTER_CONTEST_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "jit/serving/cluster.h"
#include "jit/serving/contest.h"

namespace tektite::serving {

class ClusterContest {
 public:
  // `topic`: what a verdict depends on beside the cluster, its shapes, the build and the machine.
  ClusterContest(std::shared_ptr<Cluster> cluster, std::string topic);

  // See Contest.  While weights are packed behind calls, compiled code runs them, and none counts.
  Contest::Turn Begin(uint64_t shape_class, double work, double host_extra_ns);
  std::optional<Contest::Turn> BeginIfWon(uint64_t shape_class, double work) {
    return contest_.BeginIfWon(shape_class, work);
  }
  void Restart(Contest::Turn* turn) const { contest_.Restart(turn); }
  // Also keeps what the contest has found out.
  void End(const Contest::Turn& turn);

  const Contest& contest() const { return contest_; }

 private:
  const std::shared_ptr<Cluster> cluster_;
  const std::string topic_;
  Contest contest_;
  std::mutex news_mutex_;  // held while verdicts are kept
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_CLUSTER_CONTEST_H_
