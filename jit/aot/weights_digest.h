// The digest by which a library knows the weights that lie outside of it.
//
//   library.data.bytes.resize(PaddedWeights(library.data.bytes.size()));
//   uint64_t digest = WeightsDigest(library.data.bytes);   // a constant of the library's code
//
// It tells whole weights from damaged ones, and those of one library from another's; who wants to
// can make two files that have it in common.  A library computes it while it maps a file, at the
// speed of memory, in code that is emitted (weights_code.h): so it is a few multiplications, and
// chunks of it are added in any order.  Eight words of a block each change a lane of their own,
//
//   lane = rotate((lane ^ word) * kMultiplier, 32)
//
// which is one to one in the lane and in the word: no single change goes unnoticed.
#ifndef TEKTITE_JIT_AOT_WEIGHTS_DIGEST_H_
#define TEKTITE_JIT_AOT_WEIGHTS_DIGEST_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tektite::aot {

struct WeightsDigestFacts {
  static constexpr int64_t kLanes = 8, kBlockBytes = 8 * kLanes, kChunkBytes = 1 << 20;
  // The fraction of the golden ratio, odd; lanes begin at multiples of the other.
  static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15, kSeed = 0xd1b54a32d192ed03;
};

// A multiple of a block, and not 0: what is mapped has a length.
int64_t PaddedWeights(int64_t bytes);
// Of padded bytes.
uint64_t WeightsDigest(absl::string_view bytes);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_WEIGHTS_DIGEST_H_
