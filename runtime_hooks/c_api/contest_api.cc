// The contests' part of tektite.h.
#include <memory>
#include <optional>
#include <string>

#include "jit/serving/cluster_contest.h"
#include "runtime_hooks/c_api/contest_turn.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/handles.h"
#include "runtime_hooks/c_api/tektite.h"

using tektite::c_api::CallClass;
using tektite::c_api::ClassOf;
using tektite::c_api::ReadTurn;
using tektite::c_api::WriteTurn;
using tektite::serving::ClusterContest;
using tektite::serving::Contest;

struct tektite_contest {
  ClusterContest contest;
};

extern "C" {

tektite_contest* tektite_contest_create(tektite_cluster* cluster, const char* topic) {
  return tektite::c_api::Guarded<tektite_contest*>(
      nullptr, nullptr, [&]() -> absl::StatusOr<tektite_contest*> {
        return new tektite_contest{ClusterContest(cluster->cluster, topic)};
      });
}

void tektite_contest_destroy(tektite_contest* contest) { delete contest; }

int32_t tektite_contest_begin(tektite_contest* contest, const tektite_tensor* args,
                              const int32_t* which, int32_t num_which, double host_extra_ns,
                              tektite_turn* turn) {
  const absl::Status status = tektite::CatchAll([&] {
    const CallClass of = ClassOf(args, which, num_which);
    WriteTurn(contest->contest.Begin(of.shape_class, of.work, host_extra_ns), turn);
    return absl::OkStatus();
  });
  return static_cast<int32_t>(status.code());
}

int32_t tektite_contest_begin_if_won(tektite_contest* contest, const tektite_tensor* args,
                                     const int32_t* which, int32_t num_which, tektite_turn* turn) {
  std::optional<Contest::Turn> won;
  tektite::CatchAll([&] {
    const CallClass of = ClassOf(args, which, num_which);
    won = contest->contest.BeginIfWon(of.shape_class, of.work);
    return absl::OkStatus();
  }).IgnoreError();
  if (won) WriteTurn(*won, turn);
  return won ? 1 : 0;
}

void tektite_contest_postpone(tektite_turn* turn) {
  Contest::Turn postponed = ReadTurn(*turn);
  Contest::Postpone(&postponed);
  WriteTurn(postponed, turn);
}

void tektite_contest_restart(const tektite_contest* contest, tektite_turn* turn) {
  Contest::Turn restarted = ReadTurn(*turn);
  contest->contest.Restart(&restarted);
  WriteTurn(restarted, turn);
}

void tektite_contest_end(tektite_contest* contest, const tektite_turn* turn) {
  tektite::CatchAll([&] {
    contest->contest.End(ReadTurn(*turn));
    return absl::OkStatus();
  }).IgnoreError();
}

int32_t tektite_contest_has_won(const tektite_contest* contest) {
  return contest->contest.contest().HasWonAny() ? 1 : 0;
}

void tektite_contest_summary(const tektite_contest* contest, tektite_contest_report* report) {
  const Contest::Report summary = contest->contest.contest().Summary();
  *report = {summary.compiled, summary.host, summary.open, summary.worst_ratio,
             summary.compiled == 0 ? 0 : summary.won_ratios / summary.compiled};
}

}  // extern "C"
