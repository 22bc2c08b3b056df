#include "runtime_hooks/tensorflow/hook/precedents.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tektite::tf_hook {
namespace {

int OctaveOf(double work) { return std::ilogb(std::max(work, 1.0)); }

}  // namespace

void Precedents::Add(uint64_t artifact, double work, double ratio) {
  std::lock_guard<std::mutex> lock(mutex_);
  ratios_[artifact][OctaveOf(work)] = ratio;
  if (ratios_.size() > kMostArtifacts) ratios_.erase(ratios_.begin());
}

std::optional<Precedents::Range> Precedents::Find(uint64_t artifact, double work) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = ratios_.find(artifact);
  if (found == ratios_.end()) return std::nullopt;
  const std::map<int, double>& known = found->second;
  const int octave = OctaveOf(work);
  const auto above = known.lower_bound(octave);
  if (above != known.end() && above->first == octave) return Range{above->second, above->second};
  std::optional<Range> range;
  auto consider = [&](double ratio) {
    if (!range) range = Range{ratio, ratio};
    range = Range{std::min(range->best, ratio), std::max(range->worst, ratio)};
  };
  const bool is_between = above != known.end() && above != known.begin();
  if (above != known.end() && (is_between || above->first == octave + 1)) consider(above->second);
  if (above == known.begin()) return range;
  const auto below = std::prev(above);
  if (is_between || below->first == octave - 1) consider(below->second);
  return range;
}

}  // namespace tektite::tf_hook
