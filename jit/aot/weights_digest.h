// The digest by which a library knows the weights that lie outside of it.
//
//   uint64_t digest = SealWeights(&library.data.bytes);   // a constant of the library's code
//
// It tells whole weights from damaged ones, and those of one library from another's; who wants to
// can make two files that have it in common.  A library computes it while it maps a file, at the
// speed of memory, in code that is emitted (weights_code.h): so it is a few multiplications, and
// chunks of it are added in any order.  Eight words of a block each change a lane of their own,
//
//   lane = rotate((lane ^ word) * kMultiplier, 32)
//
// which is one to one in the lane and in the word: no single change goes unnoticed.
//
// The last block is the seal: a word that says what this is, the digest of all before it, and how
// many bytes these are.  Who reads nothing but the seal knows whose weights they are, not whether
// they are whole.
#ifndef TEKTITE_JIT_AOT_WEIGHTS_DIGEST_H_
#define TEKTITE_JIT_AOT_WEIGHTS_DIGEST_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tektite::aot {

struct WeightsDigestFacts {
  static constexpr int64_t kLanes = 8, kBlockBytes = 8 * kLanes, kChunkBytes = 1 << 20;
  // The fraction of the golden ratio, odd; lanes begin at multiples of the other.
  static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15, kSeed = 0xd1b54a32d192ed03;
  static constexpr uint64_t kSeal = 0x57657469746b6574;  // "tektiteW"
  static constexpr int64_t kSealBytes = kBlockBytes;
};

// Of whole blocks.
uint64_t WeightsDigest(absl::string_view bytes);
// Pads the bytes to whole blocks, adds the seal, and returns the digest in it.
uint64_t SealWeights(std::string* bytes);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_WEIGHTS_DIGEST_H_
