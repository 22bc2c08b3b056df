#include "jit/serving/faster_side.h"

#include <optional>
#include <utility>

namespace tektite::serving {

using Side = Comparison::Side;

namespace {

// Whether calls after this one are likely to end in the same way, and all their work is lost.
bool IsFailure(Fallback why) {
  switch (why) {
    case Fallback::CHECK_FAILED:
    case Fallback::DEVICE_LOST:
    case Fallback::INTERNAL_ERROR:
    case Fallback::NO_CODE:
    case Fallback::NO_MEMORY:
    case Fallback::OVER_BUDGET:
      return true;
    default:
      return false;
  }
}

}  // namespace

Comparison& FasterSide::comparison() {
  Comparison* const known = comparison_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  std::call_once(once_, [this] {
    owned_ = std::make_unique<Comparison>(options_.clock, options_.recall());
    comparison_.store(owned_.get(), std::memory_order_release);
  });
  return *owned_;
}

absl::Status FasterSide::Run(const CallFacts& call, Sides& sides, Fallback* why) {
  using Host = CallFacts::Host;
  *why = Fallback::NONE;
  if (call.host != Host::kNone && !call.reproducible) {
    const bool is_absent = call.host == Host::kAbsent;
    if (is_absent ? giving_way_.HasGivenWay() : giving_way_.Skips()) {
      *why = Fallback::TOO_MANY_FAILURES;
      return is_absent ? absl::UnavailableError("calls before this one failed in a row")
                       : RunHost(*why, absl::OkStatus(), sides);
    }
  }
  const bool compares = options_.compares && call.host != Host::kNone && !call.reproducible;
  Comparison::Turn turn;  // code's, and part of no comparison
  if (compares && call.host == Host::kAbsent) {
    const std::optional<Comparison::Turn> won =
        comparison().BeginIfWon(call.shape_class, call.work);
    if (!won) {
      *why = Fallback::COMPARING;
      return absl::UnavailableError("compiled code is not known to be faster, or is checked again");
    }
    turn = *won;
  } else if (compares) {
    if (host_time_.has_begun()) comparison().KnowHostHasRun();
    turn =
        comparison().Begin(call.shape_class, call.work, call.code_generation, call.host_extra_ns);
    if (turn.is_measured) {
      sides.Settle(turn.side);
      comparison().Restart(&turn);
    }
  }
  if (turn.side == Side::kHost) {
    *why = turn.is_demoted ? Fallback::SLOWER_THAN_HOST : Fallback::MEASURING_HOST;
    const absl::Status ran = RunHost(*why, absl::OkStatus(), sides);
    if (turn.is_demoted || !absl::IsUnavailable(ran)) {
      if (ran.ok() && turn.is_measured) End(turn, sides);
      return ran;
    }
    Comparison::Postpone(&turn);
  }
  const int64_t host_ns = host_time_.total();
  absl::Status status = sides.RunCode(call.host == Host::kNone ? nullptr : &host_ns, &turn);
  if (!status.ok()) return RunRefused(call, std::move(status), sides, why);
  *why = Fallback::NONE;
  giving_way_.Succeeded();
  if (turn.shape_class != nullptr) {
    End(turn, sides);
  } else if (!compares && !has_run_.load(std::memory_order_relaxed)) {
    has_run_.store(true, std::memory_order_relaxed);
  }
  return status;
}

absl::Status FasterSide::RunRefused(const CallFacts& call, absl::Status refusal, Sides& sides,
                                    Fallback* why) {
  *why = FallbackOf(refusal.code());
  // Calls to be reproducible do not depend on those before them, and one that is made in another
  // way fails again there.
  const bool counts = !call.reproducible && call.host != CallFacts::Host::kAbsent;
  if (counts && IsFailure(*why)) giving_way_.Failed();
  if (call.host != CallFacts::Host::kRuns || absl::IsCancelled(refusal)) return refusal;
  return RunHost(*why, refusal, sides);
}

absl::Status FasterSide::RunHost(Fallback why, const absl::Status& refusal, Sides& sides) {
  const int64_t began = options_.clock();
  absl::Status ran = sides.RunHost(why, refusal);
  const bool has_run = why != Fallback::MEASURING_HOST || !absl::IsUnavailable(ran);
  if (has_run) host_time_.Add(options_.clock() - began);
  return ran;
}

void FasterSide::End(const Comparison::Turn& turn, Sides& sides) {
  if (turn.is_measured) sides.Settle(turn.side);
  comparison().End(turn);
  if (!turn.is_measured || !comparison().HasNews()) return;
  // By one thread at a time, so that earlier news do not overwrite later ones.
  std::lock_guard<std::mutex> lock(keep_mutex_);
  options_.keep(comparison());
}

int FasterSide::Standing() {
  if (giving_way_.HasGivenWay()) return -1;
  const bool has_won =
      has_run_.load(std::memory_order_relaxed) || (options_.compares && comparison().HasWonAny());
  return has_won ? 1 : 0;
}

Comparison::Report FasterSide::Summary() const {
  const Comparison* const comparison = comparison_.load(std::memory_order_acquire);
  return comparison == nullptr ? Comparison::Report() : comparison->Summary();
}

}  // namespace tektite::serving
