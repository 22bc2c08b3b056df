// The choice between our own kernel and a library's, by the card's own clock, and what is kept of
// it.
#include "absl/strings/str_replace.h"
#include "backends/gpu/card_backend.h"
#include "backends/gpu/implementation_list.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/cache/inspect.h"
#include "jit/compiler/background.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/cache/testing.h"
#include "tests/gpu/fake_cublaslt/fake_cublaslt.h"
#include "tests/gpu/fake_cudnn/fake_cudnn.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kProduct[] = R"(
graph @f(%x: f32[64,48], %w: f32[48,72]) -> (f32[64,72]) {
  %2: f32[64,72] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
  return %2
}
)";
constexpr char kWithEpilogue[] = R"(
graph @f(%x: f32[64,48], %w: f32[48,72]) -> (f32[64,72]) {
  %2: f32[64,72] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
  %3: f32[64,72] = tanh(%2)
  return %3
}
)";

constexpr char kConvolution[] = R"(
graph @f(%x: f32[2,8,8,16], %w: f32[3,3,16,24] {weight = true}) -> (f32[2,8,8,24]) {
  %2: f32[2,8,8,24] = convolution(%x, %w) {input_layout = "b01f", kernel_layout = "01io", output_layout = "b01f", strides = [1, 1], low = [1, 1], high = [1, 1]}
  return %2
}
)";

constexpr char kConvolutionWithBias[] = R"(
graph @f(%x: f32[2,8,8,16], %w: f32[3,3,16,24] {weight = true}, %b: f32[24]) -> (f32[2,8,8,24]) {
  %3: f32[2,8,8,24] = convolution(%x, %w) {input_layout = "b01f", kernel_layout = "01io", output_layout = "b01f", strides = [1, 1], low = [1, 1], high = [1, 1]}
  %4: f32[2,8,8,24] = broadcast_in_dim(%b) {dimensions = [3], shape = (2, 8, 8, 24)}
  %5: f32[2,8,8,24] = add(%3, %4)
  return %5
}
)";

constexpr char kAttention[] = R"(
graph @f(%q: bf16[6,20,16], %k: bf16[6,32,16], %v: bf16[6,32,16]) -> (bf16[6,20,16]) {
  %3: bf16[6,20,32] = dot_general(%q, %k) {lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [2]}
  %4: f32[6,20,32] = convert(%3) {dtype = f32}
  %5: f32[6,20] = reduce(%4) {dimensions = [2], reducer = "max"}
  %6: f32[6,20,32] = broadcast_in_dim(%5) {dimensions = [0, 1], shape = (6, 20, 32)}
  %7: f32[6,20,32] = sub(%4, %6)
  %8: f32[6,20,32] = exp(%7)
  %9: f32[6,20] = reduce(%8) {dimensions = [2], reducer = "add"}
  %10: f32[6,20,32] = broadcast_in_dim(%9) {dimensions = [0, 1], shape = (6, 20, 32)}
  %11: f32[6,20,32] = div(%8, %10)
  %12: bf16[6,20,32] = convert(%11) {dtype = bf16}
  %13: bf16[6,20,16] = dot_general(%12, %v) {lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [1]}
  return %13
}
)";

