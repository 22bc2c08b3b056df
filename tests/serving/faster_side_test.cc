// Which side runs a call, and what is remembered of it, with sides whose times a test sets.
#include "jit/serving/faster_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tektite::serving {
namespace {

using Host = CallFacts::Host;

int64_t now = 0;
int64_t FakeClock() { return now; }

class FakeSides : public Sides {
 public:
  int64_t code_ns = 50, host_ns = 100;
  absl::Status code, host;
  bool is_host_ready = true, is_packing = false;
  std::string log;       // c: code, h: the host, n: it was not ready, s: settled
  int64_t told_ns = -1;  // of the host's kernels; -2: that there are none
  std::string refusal;

  absl::Status RunCode(const int64_t* taken, Comparison::Turn* turn) override {
    told_ns = taken == nullptr ? -2 : *taken;
    now += code_ns;
    if (!code.ok()) return code;
    log += 'c';
    turn->artifact = 1;
    turn->is_packing = is_packing;
    return code;
  }
  absl::Status RunHost(Fallback why, const absl::Status& refused) override {
    refusal = std::string(refused.message());
    if (why == Fallback::MEASURING_HOST && !is_host_ready) {
      log += 'n';
      return absl::UnavailableError("not made yet");
    }
    now += host_ns;
    log += 'h';
    return host;
  }
  void Settle(Comparison::Side) override { log += 's'; }
};

class FasterSideTest : public testing::Test {
 protected:
  FasterSide::Options Options() {
    FasterSide::Options options;
    options.clock = &FakeClock;
    options.recall = [this] { return earlier; };
    options.keep = [this](const Comparison& comparison) { kept = comparison.Decisions(1); };
    return options;
  }
  Fallback Run(FasterSide& faster, int times = 1) {
    Fallback why = Fallback::NONE;
    for (int i = 0; i < times; ++i) status = faster.Run(call, sides, &why);
    return why;
  }
  static CallFacts Facts() {
    CallFacts facts;
    facts.shape_class = 7;
    facts.host = Host::kRuns;
    return facts;
  }

