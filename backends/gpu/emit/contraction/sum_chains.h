// Long sums of floats as sums of chains, which keep more digits than one chain does: the error of a
// chain grows with its terms (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
//
//   state = the chain's sums, then those of all chains that have ended
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_SUM_CHAINS_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_SUM_CHAINS_H_

#include <cstdint>
#include <vector>

#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Terms up to which a sum is one chain.
inline constexpr int64_t kMostInChain = 256;

// The state behind `terms` terms (s64, at least 0): where these are whole chains the chain ends,
// and its sums are `zeros` again.
std::vector<loop::Value> EndChain(loop::Builder& b, loop::Value terms,
                                  const std::vector<loop::Value>& state,
                                  const std::vector<loop::Value>& zeros);
// The sums of all terms.
std::vector<loop::Value> EndOfChains(loop::Builder& b, const std::vector<loop::Value>& state);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_SUM_CHAINS_H_
