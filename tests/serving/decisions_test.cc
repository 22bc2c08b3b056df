#include "jit/serving/decisions.h"

#include <gtest/gtest.h>

namespace tektite::serving {
namespace {

constexpr int64_t kNow = 1'795'000'000;

TEST(Decisions, ReadBackAsWritten) {
  const std::string text =
      WriteDecisions({{0x9f3a0011aabbccdd, true, 0.412, kNow - 5}, {7, false, 1.8, kNow}});
  EXPECT_EQ(text,
            "9f3a0011aabbccdd compiled 0.412 1794999995\n"
            "0000000000000007 host 1.8 1795000000\n");
  const std::vector<Decision> read = ReadDecisions(text, kNow);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].shape_class, 0x9f3a0011aabbccddu);
  EXPECT_TRUE(read[0].compiled_won);
  EXPECT_DOUBLE_EQ(read[0].ratio, 0.412);
  EXPECT_FALSE(read[1].compiled_won);
  EXPECT_EQ(WriteDecisions(read), text);
}

TEST(Decisions, CountForAWhile) {
  const std::string text = WriteDecisions({{1, true, 0.5, kNow}, {2, false, 2, kNow}});
  EXPECT_EQ(ReadDecisions(text, kNow + kLossCountsSeconds).size(), 2u);
  EXPECT_EQ(ReadDecisions(text, kNow + kLossCountsSeconds + 1).size(), 1u);
  EXPECT_EQ(ReadDecisions(text, kNow + kWinCountsSeconds + 1).size(), 0u);
  EXPECT_EQ(ReadDecisions(text, kNow - 1).size(), 0u) << "of a clock that went wrong";
}

TEST(Decisions, LinesWithoutSenseAreLeftOut) {
  const std::string good = WriteDecisions({{1, true, 0.5, kNow}});
  for (const char* bad :
       {"", "\n", "nonsense", "1 compiled", "1 nobody 0.5 1795000000", "1 compiled x 1795000000",
        "1 compiled nan 1795000000", "1 compiled -1 1795000000", "1 compiled inf 1795000000",
        "1 compiled 0.5 1795000000 more", "1 compiled 0.5 99999999999999999999999"}) {
    EXPECT_EQ(ReadDecisions(std::string(bad) + "\n" + good, kNow).size(), 1u) << bad;
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += good;
  EXPECT_EQ(ReadDecisions(many, kNow).size(), kMostDecisions);
  for (size_t size = 0; size < good.size(); ++size) ReadDecisions(good.substr(0, size), kNow);
}

TEST(Decisions, HaveASummaryForPeople) {
  EXPECT_EQ(SummaryOf({{1, true, 0.5, kNow}}), "code won 1 of 1 class of shapes");
  EXPECT_EQ(SummaryOf({{1, true, 0.5, kNow}, {2, false, 2, kNow}}),
            "code won 1 of 2 classes of shapes");
}

}  // namespace
}  // namespace tektite::serving