  std::vector<Decision> earlier, kept;
  FakeSides sides;
  CallFacts call = Facts();
  absl::Status status;
};

TEST_F(FasterSideTest, CodeThatIsFasterRunsAndIsRemembered) {
  FasterSide faster(Options());
  EXPECT_EQ(Run(faster, 3), Fallback::NONE);
  EXPECT_EQ(sides.log, "ccc");
  EXPECT_EQ(faster.Standing(), 0);
  EXPECT_EQ(Run(faster), Fallback::MEASURING_HOST);
  Run(faster, 20);
  EXPECT_EQ(faster.Standing(), 1);
  EXPECT_EQ(faster.Summary().compiled, 1);
  ASSERT_EQ(kept.size(), 1);
  EXPECT_TRUE(kept[0].compiled_won);
  sides.log.clear();
  EXPECT_EQ(Run(faster, 5), Fallback::NONE);
  EXPECT_EQ(sides.log, "ccccc");
}

// The later rows of docs/design/call_states.md.
TEST_F(FasterSideTest, AClassOfCallsPassesItsStages) {
  FasterSide faster(Options());
  const auto log_of = [&](int calls) {
    sides.log.clear();
    Run(faster, calls);
    return std::exchange(sides.log, "");
  };
  sides.code = absl::UnavailableError("waiting, or being compiled");
  EXPECT_EQ(log_of(2), "hh");
  EXPECT_EQ(Run(faster), Fallback::NOT_COMPILED);
  sides.code = absl::OkStatus();
  sides.is_packing = true;
  EXPECT_EQ(log_of(5), "ccccc");
  sides.is_packing = false;
  EXPECT_EQ(log_of(3), "ccc");
  const std::string sample = "shsshsscsscs";  // two calls of either side, each settled
  EXPECT_EQ(log_of(12), sample + sample + sample);
  EXPECT_EQ(faster.Summary().compiled, 1);
  EXPECT_EQ(log_of(999), std::string(999, 'c'));
  EXPECT_EQ(log_of(4), sample) << "a check";
  sides.code_ns = 500;
  Run(faster, 40000);
  EXPECT_EQ(Run(faster), Fallback::SLOWER_THAN_HOST) << "checks, a comparison, and its result";
  call.code_generation = 1;
  sides.code_ns = 20;
  EXPECT_EQ(Run(faster), Fallback::MEASURING_HOST) << "new code";
}

TEST_F(FasterSideTest, CallsThatFailInARowGiveWay) {
  FasterSide faster(Options());
  sides.code = absl::FailedPreconditionError("a check");
  EXPECT_EQ(Run(faster, 3), Fallback::CHECK_FAILED);
  EXPECT_EQ(faster.Standing(), -1);
  sides.log.clear();
  EXPECT_EQ(Run(faster, 64), Fallback::TOO_MANY_FAILURES);
  EXPECT_EQ(sides.log, std::string(64, 'h'));
  call.host = Host::kAbsent;
  EXPECT_EQ(Run(faster), Fallback::TOO_MANY_FAILURES);
  EXPECT_TRUE(absl::IsUnavailable(status));
  call.host = Host::kRuns;
  call.reproducible = true;
  EXPECT_EQ(Run(faster), Fallback::CHECK_FAILED) << "whatever came before";
  call.reproducible = false;
  sides.code = absl::OkStatus();
  EXPECT_EQ(Run(faster), Fallback::NONE);
  EXPECT_EQ(faster.Standing(), 0);
}

// A host without kernels has nothing to give way to, and calls to be reproducible do not count.
TEST_F(FasterSideTest, OthersThatFailDoNotGiveWay) {
  FasterSide faster(Options());
  sides.code = absl::FailedPreconditionError("a check");
  call.reproducible = true;
  EXPECT_EQ(Run(faster, 9), Fallback::CHECK_FAILED);
  EXPECT_FALSE(faster.HasFailed());
  call.reproducible = false;
  call.host = Host::kNone;
  EXPECT_EQ(Run(faster, 9), Fallback::CHECK_FAILED);
  EXPECT_TRUE(faster.HasFailed());
}

TEST_F(FasterSideTest, CodeThatIsSlowerDoesNotRun) {
  FasterSide faster(Options());
  sides.code_ns = 500;
  Run(faster, 30);
  EXPECT_EQ(Run(faster), Fallback::SLOWER_THAN_HOST);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(faster.Summary().host, 1);
  EXPECT_EQ(faster.Standing(), 0);
  // Each measured call is settled before and after, and no other.
  for (const char* part : {"shs", "scs"}) EXPECT_NE(sides.log.find(part), sides.log.npos);
  sides.log.clear();
  Run(faster);
  EXPECT_EQ(sides.log, "h");
}

TEST_F(FasterSideTest, WhatAnEarlierProcessFoundOutCounts) {
  earlier = {{7, true, 0.5, 0}};
  FasterSide faster(Options());
  EXPECT_EQ(faster.Standing(), 1);
  call.host = Host::kAbsent;
  EXPECT_EQ(Run(faster), Fallback::NONE);
  EXPECT_EQ(sides.log, "c");
}

// A request waited for the host's kernels to be made, which only a comparison needed.
TEST_F(FasterSideTest, NoCallWaitsForKernelsThatAreNotReady) {
  FasterSide faster(Options());
  Run(faster, 3);
  sides.log.clear();
  sides.is_host_ready = false;
  EXPECT_EQ(Run(faster), Fallback::NONE);
  EXPECT_EQ(sides.log, "snc");
  sides.is_host_ready = true;
  EXPECT_EQ(Run(faster), Fallback::MEASURING_HOST);
}

TEST_F(FasterSideTest, TheHostRunsWhatCodeRefuses) {
  FasterSide faster(Options());
  sides.code = absl::UnimplementedError("no code for this");
  EXPECT_EQ(Run(faster), Fallback::NO_CODE);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(sides.log, "h");
  EXPECT_EQ(sides.refusal, "no code for this");
  sides.host = absl::InternalError("the user's error");
  EXPECT_EQ(Run(faster), Fallback::NO_CODE);
  EXPECT_TRUE(absl::IsInternal(status));
}

// Neither side has anything to do for a caller that has gone.
TEST_F(FasterSideTest, NobodyRunsACallThatIsCancelled) {
  FasterSide faster(Options());
  sides.code = absl::CancelledError("");
  EXPECT_EQ(Run(faster), Fallback::CANCELLED);
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(sides.log, "");
}

TEST_F(FasterSideTest, WhatTheHostHasTakenTellsWhetherCompilingPays) {
  FasterSide faster(Options());
  sides.code = absl::UnavailableError("not compiled yet");
  EXPECT_EQ(Run(faster, 3), Fallback::NOT_COMPILED);
  EXPECT_EQ(sides.told_ns, 200) << "the first call, and the second";
  call.host = Host::kNone;
  EXPECT_EQ(Run(faster), Fallback::NOT_COMPILED);
  EXPECT_EQ(sides.told_ns, -2);
  EXPECT_TRUE(absl::IsUnavailable(status));
}

TEST_F(FasterSideTest, ACallerWithoutTheHostsKernelsIsServedOnceCodeHasWon) {
  FasterSide faster(Options());
  call.host = Host::kAbsent;
  EXPECT_EQ(Run(faster, 10), Fallback::COMPARING);
  EXPECT_EQ(sides.log, "");
  call.host = Host::kRuns;
  Run(faster, 20);
  call.host = Host::kAbsent;
  sides.log.clear();
  EXPECT_EQ(Run(faster), Fallback::NONE);
  EXPECT_EQ(sides.log, "c");
}

// A comparison of calls that later ones will be faster than would say nothing.
TEST_F(FasterSideTest, NothingIsComparedWhilePacking) {
  FasterSide faster(Options());
  sides.is_packing = true;
  EXPECT_EQ(Run(faster, Comparison::kMostPackingCalls), Fallback::NONE);
  EXPECT_EQ(Run(faster, Comparison::kWarmRuns), Fallback::NONE);
  EXPECT_EQ(sides.log, std::string(Comparison::kMostPackingCalls + Comparison::kWarmRuns, 'c'));
  EXPECT_EQ(Run(faster), Fallback::MEASURING_HOST) << "not for ever";
}

TEST_F(FasterSideTest, NewCodeIsPackedBeforeItIsCompared) {
  FasterSide faster(Options());
  sides.code_ns = 500;
  Run(faster, 30);
  EXPECT_EQ(Run(faster), Fallback::SLOWER_THAN_HOST);
  call.code_generation = 1;
  sides.is_packing = true;
  Run(faster, 5);
  EXPECT_EQ(faster.Summary().open, 1);
  sides.log.clear();
  Run(faster, 20);
  EXPECT_EQ(sides.log, std::string(20, 'c'));
  sides.is_packing = false;
  sides.code_ns = 20;
  Run(faster, 30);
  EXPECT_EQ(faster.Summary().compiled, 1) << sides.log;
}

TEST_F(FasterSideTest, NothingIsComparedInReproducibleCalls) {
  FasterSide faster(Options());
  call.reproducible = true;
  EXPECT_EQ(Run(faster, 50), Fallback::NONE);
  EXPECT_EQ(sides.log, std::string(50, 'c'));
  EXPECT_EQ(faster.Summary().open, 0);
}

TEST_F(FasterSideTest, WithoutComparisonsCodeRunsWhatItCan) {
  FasterSide::Options options = Options();
  options.compares = false;
  FasterSide faster(std::move(options));
  sides.code_ns = 500;
  call.host = Host::kAbsent;
  EXPECT_EQ(faster.Standing(), 0);
  EXPECT_EQ(Run(faster, 50), Fallback::NONE);
  EXPECT_EQ(sides.log, std::string(50, 'c'));
  EXPECT_EQ(faster.Standing(), 1);
}

TEST_F(FasterSideTest, ThreadsMayCallAtOnce) {
  class Counting : public Sides {
   public:
    absl::Status RunCode(const int64_t*, Comparison::Turn* turn) override {
      turn->artifact = 1;
      ++calls;
      return absl::OkStatus();
    }
    absl::Status RunHost(Fallback, const absl::Status&) override {
      std::this_thread::yield();
      ++calls;
      return absl::OkStatus();
    }
    std::atomic<int> calls{0};
  } counting;
  FasterSide faster({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      CallFacts facts;
      facts.shape_class = t % 2;
      facts.host = Host::kRuns;
      for (int i = 0; i < 500; ++i) {
        Fallback why = Fallback::NONE;
        faster.Run(facts, counting, &why).IgnoreError();
        if (i % 50 == 0) faster.Summary();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counting.calls, 2000);
}

}  // namespace
}  // namespace tektite::serving
