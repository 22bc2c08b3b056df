// New values of variables: written last, over the old ones where these are not read any more, and
// not at all where a call fails.
#include <random>

#include "gtest/gtest.h"
#include "jit/base/status.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/memory/buffer_assignment.h"
#include "tests/runtime/fake_kernels.h"

namespace tektite::runtime {
namespace {

constexpr int64_t kElements = 64;

// Variables are `arguments`; a new value goes where the old one is if it may.
class UpdatingHost : public TestHost {
 public:
  bool BeginUpdates(absl::Span<Update> updates) override {
    if (refuse_updates) return false;
    for (Update& update : updates) {
      std::vector<float>& memory =
          update.in_place ? arguments[update.argument] : fresh[update.argument];
      memory.resize(kElements, -1);
      update.memory = memory.data();
      in_place += update.in_place ? 1 : 0;
    }
    return true;
  }
  absl::Status Run(Executable& executable) {
    std::vector<Argument> given;
    for (const std::vector<float>& a : arguments) given.push_back({a.data(), 0, nullptr});
    TEKTITE_RETURN_IF_ERROR(executable.Run(given, *this));
    for (auto& [argument, memory] : fresh) arguments[argument] = memory;
    return absl::OkStatus();
  }

  std::vector<std::vector<float>> arguments;
  std::map<int, std::vector<float>> fresh;
  bool refuse_updates = false;
  int in_place = 0;
};

Executable::Options OptionsFor(std::vector<int> updated, int num_checks = 0) {
  Executable::Options options = TestOptions();
  options.roles.updated = std::move(updated);
  options.roles.num_checks = num_checks;
  return options;
}

std::shared_ptr<const backend::Kernel> Plus(float amount) {
  return MapKernel(1, kElements, [=](const float* x) { return x[0] + amount; });
}

// Of the operand's first element.
std::shared_ptr<const backend::Kernel> IsBelow(float limit) {
  return std::make_shared<FakeKernel>([=](const backend::KernelFrame& frame, int64_t) {
    *static_cast<bool*>(frame.buffers[1]) = *static_cast<float*>(frame.buffers[0]) < limit;
  });
}

TEST(Updates, OneKernelOverwritesWhatItReads) {
  FakeGraph g;
  ir::Value v = g.Parameter({kElements});
  auto e = Executable::Create(g.Steps({g.Fusion({v}, {kElements}, Plus(1))}), OptionsFor({0}));
  UpdatingHost host;
  host.arguments = {std::vector<float>(kElements, 1)};
  const float* const where = host.arguments[0].data();
  ASSERT_TRUE(host.Run(*e).ok());
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.in_place, 2);
  EXPECT_EQ(host.arguments[0].data(), where);
  EXPECT_EQ(host.arguments[0], std::vector<float>(kElements, 3));
}

// The value in between lies in the variable, too; it is read before the last one is written.
TEST(Updates, SeveralChangesOfAVariableOverwriteEachOther) {
  FakeGraph g;
  ir::Value v = g.Parameter({kElements});
  ir::Value between = g.Fusion({v}, {kElements}, Plus(1));
  ir::Value read = g.Fusion({between}, {kElements}, Plus(100));
  ir::Value last = g.Fusion({between}, {kElements}, Plus(2));
  const StepGraph steps = g.Steps({read, last});
  OutputRoles roles;
  roles.updated = {0};
  const BufferAssignment plan = AssignBuffers(steps, {}, roles);
  EXPECT_TRUE(plan.slots.empty());
  ASSERT_EQ(plan.updates.size(), 1);
  EXPECT_TRUE(plan.updates[0].in_place);

  auto e = Executable::Create(g.Steps({read, last}), OptionsFor({0}));
  UpdatingHost host;
  host.arguments = {std::vector<float>(kElements, 1)};
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.in_place, 1);
  EXPECT_EQ(host.results[0][3], 102);
  EXPECT_EQ(host.arguments[0], std::vector<float>(kElements, 4));
}

// Where the value in between is a result, it must stay.
TEST(Updates, AnEarlierValueThatIsAResultIsNotOverwritten) {
  FakeGraph g;
  ir::Value v = g.Parameter({kElements});
  ir::Value between = g.Fusion({v}, {kElements}, Plus(1));
  ir::Value last = g.Fusion({between}, {kElements}, Plus(2));
  auto e = Executable::Create(g.Steps({between, last}), OptionsFor({0}));
  UpdatingHost host;
  host.arguments = {std::vector<float>(kElements, 1)};
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.results[0][3], 2);
  EXPECT_EQ(host.arguments[0][3], 4);
}

