// Memory, streams and launches of a card, on the stand-in driver.
#include "backends/gpu/driver/card.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#include "backends/gpu/driver/launch_graphs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/base/bytes.h"
#include "jit/compiler/compiler.h"
#include "jit/ops/builder.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using backend::Block;
using backend::Stream;
using ::testing::HasSubstr;

// y = x + 1 for any number of floats.
std::unique_ptr<ir::Graph> AddOneGraph() {
  ops::FuncBuilder b;
  const ir::Value x = b.Parameter(ir::Shape(ir::DType::kF32, ir::Dims{ir::Dim::Symbol("n")}));
  b.Return({b.Add(x, b.FullLike(x, 1))});
  return *b.Build();
}

class CardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto driver = gpu::Driver::Open(FakeDriver::path());
    ASSERT_TRUE(driver.ok()) << driver.status();
    driver_ = *driver;
    auto card = gpu::Card::Open(driver_, 0);
    ASSERT_TRUE(card.ok()) << card.status();
    card_ = *card;
  }
  // What is on a card that is lost stays there.
  void Lose() { held_ = -1; }
  void TearDown() override {
    kernel_.reset();
    card_.reset();
    if (held_ >= 0) {
      EXPECT_EQ(fake_.held_bytes(), held_);
    }
    fake_.reset();
  }

  // Of the one fusion that the passes make of a graph.
  std::shared_ptr<const gpu::CardKernel> KernelOf(std::unique_ptr<ir::Graph> graph) {
    auto backend = gpu::CreateCardBackend(card_, nullptr, {InterpretOnFakeDriver()});
    EXPECT_TRUE(backend.ok()) << backend.status();
    compiler::CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    options.own_backend = [&] { return *std::move(backend); };
    auto compiler = compiler::Compiler::Create(std::move(options));
    EXPECT_TRUE(compiler.ok()) << compiler.status();
    EXPECT_TRUE((*compiler)->RunPasses(*graph, {}).ok());
    auto maker = gpu::CreateCardBackend(card_, nullptr, {InterpretOnFakeDriver()});
    std::shared_ptr<const gpu::CardKernel> made;
    for (ir::Node* node : graph->NodeList()) {
      if (node->op() != ir::Op::kFusion) continue;
      auto kernel = (*maker)->Compile(*node, {"add_one", ""});
      EXPECT_TRUE(kernel.ok()) << kernel.status();
      made = std::static_pointer_cast<const gpu::CardKernel>(*kernel);
    }
    return made;
  }

  const gpu::CardKernel& AddOne() {
    if (kernel_ == nullptr) kernel_ = KernelOf(AddOneGraph());
    return *kernel_;
  }

  // Adds 1 to `values` so many times on the card, back and forth between two buffers.
  absl::Status Count(int times, std::vector<float>* values,
                     absl::FunctionRef<bool()> is_cancelled = backend::NeverCancelled) {
    const gpu::CardKernel& kernel = AddOne();
    const auto bytes = static_cast<int64_t>(values->size() * sizeof(float));
    const Block first = card_->memory().Allocate(bytes), second = card_->memory().Allocate(bytes);
    if (first.data() == nullptr || second.data() == nullptr) return card_->status();
    void* const there[] = {first.data(), second.data()};
    void* const back[] = {second.data(), first.data()};
    const int64_t sizes[] = {static_cast<int64_t>(values->size())};
    const backend::StreamOptions options = {{}, 0, 0, nullptr, nullptr, false, is_cancelled};
    return card_->WithStream(options, [&](Stream& stream) {
      stream.CopyFromHost(first.data(), values->data(), bytes);
      for (int i = 0; i < times; ++i) {
        stream.Launch(kernel, kernel.Configure(sizes), i % 2 == 0 ? there : back, sizes);
      }
      stream.CopyToHost(values->data(), times % 2 == 0 ? first.data() : second.data(), bytes);
      return stream.Synchronize();
    });
  }

  const FakeDriver& fake_ = FakeDriver::Opened();
  int64_t held_ = fake_.held_bytes();
  const gpu::Driver* driver_ = nullptr;
  std::shared_ptr<gpu::Card> card_;
  std::shared_ptr<const gpu::CardKernel> kernel_;
};

using CardDeathTest = CardTest;

TEST_F(CardDeathTest, MemoryIsClosedToTheHost) {
  const Block block = card_->memory().Allocate(100);
  ASSERT_NE(block.data(), nullptr);
  EXPECT_DEATH(*block.data() = std::byte{1}, "");
}

