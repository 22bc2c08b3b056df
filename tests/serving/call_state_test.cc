// The list of states and transitions (jit/serving/call_state_list.inc).
#include "jit/serving/call_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace tektite::serving {
namespace {

constexpr auto kLastState = CallState::kSettledForHost;
constexpr auto kLastEvent = CallEvent::kFirstTime;

std::vector<CallState> AllStates() {
  std::vector<CallState> all;
  for (int s = 0; s <= static_cast<int>(kLastState); ++s) all.push_back(static_cast<CallState>(s));
  return all;
}

// Every state with every event: what the list has happens, and nothing else does.
TEST(CallState, ProgressFollowsTheList) {
  std::set<std::pair<CallState, CallEvent>> rows;
  for (const CallTransition& row : kCallTransitions) {
    EXPECT_TRUE(rows.emplace(row.from, row.event).second) << "two rows for one event";
    EXPECT_NE(row.from, row.to);
    CallProgress progress(row.from);
    EXPECT_TRUE(progress.Take(row.event));
    EXPECT_EQ(progress.state(), row.to);
  }
  for (const CallState from : AllStates()) {
    for (int e = 0; e <= static_cast<int>(kLastEvent); ++e) {
      const auto event = static_cast<CallEvent>(e);
      if (rows.count({from, event}) > 0) continue;
      CallProgress progress(from);
      EXPECT_FALSE(progress.Take(event));
      EXPECT_EQ(progress.state(), from);
    }
  }
}

TEST(CallState, EveryStateIsReachedAndOnlyARefusalIsTheEnd) {
  std::set<CallState> reached = {CallState::kNew}, left;
  std::set<CallEvent> events;
  for (size_t i = 0; i < AllStates().size(); ++i) {
    for (const CallTransition& row : kCallTransitions) {
      if (reached.count(row.from) > 0) reached.insert(row.to);
      left.insert(row.from);
      events.insert(row.event);
    }
  }
  for (const CallState state : AllStates()) {
    EXPECT_EQ(reached.count(state), 1u) << static_cast<int>(state);
    EXPECT_EQ(left.count(state), state == CallState::kRefused ? 0u : 1u) << static_cast<int>(state);
  }
  EXPECT_EQ(events.size(), static_cast<size_t>(kLastEvent) + 1) << "an event that no row has";
}

// Of code that is there, and of code that is refused, no event takes it back.
TEST(CallState, WhatIsMadeStaysMade) {
  for (const CallTransition& row : kCallTransitions) {
    EXPECT_LE(IsMade(row.from), IsMade(row.to));
  }
  EXPECT_FALSE(IsMade(CallState::kCompiling));
  EXPECT_TRUE(IsMade(CallState::kRefused));
  EXPECT_TRUE(IsMade(CallState::kPacking));
}

TEST(CallState, OneThreadOfManyTakesAnEvent) {
  for (int round = 0; round < 200; ++round) {
    CallProgress progress(CallState::kNew);
    std::atomic<int> taken{0}, begun{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        ++begun;
        while (begun < 4) std::this_thread::yield();
        taken += progress.Take(CallEvent::kAsked) ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace tektite::serving
