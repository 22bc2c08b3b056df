#include "jit/aot/weights_digest.h"

#include <array>
#include <cstring>

namespace tektite::aot {
namespace {

using Facts = WeightsDigestFacts;

uint64_t Mix(uint64_t lane, uint64_t word) {
  const uint64_t product = (lane ^ word) * Facts::kMultiplier;
  return product << 32 | product >> 32;
}

uint64_t ChunkDigest(absl::string_view bytes, uint64_t number) {
  std::array<uint64_t, Facts::kLanes> lanes;
  for (size_t l = 0; l < lanes.size(); ++l) {
    lanes[l] = (number * lanes.size() + l + 1) * Facts::kSeed;
  }
  for (size_t at = 0; at < bytes.size(); at += Facts::kBlockBytes) {
    std::array<uint64_t, Facts::kLanes> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof(words));
    for (size_t l = 0; l < lanes.size(); ++l) lanes[l] = Mix(lanes[l], words[l]);
  }
  uint64_t digest = 0;
  for (uint64_t lane : lanes) digest = Mix(digest, lane);
  return digest;
}

}  // namespace

uint64_t WeightsDigest(absl::string_view bytes) {
  uint64_t digest = 0, number = 0;
  for (size_t at = 0; at < bytes.size(); at += Facts::kChunkBytes) {
    digest += ChunkDigest(bytes.substr(at, Facts::kChunkBytes), number++);
  }
  return digest;
}

uint64_t SealWeights(std::string* bytes) {
  constexpr size_t kBlock = Facts::kBlockBytes;
  bytes->resize((bytes->size() + kBlock - 1) / kBlock * kBlock);
  const uint64_t seal[] = {Facts::kSeal, WeightsDigest(*bytes), bytes->size()};
  bytes->append(reinterpret_cast<const char*>(seal), sizeof(seal));
  bytes->resize(bytes->size() + Facts::kSealBytes - sizeof(seal));
  return seal[1];
}

}  // namespace tektite::aot