// A process whose card's kernels compute nothing and take as long as the test says.
class Process {
 public:
  explicit Process(const std::string& directory, bool has_libraries = true,
                   const char* flags = "--tuning=auto") {
    FakeDriver::Opened().reset();
    std::vector<std::string> errors;
    compiler::CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    options.flags = Flags::Parse(flags, &errors);
    cache::DiskStoreOptions disk;
    disk.directory = directory;
    options.disk = disk_ = cache::DiskStore::Open(disk);
    auto card = *gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0);
    gpu::CardOptions on_card;
    if (has_libraries) {
      on_card.products = *gpu::CublasLt::Open(FakeCublasLt::path());
      on_card.cudnn = *gpu::Cudnn::Open(FakeCudnn::path());
    }
    options.own_backend = [card, on_card] {
      return *gpu::CreateCardBackend(card, /*assembler=*/nullptr, on_card);
    };
    auto compiler = compiler::Compiler::Create(std::move(options));
    EXPECT_TRUE(compiler.ok()) << compiler.status();
    compiler_ = *std::move(compiler);
  }
  ~Process() {
    FakeCublasLt::Opened().reset();
    FakeCudnn::Opened().reset();
  }

  // The names of the kernels.
  std::string Compile(const char* text) {
    auto graph = ir::Parse(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    compiler::CompileJob job;
    job.cluster = "c";
    auto executable = compiler_->Compile(*std::move(graph), job);
    EXPECT_TRUE(executable.ok()) << executable.status();
    std::string names;
    for (const std::string& name : (*executable)->graph().names) names += name + "\n";
    return names;
  }
  std::vector<compiler::Tuner::Result> Results() {
    compiler::Background::Get().WaitUntilIdle();
    return compiler_->Tunings();
  }

  compiler::Compiler& compiler() { return *compiler_; }
  cache::DiskStore& disk() { return *disk_; }

 private:
  std::shared_ptr<cache::DiskStore> disk_;
  std::unique_ptr<compiler::Compiler> compiler_;
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

TEST(TunerOnCard, TheFasterWayByEventsIsKept) {
  cache::TestFolder folder;
  {
    Process first(folder.path());
    FakeDriver::Opened().set_launch_microseconds(10);
    FakeCublasLt::Opened().set_microseconds(4);
    EXPECT_THAT(first.Compile(kProduct), Not(HasSubstr("_by_")));
    const auto results = first.Results();
    ASSERT_EQ(results.size(), 1);
    EXPECT_EQ(results[0].chosen, gpu::kCublasLt);
    EXPECT_FALSE(results[0].from_disk);
    ASSERT_EQ(results[0].microseconds.size(), 2);
    EXPECT_EQ(results[0].microseconds[0].first, target::kOwn);
    EXPECT_NEAR(results[0].microseconds[0].second, 10, 0.01);
    EXPECT_NEAR(results[0].microseconds[1].second, 4, 0.01);
    EXPECT_GT(FakeCublasLt::Opened().products(), 0);
  }
  // The next process takes it, whatever the card's clock says.
  Process second(folder.path());
  FakeCublasLt::Opened().set_microseconds(1000);
  EXPECT_THAT(second.Compile(kProduct), HasSubstr("_by_cublaslt"));
  const auto kept = second.Results();
  ASSERT_EQ(kept.size(), 1);
  EXPECT_TRUE(kept[0].from_disk);
  // Nor is it asked when nothing is to be measured, or taken.
  Process off(folder.path(), true, "--tuning=off");
  EXPECT_THAT(off.Compile(kProduct), Not(HasSubstr("_by_")));
  EXPECT_THAT(off.Results(), IsEmpty());
}

TEST(TunerOnCard, ADamagedResultIsMeasuredAnew) {
  cache::TestFolder folder;
  Process first(folder.path());
  first.Compile(kProduct);
  ASSERT_EQ(first.Results().size(), 1);
  for (const char* nonsense : {"", "own", "own\nown -1", "own\nown nan", "x\nown 5", "a b\nc"}) {
    first.disk().Store(KeyOfTuning(folder.path()), nonsense);
    Process second(folder.path());
    second.Compile(kProduct);
    ASSERT_EQ(second.Results().size(), 1);
    EXPECT_FALSE(second.Results()[0].from_disk) << nonsense;
    EXPECT_EQ(second.compiler().counters().disk.damaged, 1) << nonsense;
  }
}

TEST(TunerOnCard, OurOwnKernelStaysUnlessTheOtherGains) {
  for (const double microseconds : {9.8, 10.0, 30.0}) {
    cache::TestFolder folder;
    Process process(folder.path());
    FakeDriver::Opened().set_launch_microseconds(10);
    FakeCublasLt::Opened().set_microseconds(microseconds);
    process.Compile(kProduct);
    const auto results = process.Results();
    ASSERT_EQ(results.size(), 1);
    EXPECT_EQ(results[0].chosen, target::kOwn) << microseconds;
    EXPECT_THAT(process.Compile(kProduct), Not(HasSubstr("_by_")));
  }
}

// An epilogue that cuBLASLt does not have costs a launch.
TEST(TunerOnCard, TheEpilogueCounts) {
  cache::TestFolder folder;
  Process process(folder.path());
  FakeDriver::Opened().set_launch_microseconds(10);
  FakeCublasLt::Opened().set_microseconds(4);
  process.Compile(kWithEpilogue);
  const auto results = process.Results();
  ASSERT_EQ(results.size(), 1);
  EXPECT_EQ(results[0].chosen, target::kOwn);
  ASSERT_EQ(results[0].microseconds.size(), 2);
  EXPECT_NEAR(results[0].microseconds[1].second, 14, 0.01);
}

// The product alone was measured before, and the library was faster.
TEST(TunerOnCard, WhatFollowsAProductIsMeasuredWithIt) {
  cache::TestFolder folder;
  Process process(folder.path());
  FakeDriver::Opened().set_launch_microseconds(10);
  FakeCublasLt::Opened().set_microseconds(4);
  process.Compile(kProduct);
  ASSERT_EQ(process.Results().size(), 1);
  process.Compile(kWithEpilogue);
  std::vector<std::string> chosen;
  for (const auto& result : process.Results()) chosen.push_back(result.chosen);
  EXPECT_THAT(chosen, ::testing::UnorderedElementsAre(gpu::kCublasLt, target::kOwn));
}

// Of all ways that were measured, our own being the faster one.
std::vector<std::string> WaysMeasured(const std::string& program, bool has_libraries) {
  cache::TestFolder folder;
  Process process(folder.path(), has_libraries);
  FakeDriver::Opened().set_launch_microseconds(10);
  FakeCublasLt::Opened().set_microseconds(30);
  FakeCudnn::Opened().set_microseconds(30);
  process.Compile(program.c_str());
  std::vector<std::string> ways;
  const auto results = process.Results();
  EXPECT_EQ(results.size(), 1);
  for (const auto& result : results) {
    EXPECT_EQ(result.chosen, target::kOwn);
    for (const auto& [way, microseconds] : result.microseconds) ways.push_back(way);
  }
  return ways;
}

// Tiles of our own are ways, too.
TEST(TunerOnCard, TilesOfWarpgroupsAreMeasured) {
  constexpr char kHalves[] = R"(
graph @f(%x: bf16[64,64], %w: bf16[64,64]) -> (bf16[64,64]) {
  %2: bf16[64,64] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
  return %2
}
)";
  EXPECT_THAT(WaysMeasured(kHalves, true),
              ElementsAre(target::kOwn, "wgmma_128x128", "wgmma_128x256", gpu::kCublasLt));
  EXPECT_THAT(WaysMeasured(kHalves, false),
              ElementsAre(target::kOwn, "wgmma_128x128", "wgmma_128x256"));
}

