// Tensor maps in the frames of launches: of whatever buffers and sizes a call has, also in recorded
// launches and in kernels that come from an image.
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#include "backends/gpu/driver/launch_graphs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/ops/builder.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using backend::Block;
using ::testing::HasSubstr;
using Numbers = std::vector<ir::BFloat16>;

constexpr int64_t kDepth = 72, kColumns = 40;

class TensorMaps : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_.reset();
    card_ = *gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0);
    backend_ = MakeBackend();
    // [n, kDepth] x [kDepth, kColumns]
    ops::FuncBuilder b;
    const ir::DType dtype = ir::DType::kBF16;
    const ir::Value x = b.Parameter(ir::Shape(dtype, {ir::Dim::Symbol("n"), kDepth}));
    const ir::Value w = b.Parameter(ir::Shape(dtype, {kDepth, kColumns}));
    b.Return({b.MatMul(x, w)});
    std::unique_ptr<ir::Graph> graph = *b.Build();
    compiler::CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    options.own_backend = [this] { return MakeBackend(); };
    auto compiler = compiler::Compiler::Create(std::move(options));
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    ASSERT_TRUE((*compiler)->RunPasses(*graph, {}).ok());
    for (ir::Node* node : graph->NodeList()) {
      if (node->op() != ir::Op::kFusion) continue;
      auto kernel = backend_->Compile(*node, {"product", ""});
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      kernel_ = *kernel;
    }
    ASSERT_NE(kernel_, nullptr);
  }
  void TearDown() override {
    kernel_.reset();
    backend_.reset();
    card_.reset();
    fake_.reset();
  }

  std::unique_ptr<backend::Backend> MakeBackend() {
    gpu::CardOptions options;
    options.hook = InterpretOnFakeDriver();
    options.warpgroups = gpu::Warpgroups::kAlways;
    return *gpu::CreateCardBackend(card_, /*assembler=*/nullptr, std::move(options));
  }

  static Numbers Values(int64_t count, int seed) {
    Numbers v;
    for (int64_t i = 0; i < count; ++i) {
      v.emplace_back(static_cast<float>((i * 7 + seed) % 17 - 8) / 4);
    }
    return v;
  }

  // Two products by launches that follow each other, of buffers that are allocated now.
  absl::Status Run(const backend::Kernel& kernel, int64_t rows, int seed) {
    const int64_t x_bytes = rows * kDepth * 2, w_bytes = kDepth * kColumns * 2;
    const int64_t z_bytes = rows * kColumns * 2;
    const Numbers w = Values(kDepth * kColumns, seed);
    const Block on_w = card_->memory().Allocate(w_bytes);
    Numbers x[2] = {Values(rows * kDepth, seed + 1), Values(rows * kDepth, seed + 2)}, z[2];
    std::vector<Block> on_card;
    for (int i = 0; i < 4; ++i) {
      on_card.push_back(card_->memory().Allocate(i < 2 ? x_bytes : z_bytes));
    }
    const int64_t sizes[] = {rows};
    const backend::StreamOptions options = {
        {}, 0, 0, nullptr, nullptr, false, backend::NeverCancelled};
    const absl::Status done = card_->WithStream(options, [&](backend::Stream& stream) {
      stream.CopyFromHost(on_w.data(), w.data(), w_bytes);
      for (size_t i = 0; i < 2; ++i) stream.CopyFromHost(on_card[i].data(), x[i].data(), x_bytes);
      for (size_t i = 0; i < 2; ++i) {
        void* const buffers[] = {on_card[i].data(), on_w.data(), on_card[2 + i].data()};
        stream.Launch(kernel, kernel.Configure(sizes), buffers, sizes);
      }
      for (size_t i = 0; i < 2; ++i) {
        z[i].resize(static_cast<size_t>(rows * kColumns));
        stream.CopyToHost(z[i].data(), on_card[2 + i].data(), z_bytes);
      }
      return stream.Synchronize();
    });
    if (!done.ok()) return done;
    for (size_t i = 0; i < 2; ++i) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < kColumns; ++column) {
          float want = 0;
          for (int64_t k = 0; k < kDepth; ++k) {
            want += static_cast<float>(x[i][static_cast<size_t>(row * kDepth + k)]) *
                    static_cast<float>(w[static_cast<size_t>(k * kColumns + column)]);
          }
          EXPECT_EQ(z[i][static_cast<size_t>(row * kColumns + column)].bits,
                    ir::BFloat16(want).bits)
              << row << ", " << column;
        }
      }
    }
    return absl::OkStatus();
  }

  const FakeDriver& fake_ = FakeDriver::Opened();
  std::shared_ptr<gpu::Card> card_;
  std::unique_ptr<backend::Backend> backend_;
  std::shared_ptr<const backend::Kernel> kernel_;
};

