#include "jit/ops/non_max_suppression.h"

#include <cmath>
#include <queue>
#include <vector>

namespace tektite::ops {
namespace {

// Which of the two comes out when one is NaN is part of the contract.
float Least(float a, float b) { return b < a ? b : a; }
float Greatest(float a, float b) { return a < b ? b : a; }

float Overlap(const OrderedBox& a, const OrderedBox& b) {
  if (a.area <= 0 || b.area <= 0) return 0;
  const float height = Least(a.y_max, b.y_max) - Greatest(a.y_min, b.y_min);
  const float width = Least(a.x_max, b.x_max) - Greatest(a.x_min, b.x_min);
  const float common = Greatest(height, 0) * Greatest(width, 0);
  return common / (a.area + b.area - common);
}

struct Candidate {
  int64_t box;
  float score;
  size_t seen;  // boxes taken so far that it has been compared with
};

struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.score < b.score || (a.score == b.score && a.box > b.box);
  }
};

}  // namespace

OrderedBox BoxAt(const Suppression& s, int64_t i) {
  const float* const corners = s.boxes + 4 * i;
  OrderedBox box{Least(corners[0], corners[2]), Least(corners[1], corners[3]),
                 Greatest(corners[0], corners[2]), Greatest(corners[1], corners[3]), 0};
  box.area = (box.y_max - box.y_min) * (box.x_max - box.x_min);
  return box;
}

int64_t SuppressNonMaxima(const Suppression& s, int32_t* indices, float* scores) {
  const bool soft = s.sigma > 0;
  const float scale = soft ? -0.5f / s.sigma : 0;
  std::vector<Candidate> candidates;
  for (int64_t i = 0; i < s.n; ++i) {
    if (s.scores[i] > s.least) candidates.push_back({i, s.scores[i], 0});
  }
  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> queue(ComesLater(),
                                                                           std::move(candidates));
  std::vector<OrderedBox> taken;
  while (static_cast<int64_t>(taken.size()) < s.most && !queue.empty()) {
    Candidate next = queue.top();
    queue.pop();
    const OrderedBox box = BoxAt(s, next.box);
    const float before = next.score;
    bool out = false;
    for (size_t k = taken.size(); k-- > next.seen && !out;) {
      const float overlap = Overlap(box, taken[k]);
      next.score *= soft || overlap <= s.overlap ? std::exp(scale * overlap * overlap) : 0;
      out = !soft && overlap > s.overlap;
      if (next.score <= s.least) break;
    }
    next.seen = taken.size();
    if (out) continue;
    if (next.score == before) {
      const size_t at = taken.size();
      if (indices != nullptr) indices[at] = static_cast<int32_t>(next.box);
      if (scores != nullptr) scores[at] = next.score;
      taken.push_back(box);
    } else if (next.score > s.least) {
      queue.push(next);
    }
  }
  return static_cast<int64_t>(taken.size());
}

}  // namespace tektite::ops
