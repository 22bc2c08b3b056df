// Packed text comes back, and other bytes are refused.
#include "jit/base/deflate.h"

#include <cstdint>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace tektite {
namespace {

std::string Lines(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += "MatMul " + std::to_string(i) + "#0 T=DT_FLOAT\n";
  return text;
}

TEST(Deflate, ReadsBackWhatWasWritten) {
  std::string noise;
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) noise += static_cast<char>(random());
  for (const std::string& text :
       {std::string(), std::string("a"), Lines(3000), noise, std::string(1 << 20, '\0')}) {
    const std::string packed = Deflate(text);
    EXPECT_LE(packed.size(), text.size() + sizeof(uint64_t));
    std::string back = "something else";
    ASSERT_TRUE(Inflate(packed, &back));
    EXPECT_EQ(back, text);
  }
  EXPECT_LT(Deflate(Lines(3000)).size(), Lines(3000).size() / 4);
}

TEST(Deflate, OtherBytesAreRefused) {
  const std::string packed = Deflate(Lines(100));
  std::string text;
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(Inflate(absl::string_view(packed).substr(0, size), &text)) << size;
  }
  // A size that nothing so short can mean is not even tried.
  std::string lies = packed;
  for (size_t i = 0; i < sizeof(uint64_t); ++i) lies[i] = '\xff';
  EXPECT_FALSE(Inflate(lies, &text));
  lies = packed;
  ++lies[0];
  EXPECT_FALSE(Inflate(lies, &text));
}

}  // namespace
}  // namespace tektite