// a, b = b, a; the old values are read when both have been written.
TEST(Updates, VariablesChangePlaces) {
  FakeGraph g;
  ir::Value a = g.Parameter({kElements}), b = g.Parameter({kElements});
  auto e = Executable::Create(g.Steps({b, a}), OptionsFor({0, 1}));
  UpdatingHost host;
  host.arguments = {std::vector<float>(kElements, 1), std::vector<float>(kElements, 2)};
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.in_place, 0);
  EXPECT_EQ(host.arguments[0][7], 2);
  EXPECT_EQ(host.arguments[1][7], 1);
}

TEST(Updates, OldAndNewValueAreResultsToo) {
  FakeGraph g;
  ir::Value v = g.Parameter({kElements});
  ir::Value next = g.Fusion({v}, {kElements}, Plus(1));
  auto e = Executable::Create(g.Steps({v, next, next}), OptionsFor({0}));
  UpdatingHost host;
  host.may_forward = false;
  host.arguments = {std::vector<float>(kElements, 1)};
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.in_place, 0);
  EXPECT_EQ(host.results[0][3], 1);
  EXPECT_EQ(host.results[1][3], 2);
  EXPECT_EQ(host.arguments[0][3], 2);
}

TEST(Updates, AFailedCallChangesNothing) {
  FakeGraph g;
  ir::Value v = g.Parameter({kElements});
  ir::Value next = g.Fusion({v}, {kElements}, Plus(1));
  ir::Value good = g.Fusion({v}, {}, IsBelow(2), ir::DType::kBool);
  auto e = Executable::Create(g.Steps({good, next}), OptionsFor({0}, 1));
  UpdatingHost host;
  host.arguments = {std::vector<float>(kElements, 1)};
  host.refuse_updates = true;
  EXPECT_EQ(host.Run(*e).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(host.arguments[0][0], 1);
  host.refuse_updates = false;
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.Run(*e).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(host.arguments[0][0], 2);
}

// The check needs the new value, which so must not be written where the old one is.
TEST(Updates, AFailedCheckOfANewValueChangesNothing) {
  FakeGraph g;
  ir::Value v = g.Parameter({kElements});
  ir::Value next = g.Fusion({v}, {kElements}, Plus(1));
  ir::Value good = g.Fusion({next}, {}, IsBelow(3), ir::DType::kBool);
  auto e = Executable::Create(g.Steps({good, next}), OptionsFor({0}, 1));
  UpdatingHost host;
  host.arguments = {std::vector<float>(kElements, 1)};
  ASSERT_TRUE(host.Run(*e).ok());
  EXPECT_EQ(host.Run(*e).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(host.arguments[0][0], 2);
}

// Any graph, with updates of any of its values: as if all were computed from what was there before.
TEST(Updates, RandomGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    FakeGraph g;
    UpdatingHost host;
    host.may_forward = random() % 2 == 0;
    std::vector<ir::Value> values;
    std::vector<std::vector<float>> expected;
    const int num_variables = 1 + static_cast<int>(random() % 3);
    for (int p = 0; p < num_variables; ++p) {
      values.push_back(g.Parameter({kElements}));
      expected.emplace_back();
      for (int64_t i = 0; i < kElements; ++i) {
        expected.back().push_back(static_cast<float>(random() % 100));
      }
    }
    host.arguments = expected;
    for (int s = 0; s < 8; ++s) {
      const size_t a = random() % values.size(), b = random() % values.size();
      const auto scale = static_cast<float>(s % 3);
      const bool in_place = random() % 3 != 0;
      auto map = MapKernel(
          2, kElements, [=](const float* x) { return x[0] - scale * x[1] / 4; }, 1, 0, in_place);
      values.push_back(g.Fusion({values[a], values[b]}, {kElements}, map));
      expected.emplace_back();
      for (int64_t i = 0; i < kElements; ++i) {
        expected.back().push_back(expected[a][i] - scale * expected[b][i] / 4);
      }
    }
    std::vector<ir::Value> outputs;
    std::vector<size_t> which;
    std::vector<int> updated;
    for (int k = 0; k < 2 + num_variables; ++k) {
      which.push_back(random() % values.size());
      outputs.push_back(values[which.back()]);
      if (k >= 2) updated.push_back(k - 2);
    }
    auto executable = Executable::Create(g.Steps(outputs), OptionsFor(updated));
    ASSERT_TRUE(host.Run(*executable).ok());
    for (int k = 0; k < 2 + num_variables; ++k) {
      const bool is_update = k >= 2;
      if (!is_update && host.forwarded.count(k)) continue;
      std::vector<float> got = is_update ? host.arguments[k - 2] : host.results[k];
      if (!is_update) got.pop_back();
      ASSERT_EQ(got, expected[which[k]]) << "round " << round << " output " << k;
    }
  }
}

}  // namespace
}  // namespace tektite::runtime