TEST_F(CardTest, MemoryIsBoundedAndComesBack) {
  auto bounded = gpu::Card::Open(driver_, 0, /*memory_limit=*/1 << 20);
  ASSERT_TRUE(bounded.ok()) << bounded.status();
  backend::Memory& memory = (*bounded)->memory();
  EXPECT_EQ(memory.limit(), 1 << 20);
  {
    const Block a = memory.Allocate(700 << 10), none = memory.Allocate(0);
    EXPECT_NE(a.data(), nullptr);
    EXPECT_NE(none.data(), nullptr);
    EXPECT_EQ(memory.Allocate(400 << 10).data(), nullptr);
    EXPECT_NE(memory.Allocate(100 << 10).data(), nullptr);
    EXPECT_EQ(memory.Allocate(-1).data(), nullptr);
    EXPECT_EQ(memory.Allocate((1 << 20) + 1).data(), nullptr);
  }
  EXPECT_NE(memory.Allocate(1 << 20).data(), nullptr);
  EXPECT_EQ(fake_.held_bytes(), held_);
}

TEST_F(CardTest, MemoryThatIsKeptIsTrimmedBeforeAnAllocationFails) {
  fake_.fail("cuMemAllocFromPoolAsync", 2, 0, 1);
  EXPECT_NE(card_->memory().Allocate(1000).data(), nullptr);
  EXPECT_EQ(fake_.calls("cuMemPoolTrimTo"), 1);
  fake_.fail("cuMemAllocFromPoolAsync", 2, 0, 2);
  EXPECT_EQ(card_->memory().Allocate(1000).data(), nullptr);
  EXPECT_TRUE(card_->status().ok());
}