TEST_F(TensorMaps, AreOfEachCallsBuffersAndSizes) {
  int seed = 0;
  for (const int64_t rows : {130, 9, 64, 1, 130}) {
    const absl::Status done = Run(*kernel_, rows, ++seed);
    ASSERT_TRUE(done.ok()) << done << "\n" << LastKernelFault();
  }
  EXPECT_EQ(fake_.calls("cuTensorMapEncodeTiled"), 5 * 2 * 2);
}

TEST_F(TensorMaps, AreDataOfRecordedLaunches) {
  std::vector<Block> others;
  for (int call = 0; call < 6; ++call) {
    // So that the call's buffers are others.
    others.push_back(card_->memory().Allocate(1000 * (call + 1)));
    const absl::Status done = Run(*kernel_, 24, call);
    ASSERT_TRUE(done.ok()) << done << "\n" << LastKernelFault();
  }
  EXPECT_EQ(card_->graphs().recorded(), 1);
  EXPECT_GT(fake_.calls("cuGraphLaunch"), 2);
}

TEST_F(TensorMaps, AreKeptInImages) {
  const std::string image = kernel_->Image();
  const absl::string_view images[] = {image};
  auto loaded = backend_->Load(images);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const absl::Status done = Run(*(*loaded)[0], 70, 3);
  ASSERT_TRUE(done.ok()) << done << "\n" << LastKernelFault();
  // Bytes that end early, or name what is not there.
  for (size_t at = 0; at < image.size(); at += 8) {
    std::string changed = image;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    static_cast<void>(gpu::KernelImage::Read(changed));  // refused, or as safe to run
    static_cast<void>(gpu::KernelImage::Read(absl::string_view(image).substr(0, at)));
  }
}

TEST_F(TensorMaps, OfNoRowsNeedNone) {
  const absl::Status done = Run(*kernel_, 0, 1);
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(fake_.calls("cuTensorMapEncodeTiled"), 2);  // of the weights, in two launches
}

TEST_F(TensorMaps, ThatTheDriverRefusesFailTheCall) {
  fake_.fail("cuTensorMapEncodeTiled", 1, 1, 1);
  const absl::Status failed = Run(*kernel_, 16, 1);
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("describing a tensor of 'product'"));
  const absl::Status done = Run(*kernel_, 16, 1);
  EXPECT_TRUE(done.ok()) << done;
}

// A driver that cannot assemble the fence for maps in a card's memory, and a card without wgmma.
TEST_F(TensorMaps, AreForCardsAndDriversThatKnowThem) {
  EXPECT_EQ(backend_->target().cpu, "sm_90a");
  const auto encodes = [&] {
    kernel_.reset();
    const int64_t before = fake_.calls("cuTensorMapEncodeTiled");
    ops::FuncBuilder b;
    const ir::Value x = b.Parameter(ir::Shape(ir::DType::kBF16, {16, kDepth}));
    const ir::Value w = b.Parameter(ir::Shape(ir::DType::kBF16, {kDepth, kColumns}));
    b.Return({b.MatMul(x, w)});
    compiler::CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    options.own_backend = [this] { return MakeBackend(); };
    auto compiler = *compiler::Compiler::Create(std::move(options));
    std::unique_ptr<ir::Graph> graph = *b.Build();
    EXPECT_TRUE(compiler->RunPasses(*graph, {}).ok());
    backend_ = MakeBackend();
    for (ir::Node* node : graph->NodeList()) {
      if (node->op() == ir::Op::kFusion) kernel_ = *backend_->Compile(*node, {"fixed", ""});
    }
    const auto& made = static_cast<const gpu::CardKernel&>(*kernel_);
    std::vector<uint64_t> words(static_cast<size_t>(made.frame_words()) + 16);
    auto address = reinterpret_cast<uintptr_t>(words.data());
    address = (address + 127) / 128 * 128;
    alignas(128) char operand[128];
    void* const buffers[] = {operand, operand, operand};
    EXPECT_TRUE(made.FillFrame(buffers, nullptr, {}, reinterpret_cast<uint64_t*>(address)).ok());
    return fake_.calls("cuTensorMapEncodeTiled") - before;
  };
  const auto reopen = [&](int version, int major) {
    kernel_.reset();
    backend_.reset();
    card_.reset();
    fake_.set_version(version);
    fake_.set_capability(major, 0);
    card_ = *gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0);
  };
  reopen(12030, 9);
  EXPECT_EQ(encodes(), 2);
  reopen(12020, 9);
  EXPECT_EQ(encodes(), 0);
  reopen(13000, 8);
  EXPECT_EQ(encodes(), 0);
}

}  // namespace
}  // namespace tektite::testing
