// Steps that run as one compute what they compute one after the other.
#include "jit/runtime/rounds.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "tests/runtime/fake_kernels.h"
#include "tests/runtime/test_pool.h"

namespace tektite::runtime {
namespace {

constexpr int64_t kColumns = 4;
using Matrix = std::vector<float>;  // rows of kColumns

// How a kernel of rows is cut and what it reads.
struct RowSpec {
  int64_t rows = 0;           // of the results
  int64_t rows_per_band = 1;  // a band is `chunks` chunks, each some of its columns
  int64_t chunks = 1;         // 1, 2 or kColumns
  std::vector<bool> by_row;   // by operand; the others are read one row further, too
  bool in_place = false;      // over operands that are read by row
};

// y[r][c] = sum over operands o of (o + 1) * (x_o[r][c] + (by row ? 0 : x_o[min(r + 1, last)][c]))
float Element(const RowSpec& spec, const std::vector<const float*>& operands, int64_t r,
              int64_t c) {
  float sum = 1;
  for (size_t o = 0; o < operands.size(); ++o) {
    const auto weight = static_cast<float>(o + 1);
    sum += weight * operands[o][r * kColumns + c] / 8;
    if (!spec.by_row[o]) {
      sum += weight * operands[o][std::min(r + 1, spec.rows - 1) * kColumns + c] / 16;
    }
  }
  return sum;
}

class RowKernel : public backend::Kernel {
 public:
  explicit RowKernel(RowSpec spec, double cost_ns = 1e6) : spec_(std::move(spec)), cost_(cost_ns) {}

  backend::LaunchPlan Plan(absl::Span<const int64_t>) const override {
    const int64_t bands = (spec_.rows + spec_.rows_per_band - 1) / spec_.rows_per_band;
    return {bands * spec_.chunks, 0, cost_, {spec_.chunks, spec_.rows_per_band, spec_.rows}};
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    std::vector<const float*> operands;
    for (size_t o = 0; o < spec_.by_row.size(); ++o) {
      operands.push_back(static_cast<const float*>(frame.buffers[o]));
    }
    auto* y = static_cast<float*>(frame.buffers[operands.size()]);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk / spec_.chunks * spec_.rows_per_band;
      const int64_t columns = kColumns / spec_.chunks, column = chunk % spec_.chunks * columns;
      for (int64_t r = first; r < std::min(first + spec_.rows_per_band, spec_.rows); ++r) {
        for (int64_t c = column; c < column + columns; ++c) {
          y[r * kColumns + c] = Element(spec_, operands, r, c);
        }
      }
    }
  }
  bool CanRunInPlace(int operand, int) const override {
    return spec_.in_place && spec_.by_row[operand];
  }
  bool ReadsByRow(int operand) const override { return spec_.by_row[operand]; }

