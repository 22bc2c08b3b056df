// The choice among ways to make a kernel: measured in the background, kept, honoured, optional.
#include "jit/compiler/tuner.h"

#include "backends/cpu/cpu_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/cache/inspect.h"
#include "jit/compiler/background.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/cache/testing.h"

namespace tektite::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGraph[] = R"(
graph @f(%x: f32[64,48], %w: f32[48,72] {weight = true}) -> (f32[64,72]) {
  %2: f32[64,72] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
  %3: f32[64,72] = tanh(%2)
  return %3
}
)";

// The CPU's, with another tile of the usual kernel to measure.
class TwoTiles : public backend::Backend {
 public:
  TwoTiles() : cpu_(*cpu::CreateCpuBackend(Flags())) {}
  absl::string_view name() const override { return "cpu"; }
  const target::TargetInfo& target() const override { return cpu_->target(); }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override {
    return cpu_->Compile(fusion, options);
  }
  bool keeps_images() const override { return true; }
  absl::StatusOr<std::vector<std::shared_ptr<const backend::Kernel>>> Load(
      absl::Span<const absl::string_view> images) override {
    return cpu_->Load(images);
  }
  std::vector<target::Offer> Schedules(const ir::Node& fusion,
                                       const target::Facts& facts) const override {
    std::vector<target::Offer> offers = cpu_->Schedules(fusion, facts);
    if (!facts.alternatives || !fusion.IsFusion(ir::FusionKind::kContraction)) return offers;
    target::Schedule narrow = *offers.back().schedule;
    narrow.variant = "narrow";
    narrow.rhs.columns /= narrow.tile.vectors;
    narrow.tile = {1, 14};
    offers.push_back({target::kOwn, narrow});
    return offers;
  }
  bool HasAlternatives() const override { return true; }

 private:
  std::unique_ptr<backend::Backend> cpu_;
};

// A process's tuner, with this cache directory and these flags.
class Process {
 public:
  explicit Process(const std::string& directory, const std::string& flags_text = "") {
    std::vector<std::string> errors;
    Flags flags = Flags::Parse("--tuning=auto " + flags_text, &errors);
    cache::DiskStoreOptions disk;
    disk.directory = directory;
    disk_ = cache::DiskStore::Open(disk);
    CompilerOptions options;
    options.backends = c_api::AllBackends();
    options.flags = flags;
    options.host = "test";
    options.disk = disk_;
    options.own_backend = [] { return std::make_unique<TwoTiles>(); };
    auto compiler = Compiler::Create(std::move(options));
    EXPECT_TRUE(compiler.ok()) << compiler.status();
    compiler_ = *std::move(compiler);
  }

  // The names of the kernels.
  std::string Compile() {
    auto graph = ir::Parse(kGraph);
    EXPECT_TRUE(graph.ok()) << graph.status();
    CompileJob job;
    job.cluster = "c";
    auto executable = compiler_->Compile(*std::move(graph), job);
    EXPECT_TRUE(executable.ok()) << executable.status();
    std::string names;
    for (const std::string& name : (*executable)->graph().names) names += name + "\n";
    return names;
  }
  Tuner::Result OnlyResult() {
    Background::Get().WaitUntilIdle();
    const auto results = compiler_->Tunings();
    EXPECT_EQ(results.size(), 1);
    return results.empty() ? Tuner::Result() : results[0];
  }
  Compiler& compiler() { return *compiler_; }
  cache::DiskStore& disk() { return *disk_; }

 private:
  std::shared_ptr<cache::DiskStore> disk_;
  std::unique_ptr<Compiler> compiler_;
};

cache::CacheKey KeyOfTuning(const std::string& directory) {
  cache::CacheKey key;
  auto inspector = cache::Inspector::Open(directory);
  EXPECT_TRUE(inspector.ok()) << inspector.status();
  int found = 0;
  for (const cache::ListedEntry& entry : inspector->List()) {
    if (entry.header.kind != cache::EntryKind::kTuning) continue;
    key = {entry.header.kind, entry.name, entry.header.key, entry.parts};
    ++found;
  }
  EXPECT_EQ(found, 1);
  return key;
}

TEST(Tuner, MeasuresInTheBackgroundAndKeepsTheResult) {
  cache::TestFolder folder;
  Process first(folder.path());
  // The code that is made first does not wait for it.
  EXPECT_THAT(first.Compile(), Not(HasSubstr("_by_")));
  const Tuner::Result measured = first.OnlyResult();
  EXPECT_EQ(measured.name, "dot_general f32[64,48] f32[48,72]");
  EXPECT_FALSE(measured.chosen.empty());
  EXPECT_GT(measured.microseconds.size(), 1);
  EXPECT_FALSE(measured.from_disk);

  Process second(folder.path());
  second.Compile();
  const Tuner::Result kept = second.OnlyResult();
  EXPECT_TRUE(kept.from_disk);
  EXPECT_EQ(kept.chosen, measured.chosen);
}

TEST(Tuner, OffAlwaysTakesTheUsualWay) {
  cache::TestFolder folder;
  Process first(folder.path(), "--tuning=off");
  EXPECT_THAT(first.Compile(), Not(HasSubstr("_by_")));
  Background::Get().WaitUntilIdle();
  EXPECT_TRUE(first.compiler().Tunings().empty());
  // Also where another process has left a choice.
  Process tuned(folder.path());
  tuned.Compile();
  Tuner::Result result = tuned.OnlyResult();
  ASSERT_GT(result.microseconds.size(), 1);
  result.chosen = result.microseconds[1].first;
  tuned.disk().Store(KeyOfTuning(folder.path()), Tuner::Encode(result));
  Process off(folder.path(), "--tuning=off");
  EXPECT_THAT(off.Compile(), Not(HasSubstr("_by_")));
}

TEST(Tuner, AStoredChoiceIsTaken) {
  cache::TestFolder folder;
  Process first(folder.path());
  first.Compile();
  Tuner::Result result = first.OnlyResult();
  ASSERT_GT(result.microseconds.size(), 1);
  const auto compiled = first.compiler().counters().kernels;
  EXPECT_GT(compiled, 0);
  result.chosen = result.microseconds[1].first;
  first.disk().Store(KeyOfTuning(folder.path()), Tuner::Encode(result));

  Process second(folder.path());
  EXPECT_THAT(second.Compile(), HasSubstr("_by_" + result.chosen));
  // Its kernel is another entry than the usual one's.
  EXPECT_GT(second.compiler().counters().kernels, 0);
}

TEST(Tuner, ADamagedResultIsMeasuredAnew) {
  cache::TestFolder folder;
  Process first(folder.path());
  first.Compile();
  first.OnlyResult();
  for (const char* nonsense : {"", "3x8", "3x8\n3x8 -1", "3x8\n3x8 nan", "9x9\n3x8 5", "a b\nc"}) {
    first.disk().Store(KeyOfTuning(folder.path()), nonsense);
    Process second(folder.path());
    second.Compile();
    EXPECT_FALSE(second.OnlyResult().from_disk) << nonsense;
    EXPECT_EQ(second.compiler().counters().disk.damaged, 1) << nonsense;
  }
}

TEST(Tuner, NothingIsMeasuredWithoutABudget) {
  cache::TestFolder folder;
  Process process(folder.path(), "--tuning_budget_ms=0");
  process.Compile();
  EXPECT_EQ(process.OnlyResult().chosen, "");
}

}  // namespace
}  // namespace tektite::compiler