TEST_F(CardTest, CopiesOfAllSizesArrive) {
  constexpr int64_t kPiece = gpu::PinnedMemory::kPieceBytes;
  for (int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{777}, kPiece - 1, kPiece, kPiece + 1, 5 * kPiece + 12345}) {
    std::vector<unsigned char> values(static_cast<size_t>(bytes)), back(values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned char>(i * 7 / 3);
    const Block a = card_->memory().Allocate(bytes), b = card_->memory().Allocate(bytes);
    std::vector<unsigned char> lent = values;
    const absl::Status status = card_->WithStream({}, [&](Stream& stream) {
      stream.CopyFromHost(a.data(), lent.data(), bytes);
      stream.CopyWithin(b.data(), a.data(), bytes);
      stream.CopyToHost(back.data(), b.data(), bytes);
      return stream.Synchronize();
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(back == values) << bytes;
  }
}

TEST_F(CardTest, ManySmallCopiesShareAPiece) {
  constexpr int kCopies = 10000;
  constexpr int64_t kInts = 75;
  std::vector<int> values(kCopies * kInts), back(values.size());
  std::iota(values.begin(), values.end(), 1);
  const Block block = card_->memory().Allocate(kCopies * kInts * 4);
  const absl::Status status = card_->WithStream({}, [&](Stream& stream) {
    for (int64_t i = 0; i < kCopies; ++i) {
      stream.CopyFromHost(block.data() + 4 * kInts * i, &values[kInts * i], 4 * kInts);
    }
    for (int64_t i = 0; i < kCopies; ++i) {
      stream.CopyToHost(&back[kInts * i], block.data() + 4 * kInts * i, 4 * kInts);
    }
    return stream.Synchronize();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(back == values);
}

TEST_F(CardTest, LaunchesRunInTheirOrder) {
  for (int times : {1, 2, 3, 10}) {
    for (int call = 0; call < 5; ++call) {
      std::vector<float> values = {1.5f, -2, 1e6f};
      ASSERT_TRUE(Count(times, &values).ok()) << LastKernelFault();
      const auto n = static_cast<float>(times);
      EXPECT_THAT(values, ::testing::ElementsAre(1.5f + n, -2 + n, 1e6f + n));
    }
  }
}

TEST_F(CardTest, LaunchesOfNoElementsRunNothing) {
  std::vector<float> none;
  ASSERT_TRUE(Count(5, &none).ok());
  EXPECT_EQ(fake_.launches(), 0);
}

TEST_F(CardTest, FramesOfManyLaunchesTakeSeveralRooms) {
  std::vector<float> values = {0};
  for (int call = 0; call < 4; ++call) ASSERT_TRUE(Count(5000, &values).ok());
  EXPECT_EQ(values[0], 20000);
}

TEST_F(CardTest, RunsAreRecordedAfterTheirFirstCalls) {
  for (int call = 0; call < 6; ++call) {
    std::vector<float> values(100, static_cast<float>(call));
    ASSERT_TRUE(Count(4, &values).ok()) << LastKernelFault();
    EXPECT_EQ(values[99], static_cast<float>(call + 4));
    EXPECT_EQ(card_->graphs().recorded(), call < 2 ? 0 : 1);
  }
  EXPECT_EQ(fake_.calls("cuGraphLaunch"), 4);
  EXPECT_EQ(fake_.calls("cuLaunchKernel"), 3 * 4);  // two calls, and the recording
  EXPECT_EQ(fake_.launches(), 6 * 4);
  // Other sizes with other numbers of blocks are another run, and no graph is updated.
  for (int call = 0; call < 3; ++call) {
    std::vector<float> values(1 << 20, 1);
    ASSERT_TRUE(Count(4, &values).ok()) << LastKernelFault();
    EXPECT_EQ(values.back(), 5);
  }
  EXPECT_EQ(card_->graphs().recorded(), 2);
}

TEST_F(CardTest, RunsThatComeAndGoAreForgotten) {
  constexpr int kMost = gpu::LaunchGraphs::kMostRuns;
  const auto count = [&](int times) {
    std::vector<float> values = {0};
    ASSERT_TRUE(Count(times, &values).ok()) << LastKernelFault();
    ASSERT_EQ(values[0], static_cast<float>(times));
  };
  for (int call = 0; call < 4; ++call) count(2);
  EXPECT_EQ(card_->graphs().recorded(), 1);
  const int64_t things = fake_.held_things();
  for (int times = 3; times < kMost + 3; ++times) count(times);
  EXPECT_EQ(fake_.held_things(), things - 1);  // the graph
  for (int call = 0; call < 4; ++call) count(2);
  EXPECT_EQ(card_->graphs().recorded(), 2);
}

TEST_F(CardTest, CallsAtOnceHaveAGraphEach) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  AddOne();
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int call = 0; call < 30; ++call) {
        std::vector<float> values(300, static_cast<float>(t));
        if (!Count(6, &values).ok() || values[299] != static_cast<float>(t + 6)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << LastKernelFault();
  EXPECT_GE(card_->graphs().recorded(), 1);
  EXPECT_LE(card_->graphs().recorded(), gpu::LaunchGraphs::kMostAtOnce);
}

TEST_F(CardTest, LaunchesStaySingleWhereTheDriverCannotRecord) {
  fake_.fail("cuGraphInstantiateWithFlags", 801, 0, -1);
  for (int call = 0; call < 5; ++call) {
    std::vector<float> values(10, 0);
    ASSERT_TRUE(Count(3, &values).ok()) << LastKernelFault();
    EXPECT_EQ(values[9], 3);
  }
  EXPECT_EQ(fake_.calls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake_.calls("cuGraphLaunch"), 0);
}

TEST_F(CardTest, EventsOrderTwoStreams) {
  const gpu::CardKernel& kernel = AddOne();
  const Block block = card_->memory().Allocate(256);
  void* const buffers[] = {block.data(), block.data() + 64};
  void* const back[] = {block.data() + 64, block.data()};
  const int64_t sizes[] = {1};
  for (int i = 0; i < 20; ++i) {
    const float zero = 0;
    float end = 0;
    const absl::Status status = card_->WithStream({}, [&](Stream& first) {
      return card_->WithStream({}, [&](Stream& second) {
        first.CopyFromHost(block.data(), &zero, sizeof(float));
        for (int n = 0; n < 20; ++n) {
          first.Launch(kernel, kernel.Configure(sizes), n % 2 == 0 ? buffers : back, sizes);
        }
        second.Wait(*first.Record());
        second.CopyToHost(&end, block.data(), sizeof(float));
        return second.Synchronize();
      });
    });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(end, 20);
  }
}

TEST_F(CardTest, ACancelledStreamRunsNoMore) {
  std::vector<float> values(10, 0);
  int asked = 0;
  EXPECT_TRUE(absl::IsCancelled(Count(5, &values, [&] { return ++asked > 1; })));
  EXPECT_EQ(fake_.launches(), 0);
  EXPECT_EQ(values[0], 0);
}

TEST_F(CardTest, AnErrorOfALaunchLeavesTheCardAsItIs) {
  std::vector<float> values(10, 0);
  AddOne();
  fake_.fail("cuLaunchKernel", 701, 1, 1);
  const absl::Status status = Count(3, &values);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "gpu:0: launching 'add_one': error 701");
  EXPECT_EQ(values[0], 0);
  EXPECT_TRUE(Count(3, &values).ok());
  EXPECT_EQ(values[0], 3);
}

TEST_F(CardTest, PinnedMemoryMayRunOut) {
  std::vector<float> values(10, 0);
  AddOne();
  fake_.fail("cuMemHostAlloc", 2, 0, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(Count(3, &values)));
  EXPECT_TRUE(Count(3, &values).ok());
}

TEST_F(CardTest, AFaultOfAKernelLosesTheCard) {
  std::vector<float> values(10, 0);
  ASSERT_TRUE(Count(2, &values).ok());
  Lose();
  const Block held = card_->memory().Allocate(100);
  fake_.set_runner([](const FakeLaunch&) { return false; });
  const absl::Status status = Count(2, &values);
  EXPECT_TRUE(absl::IsAborted(status));
  // Whether it is seen at a launch or at the end depends on how fast the card is.
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(": CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure); this process has "
                        "lost the card"));
  EXPECT_EQ(values[0], 2);  // nothing was delivered
  // Whatever comes next is told the same, and asks the driver nothing.
  const int64_t launches = fake_.calls("cuLaunchKernel");
  EXPECT_EQ(Count(2, &values), status);
  EXPECT_EQ(card_->memory().Allocate(100).data(), nullptr);
  EXPECT_EQ(card_->status(), status);
  EXPECT_EQ(fake_.calls("cuLaunchKernel"), launches);
}

TEST_F(CardTest, AChildOfTheProcessIsRefused) {
  std::vector<float> values(10, 0);
  for (int call = 0; call < 4; ++call) ASSERT_TRUE(Count(2, &values).ok());
  Block held = card_->memory().Allocate(100);
  const pid_t child = fork();
  if (child == 0) {
    // The stand-in aborts at any call; what is held goes without one.
    absl::Status status = card_->WithStream({}, [](Stream&) { return absl::OkStatus(); });
    bool refused = absl::IsAborted(status) && card_->memory().Allocate(100).data() == nullptr;
    held = Block();
    kernel_.reset();
    card_.reset();
    refused = refused && absl::IsAborted(driver_->status());
    _exit(refused ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(Count(2, &values).ok());
  EXPECT_EQ(values[0], 10);
}

TEST_F(CardTest, ThreadsKeepTheirOwnContexts) {
  gpu::CuContext context = nullptr;
  EXPECT_NE(driver_->CtxPopCurrent(&context), 0);  // there is none
  std::vector<float> values(10, 0);
  ASSERT_TRUE(Count(2, &values).ok());
  EXPECT_NE(driver_->CtxPopCurrent(&context), 0);
}

TEST_F(CardTest, NothingIsLeftBehind) {
  const int64_t things = fake_.held_things();
  {
    auto another = gpu::Card::Open(driver_, 0);
    ASSERT_TRUE(another.ok());
    std::swap(card_, *another);
    for (int call = 0; call < 5; ++call) {
      std::vector<float> values(10, 0);
      ASSERT_TRUE(Count(3, &values).ok());
    }
    EXPECT_GT(fake_.held_things(), things);
    kernel_.reset();
    std::swap(card_, *another);
  }
  EXPECT_EQ(fake_.held_things(), things);
}

TEST_F(CardTest, SeveralCardsWorkSideBySide) {
  fake_.set_cards(2);
  auto driver = gpu::Driver::Open(FakeDriver::path());
  ASSERT_TRUE(driver.ok()) << driver.status();
  auto second = gpu::Card::Open(*driver, 1);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->name(), "gpu:1");
  std::shared_ptr<gpu::Card> cards[] = {card_, *second};
  std::shared_ptr<const gpu::CardKernel> kernels[2];
  for (int call = 0; call < 4; ++call) {
    for (int c = 0; c < 2; ++c) {
      card_ = cards[c];
      kernel_ = kernels[c];
      std::vector<float> values(100, static_cast<float>(c));
      ASSERT_TRUE(Count(3, &values).ok()) << LastKernelFault();
      EXPECT_EQ(values[99], static_cast<float>(c + 3));
      EXPECT_EQ(&kernel_->card(), cards[c].get());
      kernels[c] = kernel_;
    }
  }
  EXPECT_EQ(cards[0]->graphs().recorded(), 1);
  EXPECT_EQ(cards[1]->graphs().recorded(), 1);
}

TEST_F(CardTest, ImagesAreLoadedAgain) {
  const std::string image = AddOne().Image();
  auto backend = gpu::CreateCardBackend(card_, nullptr);
  auto loaded = (*backend)->Load({image, image});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  kernel_ = std::static_pointer_cast<const gpu::CardKernel>(loaded->front());
  EXPECT_EQ(kernel_->Image(), image);
  std::vector<float> values(10, 0);
  ASSERT_TRUE(Count(2, &values).ok()) << LastKernelFault();
  EXPECT_EQ(values[9], 2);
  EXPECT_THAT(gpu::DescribeImage(image), HasSubstr("PTX that the driver assembles"));
}

TEST_F(CardTest, BytesThatAreNoImageAreRefused) {
  const std::string image = AddOne().Image();
  auto backend = gpu::CreateCardBackend(card_, nullptr);
  for (size_t end = 0; end < image.size(); end += end < 400 ? 1 : 97) {
    const absl::string_view part = absl::string_view(image).substr(0, end);
    EXPECT_TRUE(absl::IsInvalidArgument((*backend)->Load({part}).status())) << end;
    EXPECT_EQ(gpu::DescribeImage(part), "");
  }
}

// An entry of the cache decides what is read: where each level of it was a call of Read, some ten
// thousand of them overflowed the stack.
TEST_F(CardTest, AnImageOfLaunchesThatNestIsRefused) {
  auto launch = gpu::KernelImage::Read(AddOne().Image());
  ASSERT_TRUE(launch.ok());
  launch->code.ptx = "none";
  const std::string image = launch->Write();
  // All but the number of launches that follow, which comes last.
  const absl::string_view facts = absl::string_view(image).substr(0, image.size() - 8);
  for (const size_t levels : {2, 100000}) {
    ByteWriter nested;
    for (size_t level = levels; level > 0; --level) {
      nested.Raw(facts.data(), facts.size());
      nested.U64(1);
      nested.U64(image.size() + (level - 1) * (facts.size() + 16));
    }
    nested.Raw(image.data(), image.size());
    EXPECT_TRUE(absl::IsInvalidArgument(gpu::KernelImage::Read(nested.bytes()).status()));
  }
  launch->then.push_back(*gpu::KernelImage::Read(image));
  const auto chain = gpu::KernelImage::Read(launch->Write());
  ASSERT_TRUE(chain.ok()) << chain.status();
  EXPECT_EQ(chain->then.size(), 1u);
}

TEST_F(CardTest, AChainOfLaunchesMovesItsArraysOnce) {
  constexpr int64_t kSize = 1 << 20;
  ops::FuncBuilder b;
  const ir::Value x = b.Parameter(ir::Shape(ir::DType::kF32, {kSize}));
  b.Return({b.Cumulative(x, 0, "add", /*exclusive=*/false, /*reverse=*/false)});
  const auto sums = KernelOf(*b.Build());
  ASSERT_NE(sums, nullptr);
  ASSERT_EQ(sums->then().size(), 1u);
  // 3 us a launch, 1 ps a byte.
  EXPECT_DOUBLE_EQ(sums->Configure({}).cost_ns, 2 * 3000 + 0.001 * 2 * kSize * sizeof(float));
}

TEST_F(CardTest, ACubinThatTheDriverDoesNotKnowIsAssembledByIt) {
  const gpu::Assembler* const assembler = gpu::Assembler::OfThisMachine();
  ASSERT_NE(assembler, nullptr) << "scripts/setup installs one";
  auto backend = gpu::CreateCardBackend(card_, assembler);
  const std::string image = AddOne().Image();  // PTX alone
  auto read = gpu::KernelImage::Read(image);
  ASSERT_TRUE(read.ok());
  auto cubin = assembler->Assemble(read->code.ptx, "sm_90a");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  read->code.cubin = *cubin;
  EXPECT_THAT(gpu::DescribeImage(read->Write()), HasSubstr(" registers a thread, 0 bytes spilled"));
  const int64_t loads = fake_.calls("cuModuleLoadDataEx");
  fake_.fail("cuModuleLoadDataEx", 209, 0, 1);
  EXPECT_TRUE((*backend)->Load({read->Write()}).ok());
  EXPECT_EQ(fake_.calls("cuModuleLoadDataEx"), loads + 2);
  fake_.fail("cuModuleLoadDataEx", 2, 0, 1);
  EXPECT_TRUE(absl::IsResourceExhausted((*backend)->Load({read->Write()}).status()));
}

}  // namespace
}  // namespace tektite::testing
