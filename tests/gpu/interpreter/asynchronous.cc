#include "tests/gpu/interpreter/asynchronous.h"

#include <algorithm>

#include "jit/base/status.h"

namespace tektite::gpu {

void Asynchronous::BeginBlock() {
  clocks_.assign(static_cast<size_t>(warps_), NothingKnown());
  for (size_t w = 0; w < clocks_.size(); ++w) clocks_[w][w] = 1;
  signals_.clear();
  seen_.clear();
  copies_.clear();
  landed_.clear();
  reads_.clear();
  begun_ = ended_ = 0;
}

void Asynchronous::Join(Clock& to, const Clock& from) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

void Asynchronous::Barrier() {
  Clock all = NothingKnown();
  for (const Clock& clock : clocks_) Join(all, clock);
  for (size_t w = 0; w < clocks_.size(); ++w) {
    clocks_[w] = all;
    ++clocks_[w][w];
  }
}

absl::StatusOr<Asynchronous::Signal*> Asynchronous::Find(int64_t signal) {
  const auto found = signals_.find(signal);
  if (found == signals_.end()) {
    return InvalidArgument("no signal was made at byte ", signal, " of shared memory");
  }
  return &found->second;
}

absl::Status Asynchronous::Init(int64_t signal, int64_t arrivals) {
  Signal made;
  made.arrivals = made.missing = arrivals;
  made.known = made.ended = NothingKnown();
  if (!signals_.emplace(signal, std::move(made)).second) {
    return InvalidArgument("the signal at byte ", signal, " of shared memory is made twice");
  }
  return absl::OkStatus();
}

void Asynchronous::EndPhase(Signal& signal) {
  ++events_;
  if (signal.missing > 0 || signal.bytes != 0) return;
  ++signal.phase;
  signal.missing = signal.arrivals;
  signal.ended = signal.known;
}

absl::Status Asynchronous::Arrive(int warp, int64_t signal, int64_t bytes, uint32_t step) {
  TEKTITE_ASSIGN_OR_RETURN(Signal* const s, Find(signal));
  if (s->missing == 0) {
    return InvalidArgument("the signal at byte ", signal, " counts ", s->arrivals,
                           " arrivals, and this is one more in phase ", s->phase);
  }
  Clock& clock = clocks_[static_cast<size_t>(warp)];
  clock[static_cast<size_t>(warps_ + warp)] = step;
  Join(s->known, clock);
  ++clock[static_cast<size_t>(warp)];
  --s->missing;
  s->bytes += bytes;
  EndPhase(*s);
  return absl::OkStatus();
}

absl::StatusOr<bool> Asynchronous::HasEnded(int warp, int64_t signal, int64_t parity) {
  TEKTITE_ASSIGN_OR_RETURN(Signal* const s, Find(signal));
  if (parity != 0 && parity != 1) return InvalidArgument("a phase has no parity ", parity);
  if (s->phase % 2 == parity) return false;
  Join(clocks_[static_cast<size_t>(warp)], s->ended);
  seen_[{warp, signal}] = s->phase;
  return true;
}

absl::Status Asynchronous::BeginCopy(int warp, Copy copy) {
  TEKTITE_RETURN_IF_ERROR(Find(copy.signal).status());
  const Clock& clock = clocks_[static_cast<size_t>(warp)];
  for (const Read& read : reads_) {
    if (!read.range.Overlaps(copy.to)) continue;
    if (read.time == 0) {
      return InvalidArgument("data race: copies to bytes ", copy.to.begin, " to ", copy.to.end,
                             " of shared memory, which a product of warp ", read.warp,
                             " that is under way reads");
    }
    if (clock[static_cast<size_t>(read.warp)] < read.time) {
      return InvalidArgument("data race: copies to bytes ", copy.to.begin, " to ", copy.to.end,
                             " of shared memory, which warp ", read.warp,
                             " has read, without a signal from it since");
    }
  }
  const auto is_under = [&](const auto& record) { return record.range.Overlaps(copy.to); };
  reads_.erase(std::remove_if(reads_.begin(), reads_.end(), is_under), reads_.end());
  landed_.erase(std::remove_if(landed_.begin(), landed_.end(), is_under), landed_.end());
  copies_.push_back(std::move(copy));
  return absl::OkStatus();
}

std::vector<Asynchronous::Copy> Asynchronous::EndCopies(int64_t signal) {
  std::vector<Copy> ended, others;
  for (Copy& copy : copies_) (copy.signal == signal ? ended : others).push_back(std::move(copy));
  copies_ = std::move(others);
  const auto found = signals_.find(signal);
  for (const Copy& copy : ended) {
    Signal& s = found->second;
    landed_.push_back({copy.to, signal, s.phase});
    s.bytes -= copy.to.end - copy.to.begin;
    EndPhase(s);
  }
  return ended;
}

absl::Status Asynchronous::BeginRead(int warp, const SharedRange& range) {
  for (const Landed& landed : landed_) {
    if (!landed.range.Overlaps(range)) continue;
    const auto seen = seen_.find({warp, landed.signal});
    if (seen == seen_.end() || seen->second <= landed.phase) {
      return InvalidArgument("data race: reads bytes ", range.begin, " to ", range.end,
                             " of shared memory without having waited for phase ", landed.phase,
                             " of the signal at byte ", landed.signal, ", with which they came");
    }
  }
  reads_.push_back({range, warp, begun_, 0});
  return absl::OkStatus();
}

void Asynchronous::EndProducts(int64_t under_way) {
  ended_ = std::max(ended_, begun_ - under_way);
  for (Read& read : reads_) {
    if (read.product > ended_ || read.time > 0) continue;
    const auto warp = static_cast<size_t>(read.warp);
    read.time = clocks_[warp][warp];
  }
}

}  // namespace tektite::gpu