 private:
  const RowSpec spec_;
  const double cost_;
};

ir::Value Add(FakeGraph& g, std::vector<ir::Value> operands, const RowSpec& spec,
              double cost_ns = 1e6) {
  return g.Fusion(std::move(operands), {spec.rows, kColumns},
                  std::make_shared<RowKernel>(spec, cost_ns));
}

// So that small arrays make passes.
RoundOptions SmallPasses() {
  RoundOptions options;
  options.least_blocks = 4;
  options.least_bytes_saved = 1;
  return options;
}

BufferPlan PlanOf(const StepGraph& steps, const RoundOptions& options = SmallPasses()) {
  return PlanBuffers(steps, std::vector<bool>(steps.groups.size(), true), {}, options);
}

TEST(Rounds, AChainByRowIsAPass) {
  FakeGraph g;
  ir::Value x = g.Parameter({64, kColumns});
  ir::Value a = Add(g, {x}, {64, 2, 1, {false}});
  ir::Value b = Add(g, {a}, {64, 4, 2, {true}});
  ir::Value c = Add(g, {b, a}, {64, 1, 1, {true, true}});
  ir::Value d = Add(g, {c}, {64, 1, 1, {false}});  // reads its neighbour's row
  const StepGraph steps = g.Steps({d});
  const BufferPlan plan = PlanOf(steps);
  EXPECT_EQ(plan.rounds.of_step, (std::vector<int>{0, 0, 0, 1}));
  const auto is_local = [&](int step) { return plan.rounds.local[steps.steps[step].results[0]]; };
  EXPECT_TRUE(is_local(0) && is_local(1));
  EXPECT_FALSE(is_local(2) || is_local(3));
  EXPECT_EQ(PlanOf(steps, {}).rounds.of_step, (std::vector<int>{0, 1, 2, 3}));  // 2 KiB saved
}

TEST(Rounds, RowsThatDoNotFitEachOtherAreNoPass) {
  FakeGraph g;
  ir::Value x = g.Parameter({64, kColumns});
  ir::Value a = Add(g, {x}, {64, 7, 1, {true}});
  ir::Value b = Add(g, {a}, {64, 5, 1, {true}});  // blocks of 35 rows
  EXPECT_EQ(PlanOf(g.Steps({b})).rounds.of_step, (std::vector<int>{0, 1}));
}

TEST(Rounds, WeightsThatLeaveNoRoomInCacheEndAPass) {
  FakeGraph g;
  ir::Value x = g.Parameter({64, kColumns}), weights = g.Parameter({64 << 10, kColumns});
  ir::Value a = Add(g, {x}, {64, 2, 1, {true}});
  ir::Value b = Add(g, {a, weights}, {64, 2, 1, {true, false}});
  EXPECT_EQ(PlanOf(g.Steps({b})).rounds.of_step, (std::vector<int>{0, 1}));
}

TEST(Rounds, BlocksThatDoNotFitIntoCacheAreNoPass) {
  constexpr int64_t kRows = 1 << 18;
  FakeGraph g;
  ir::Value x = g.Parameter({kRows, kColumns});
  ir::Value a = Add(g, {x}, {kRows, kRows / 4, 1, {true}});  // 1 MiB a block
  ir::Value b = Add(g, {a}, {kRows, 1, 1, {true}});
  EXPECT_EQ(PlanOf(g.Steps({b})).rounds.of_step, (std::vector<int>{0, 1}));
}

TEST(Rounds, SmallStepsGatherSideBySide) {
  FakeGraph g;
  ir::Value x = g.Parameter({64, kColumns});
  const RowSpec spec = {64, 64, 1, {false}};
  std::vector<ir::Value> ends;
  for (int i = 0; i < 3; ++i) ends.push_back(Add(g, {Add(g, {x}, spec, 1e3)}, spec, 1e3));
  ends.push_back(Add(g, {x}, spec, /*cost_ns=*/1e6));
  const StepGraph steps = g.Steps(ends);
  const BufferPlan plan = PlanOf(steps);
  EXPECT_EQ(plan.steps, (std::vector<int>{0, 2, 4, 1, 3, 5, 6}));
  EXPECT_EQ(plan.rounds.of_step, (std::vector<int>{0, 0, 0, 1, 1, 1, 2}));
}

// A reader of the old value runs at the same time: nothing may be written over it.
TEST(Rounds, NothingIsOverwrittenThatTheRoundReads) {
  FakeGraph g;
  ir::Value x = g.Parameter({64, kColumns});
  ir::Value a = Add(g, {x}, {64, 64, 1, {false}});
  ir::Value b = Add(g, {a}, {64, 2, 1, {false}});
  ir::Value c = Add(g, {b, a}, {64, 2, 1, {true, true}, /*in_place=*/true});
  ir::Value d = Add(g, {c}, {64, 64, 1, {false}});
  const StepGraph steps = g.Steps({d});
  const BufferPlan plan = PlanOf(steps);
  ASSERT_EQ(plan.rounds.of_step, (std::vector<int>{0, 1, 1, 2}));
  const auto index = [&](int step) { return plan.locations[steps.steps[step].results[0]].index; };
  EXPECT_NE(index(2), index(0));
  // On its own, the last reader may.
  const BufferPlan separate = PlanOf(steps, {/*join=*/false});
  EXPECT_EQ(separate.in_place, 1);
}

// Random graphs of kernels that are cut into rows in all ways, on no, two and three workers.
TEST(Rounds, RandomGraphsComputeWhatTheyShould) {
  std::mt19937 random(5);
  int64_t joined = 0, locals = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int64_t rows = std::vector<int64_t>{0, 1, 24, 60, 97}[random() % 5];
    const bool small = random() % 3 == 0;
    FakeGraph g;
    Matrix input(rows * kColumns);
    for (float& x : input) x = static_cast<float>(random() % 64);
    std::vector<ir::Value> values = {g.Parameter({rows, kColumns})};
    std::vector<Matrix> expected = {input};
    for (int s = 0, n = 2 + static_cast<int>(random() % 20); s < n; ++s) {
      RowSpec spec = {rows,
                      std::vector<int64_t>{1, 2, 3, 4, 60}[random() % 5],
                      std::vector<int64_t>{1, 1, 2, kColumns}[random() % 4],
                      {},
                      random() % 2 == 0};
      std::vector<ir::Value> operands;
      std::vector<const float*> data;
      for (size_t o = 0, most = 1 + random() % 2; o < most; ++o) {
        const size_t i = values.size() - 1 - random() % std::min<size_t>(values.size(), 3);
        operands.push_back(values[i]);
        data.push_back(expected[i].data());
        spec.by_row.push_back(random() % 4 != 0);
      }
      Matrix result(rows * kColumns);
      for (int64_t i = 0; i < rows * kColumns; ++i) {
        result[i] = Element(spec, data, i / kColumns, i % kColumns);
      }
      values.push_back(Add(g, operands, spec, small ? 2e3 : 1e5));
      expected.push_back(std::move(result));
    }
    const size_t other = random() % values.size();
    const StepGraph steps = g.Steps({values.back(), values[other]});
    const BufferPlan plan = PlanOf(steps);
    joined += static_cast<int>(steps.steps.size()) - plan.rounds.of_step.back() - 1;
    locals += std::count(plan.rounds.local.begin(), plan.rounds.local.end(), true);
    Executable::Options options = TestOptions();
    options.rounds = SmallPasses();
    auto executable = Executable::Create(steps, options);
    for (int threads : {0, 2, 3}) {
      Pool pool(threads);
      TestHost host(threads == 0 ? HostPool{} : pool.Host());
      host.may_forward = false;
      ASSERT_TRUE(executable->Run({{input.data(), 0}}, host).ok());
      for (int k = 0; k < 2; ++k) host.results[k].pop_back();
      ASSERT_EQ(host.results[0], expected.back()) << trial;
      ASSERT_EQ(host.results[1], expected[other]) << trial;
    }
  }
  EXPECT_GT(joined, 300);
  EXPECT_GT(locals, 100);
}

}  // namespace
}  // namespace tektite::runtime