TEST(TunerOnCard, AttentionByWarpgroupsIsMeasured) {
  const std::string wide = absl::StrReplaceAll(kAttention, {{"16", "64"}, {"20", "72"}});
  // The type's name is as it was.
  const std::string program = absl::StrReplaceAll(wide, {{"bf64", "bf16"}});
  EXPECT_THAT(WaysMeasured(program, true),
              ElementsAre(target::kOwn, "wgmma", gpu::kCudnnAttention));
  EXPECT_THAT(WaysMeasured(program, false), ElementsAre(target::kOwn, "wgmma"));
}

TEST(TunerOnCard, AWayThatFailsIsNotTaken) {
  cache::TestFolder folder;
  Process process(folder.path());
  FakeCublasLt::Opened().set_microseconds(1);
  FakeCublasLt::Opened().fail("cublasLtMatmul", 13, -1);
  process.Compile(kProduct);
  for (const auto& result : process.Results()) EXPECT_NE(result.chosen, gpu::kCublasLt);
}

// The bias costs a launch behind the library's; the filter is a weight.
TEST(TunerOnCard, ConvolutionsAreTheLibrarysWhereThatGains) {
  struct Case {
    double library;
    bool has_bias;
    const char* chosen;
  };
  constexpr double kOwn = 10;
  for (const Case& c :
       {Case{4, false, gpu::kCudnn}, {4, true, target::kOwn}, {30, false, target::kOwn}}) {
    cache::TestFolder folder;
    Process process(folder.path());
    FakeDriver::Opened().set_launch_microseconds(kOwn);
    FakeCudnn::Opened().set_microseconds(c.library);
    process.Compile(c.has_bias ? kConvolutionWithBias : kConvolution);
    const auto results = process.Results();
    ASSERT_EQ(results.size(), 1);
    EXPECT_EQ(results[0].chosen, c.chosen);
    ASSERT_EQ(results[0].microseconds.size(), 2);
    EXPECT_NEAR(results[0].microseconds[0].second, kOwn, 0.01);
    EXPECT_NEAR(results[0].microseconds[1].second, c.library + (c.has_bias ? kOwn : 0), 0.01);
    EXPECT_GT(FakeCudnn::Opened().convolutions(), 0);
  }
}

TEST(TunerOnCard, AttentionIsTheLibrarysWhereThatGains) {
  for (const double library : {4, 30}) {
    cache::TestFolder folder;
    {
      Process first(folder.path());
      FakeDriver::Opened().set_launch_microseconds(10);
      FakeCudnn::Opened().set_microseconds(library);
      EXPECT_THAT(first.Compile(kAttention), Not(HasSubstr("_by_")));
      const auto results = first.Results();
      ASSERT_EQ(results.size(), 1);
      EXPECT_EQ(results[0].chosen, library < 10 ? gpu::kCudnnAttention : target::kOwn);
      EXPECT_THAT(results[0].name, HasSubstr("attention"));
      ASSERT_EQ(results[0].microseconds.size(), 2);
      EXPECT_NEAR(results[0].microseconds[0].second, 10, 0.01);
      EXPECT_NEAR(results[0].microseconds[1].second, library, 0.01);
      EXPECT_GT(FakeCudnn::Opened().attentions(), 0);
    }
    Process second(folder.path());
    const std::string names = second.Compile(kAttention);
    EXPECT_EQ(names.find("_by_cudnn_attention") != names.npos, library < 10) << names;
  }
}

TEST(TunerOnCard, WithoutTheLibraryNothingIsMeasured) {
  cache::TestFolder folder;
  Process process(folder.path(), /*has_libraries=*/false);
  process.Compile(kProduct);
  EXPECT_THAT(process.Results(), IsEmpty());
}

}  // namespace
}  // namespace tektite::testing
