#include "backends/gpu/emit/contraction/sum_chains.h"

#include "backends/gpu/emit/names.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

Values EndOfChains(loop::Builder& b, const Values& state) {
  Values sums;
  const size_t half = state.size() / 2;
  for (size_t i = 0; i < half; ++i) sums.push_back(b.Add(state[half + i], state[i]));
  return sums;
}

Values EndChain(loop::Builder& b, Value terms, const Values& state, const Values& zeros) {
  return b.IfElse(
      b.Compare("eq", b.RemNarrow(terms, kMostInChain), b.Index(0)),
      [&] {
        Values ended = zeros;
        for (Value sum : EndOfChains(b, state)) ended.push_back(sum);
        return ended;
      },
      [&] { return state; });
}

}  // namespace tektite::gpu
