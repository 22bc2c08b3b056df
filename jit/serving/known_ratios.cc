#include "jit/serving/known_ratios.h"

#include <algorithm>
#include <cmath>

namespace tektite::serving {
namespace {

int OctaveOf(double work) { return std::ilogb(std::max(work, 1.0)); }

}  // namespace

KnownRatios::Seen& KnownRatios::At(uint64_t artifact, double work) {
  if (seen_.size() >= kMostArtifacts && seen_.find(artifact) == seen_.end()) {
    seen_.erase(seen_.begin());
  }
  return seen_[artifact][OctaveOf(work)];
}

void KnownRatios::Add(uint64_t artifact, double work, double ratio) {
  std::lock_guard<std::mutex> lock(mutex_);
  At(artifact, work) = {kEnoughPairs, {ratio, ratio}};
}

void KnownRatios::AddPair(uint64_t artifact, double work, double ratio) {
  std::lock_guard<std::mutex> lock(mutex_);
  Seen& seen = At(artifact, work);
  if (seen.pairs == kEnoughPairs) return;
  if (seen.pairs++ == 0) seen.range = {ratio, ratio};
  seen.range = {std::min(seen.range.best, ratio), std::max(seen.range.worst, ratio)};
}

std::optional<KnownRatios::Range> KnownRatios::Find(uint64_t artifact, double work) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = seen_.find(artifact);
  if (found == seen_.end()) return std::nullopt;
  const int octave = OctaveOf(work);
  // The nearest that are known, from here on up and from here on down.
  std::optional<int> above, below;
  for (const auto& [at, seen] : found->second) {
    if (seen.pairs < kEnoughPairs) continue;
    if (at == octave) return seen.range;
    if (at < octave) below = at;
    if (at > octave && !above) above = at;
  }
  std::optional<Range> range;
  auto consider = [&](int at) {
    const Range& known = found->second.at(at).range;
    if (!range) range = known;
    range = Range{std::min(range->best, known.best), std::max(range->worst, known.worst)};
  };
  const bool is_between = above && below;
  if (above && (is_between || *above == octave + 1)) consider(*above);
  if (below && (is_between || *below == octave - 1)) consider(*below);
  return range;
}

}  // namespace tektite::serving
