#include "backends/cpu/emit/lane_reduction.h"

#include "backends/cpu/emit/names.h"

#include <utility>

namespace tektite::cpu {

Value ReduceLanesOfEach(loop::Builder& b, std::vector<Value> vectors,
                        const std::function<Value(Value, Value)>& combine) {
  const int lanes = vectors[0].lanes();
  // A vector holds blocks of `block` lanes, each the partial results of one of the reductions.
  for (int block = lanes; block > 1; block /= 2) {
    const bool two = vectors.size() > 1;
    std::vector<int> low, high;
    for (int at = 0; at < vectors[0].lanes(); at += block) {
      for (int from : two ? std::vector<int>{at, lanes + at} : std::vector<int>{at}) {
        for (int i = 0; i < block / 2; ++i) {
          low.push_back(from + i);
          high.push_back(from + block / 2 + i);
        }
      }
    }
    // Reductions that are half of them apart meet, so that lane i ends with reduction i.
    const size_t half = (vectors.size() + 1) / 2;
    for (size_t i = 0; i < half; ++i) {
      Value other = two ? vectors[i + half] : Value();
      vectors[i] = combine(b.Shuffle(vectors[i], other, low), b.Shuffle(vectors[i], other, high));
    }
    vectors.resize(half);
  }
  return vectors[0];
}

}  // namespace tektite::cpu
