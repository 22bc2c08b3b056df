#include "runtime_hooks/tensorflow/hook/graph_pass/repeat_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tektite::tf_hook {
namespace {

using Cache = RepeatCache<std::string>;

std::shared_ptr<const std::string> ResultOf(const std::string& text) {
  return std::make_shared<std::string>("result of " + text);
}

void OfferTwice(const std::string& text, Cache* cache) {
  for (int i = 0; i < 2; ++i) cache->Offer(text, ResultOf(text));
}

TEST(RepeatCache, KeepsWhatIsOfferedForTheSecondTime) {
  Cache cache;
  EXPECT_EQ(cache.Find("a"), nullptr);
  cache.Offer("a", ResultOf("a"));
  EXPECT_EQ(cache.Find("a"), nullptr);
  cache.Offer("a", ResultOf("a"));
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(*cache.Find("a"), "result of a");
}

TEST(RepeatCache, TellsTextsApartByEveryByte) {
  Cache cache;
  const std::string text("a\0b", 3), other("a\0c", 3);
  OfferTwice(text, &cache);
  EXPECT_NE(cache.Find(text), nullptr);
  EXPECT_EQ(cache.Find(other), nullptr);
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find(""), nullptr);
}

TEST(RepeatCache, KeepsTheLastThatWereUsed) {
  Cache cache;
  OfferTwice("used", &cache);
  for (size_t i = 0; i < 2 * Cache::kMostKept; ++i) {
    OfferTwice(std::to_string(i), &cache);
    EXPECT_NE(cache.Find("used"), nullptr);
  }
  size_t kept = 0;
  for (size_t i = 0; i < 2 * Cache::kMostKept; ++i) {
    kept += cache.Find(std::to_string(i)) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(kept, Cache::kMostKept - 1);
  EXPECT_EQ(cache.Find("0"), nullptr);
}

TEST(RepeatCache, ForgetsThatATextCameLongAgo) {
  Cache cache;
  cache.Offer("a", ResultOf("a"));
  for (size_t i = 0; i < Cache::kMostRemembered; ++i) {
    cache.Offer(std::to_string(i), ResultOf(std::to_string(i)));
  }
  cache.Offer("a", ResultOf("a"));
  EXPECT_EQ(cache.Find("a"), nullptr);
}

TEST(RepeatCache, AResultOutlivesItsPlace) {
  Cache cache;
  OfferTwice("a", &cache);
  const std::shared_ptr<const std::string> held = cache.Find("a");
  for (size_t i = 0; i < Cache::kMostKept; ++i) OfferTwice(std::to_string(i), &cache);
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(*held, "result of a");
}

TEST(RepeatCache, ThreadsGetTheResultOfTheirText) {
  Cache cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string text = std::to_string((i * (t + 1)) % 50);
        const std::shared_ptr<const std::string> found = cache.Find(text);
        if (found == nullptr) {
          cache.Offer(text, ResultOf(text));
        } else {
          ASSERT_EQ(*found, "result of " + text);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tektite::tf_hook
