// An entry is what was written, or it is refused.
#include "jit/cache/entry.h"

#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

std::string Payload() {
  std::string payload(3000, '\0');
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * i >> 3);
  return payload;
}

// 100,000 where TEKTITE_MUTATIONS says so.
int Mutations() {
  const char* const text = std::getenv("TEKTITE_MUTATIONS");
  return text == nullptr ? 5000 : std::atoi(text);
}

TEST(Entry, ReadsBackWhatWasWritten) {
  const CacheKey key = TestKey("softmax");
  const std::string bytes = EncodeEntry(key, Payload(), 123456789);
  Entry entry;
  ASSERT_EQ(DecodeEntry(bytes, &entry), EntryFault::kNone);
  EXPECT_EQ(entry.name, "softmax");
  EXPECT_EQ(entry.header.key, key.fingerprint);
  EXPECT_EQ(entry.header.kind, EntryKind::kKernel);
  EXPECT_EQ(entry.header.created_us, 123456789);
  EXPECT_EQ(entry.header.prints, PrintsOf(key.parts));
  EXPECT_EQ(entry.payload, Payload());
  EXPECT_EQ(entry.parts[static_cast<size_t>(KeyPart::kIr)], "ir of softmax");
  absl::string_view payload;
  ASSERT_EQ(DecodePayload(bytes, key.fingerprint, &payload), EntryFault::kNone);
  EXPECT_EQ(payload, Payload());
  // A file under another entry's name.
  EXPECT_EQ(DecodePayload(bytes, TestKey("other").fingerprint, &payload), EntryFault::kDamaged);
}

// People seldom read a computation's text; each process reads the file.
TEST(Entry, ALongTextTakesLittleRoom) {
  CacheKey key = TestKey("k");
  std::string& text = key.parts[static_cast<size_t>(KeyPart::kIr)];
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "MatMul ", i, "#0 transpose_b=false\n");
  const std::string bytes = EncodeEntry(key, "a payload", 1);
  EXPECT_LT(bytes.size(), text.size() / 4);
  Entry entry;
  ASSERT_EQ(DecodeEntry(bytes, &entry), EntryFault::kNone);
  EXPECT_EQ(entry.parts[static_cast<size_t>(KeyPart::kIr)], text);
}

TEST(Entry, EveryTruncationIsRefused) {
  const CacheKey key = TestKey("k");
  const std::string bytes = EncodeEntry(key, "a payload", 1);
  absl::string_view payload;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodePayload(absl::string_view(bytes).substr(0, size), key.fingerprint, &payload),
              EntryFault::kDamaged);
  }
  EXPECT_EQ(DecodePayload(bytes + "x", key.fingerprint, &payload), EntryFault::kDamaged);
}

TEST(Entry, EveryFlippedBitIsRefused) {
  const CacheKey key = TestKey("k");
  std::string bytes = EncodeEntry(key, "a payload", 1);
  absl::string_view payload;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(DecodePayload(bytes, key.fingerprint, &payload), EntryFault::kNone) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(Entry, AnotherFormatIsForeign) {
  const CacheKey key = TestKey("k");
  std::string bytes = EncodeEntry(key, "a payload", 1);
  bytes[8] = static_cast<char>(kEntryFormat + 1);
  absl::string_view payload;
  EXPECT_EQ(DecodePayload(bytes, key.fingerprint, &payload), EntryFault::kForeign);
  EntryHeader header;
  EXPECT_FALSE(ReadHeader(bytes, &header));
}

class EveryKind : public ::testing::TestWithParam<EntryKind> {};

TEST_P(EveryKind, RandomMutationsAreRefused) {
  const CacheKey key = TestKey("mutated", GetParam());
  const std::string good = EncodeEntry(key, Payload(), 7);
  std::mt19937_64 random(20);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int refused = 0, tried = 0;
  while (tried < Mutations()) {
    std::string bytes = good;
    switch (below(5)) {
      case 0:  // some bytes change
        for (size_t i = 0, n = 1 + below(8); i < n; ++i) bytes[below(bytes.size())] = random();
        break;
      case 1:  // a piece is lost
        bytes.erase(below(bytes.size()), 1 + below(64));
        break;
      case 2:  // a piece comes twice
        bytes.insert(below(bytes.size()), bytes.substr(below(bytes.size()), 1 + below(64)));
        break;
      case 3: {  // a block of zeros, as file systems leave after a power failure
        const size_t at = below(bytes.size());
        bytes.replace(at, 512, std::min<size_t>(512, bytes.size() - at), '\0');
        break;
      }
      default: {  // a length that lies
        const uint64_t lie = random() >> below(64);
        bytes.replace(below(bytes.size() - 8), 8, reinterpret_cast<const char*>(&lie), 8);
      }
    }
    if (bytes == good) continue;
    ++tried;
    absl::string_view payload;
    Entry entry;
    const bool payload_refused =
        DecodePayload(bytes, key.fingerprint, &payload) != EntryFault::kNone;
    const bool entry_refused = DecodeEntry(bytes, &entry) != EntryFault::kNone;
    refused += payload_refused && entry_refused;
  }
  EXPECT_EQ(refused, tried);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind,
                         ::testing::Values(EntryKind::kKernel, EntryKind::kModule,
                                           EntryKind::kTuning, EntryKind::kDecision),
                         [](const auto& info) { return std::string(EntryKindName(info.param)); });

}  // namespace
}  // namespace tektite::cache
