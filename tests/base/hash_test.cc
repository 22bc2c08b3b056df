// Fingerprints and checksums mean the same on every machine: files are found and checked by them.
#include "jit/base/hash.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace tektite {
namespace {

std::string HexOf(const Checksum& sum) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size()));
}

TEST(HashTest, NothingHasThePublishedValues) {
  // XXH3's of 128 bits without a seed, and BLAKE2b's of 256 bits.
  EXPECT_EQ(HexOf(ChecksumOf("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(FingerprintOf("").Hex(),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

// Of each of the lengths that the algorithm treats apart, and across its blocks.
TEST(HashTest, EveryByteCounts) {
  for (const size_t size : {1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1024, 4097}) {
    std::string bytes(size, 'a');
    const Checksum whole = ChecksumOf(bytes);
    EXPECT_EQ(ChecksumOf(std::string(bytes)), whole);
    for (size_t i = 0; i < size; ++i) {
      bytes[i] ^= 1;
      EXPECT_FALSE(ChecksumOf(bytes) == whole) << size << " " << i;
      bytes[i] ^= 1;
    }
    EXPECT_FALSE(ChecksumOf(bytes + 'a') == whole) << size;
  }
}

}  // namespace
}  // namespace tektite
