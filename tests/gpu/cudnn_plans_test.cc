// NVIDIA's cuDNN takes the graphs that backends/gpu/cudnn describes, and has engines for them.
// Built where a machine has the library and CUDA's stub of the driver; no card is needed
// (cardless_cudnn.cc).
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/gpu/cudnn/cudnn_on_card.h"
#include "backends/gpu/cudnn/prepared_attention.h"
#include "backends/gpu/driver/card.h"
#include "backends/gpu/driver/driver.h"
#include "gtest/gtest.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::gpu {
namespace {

using ir::DType;

struct Model {
  const char* name;
  int capability, multiprocessors, shared_bytes;
};
constexpr Model kModels[] = {{"NVIDIA A100-SXM4-80GB", 800, 108, 166912},
                             {"NVIDIA H100 80GB HBM3", 900, 132, 232448},
                             {"NVIDIA B200", 1000, 148, 232448}};

std::string PropertiesOf(const Model& m) {
  return absl::StrCat(
      R"({"deviceName":")", m.name, R"(","deviceVer":)", m.capability, R"(,"multiProcessorCount":)",
      m.multiprocessors, R"(,"maxSharedMemoryPerBlockOptin":)", m.shared_bytes,
      R"(,"driverVer":13000,"cudaDeviceId":0,"maxGridSize":[2147483647,65535,65535],)",
      R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"smClockRateKHz":1980000,)",
      R"("memClockRateKHz":2619000,"l2CacheSize":52428800,"warpSize":32,)",
      R"("maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,)",
      R"("maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)",
      R"("maxThreadsPerSM":2048,"isTccDriver":0,"supportCoopLaunch":1,)",
      R"("totalGlobalMem":85000000000})");
}

class CudnnPlans : public ::testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    setenv("TEKTITE_CARDLESS", PropertiesOf(GetParam()).c_str(), /*overwrite=*/1);
    // Before the stand-in for the driver: the library takes the first one of that name.
    const Cudnn* const dnn = *Cudnn::Open(TEKTITE_CARDLESS_FILE);
    card_ = *Card::Open(*Driver::Open(testing::FakeDriver::path()), 0);
    library_ = std::make_shared<CudnnOnCard>(card_.get(), dnn);
  }
  absl::Status Attend(AttentionCall call) {
    return PreparedAttention::Create(library_, std::move(call)).status();
  }

  std::shared_ptr<Card> card_;
  std::shared_ptr<CudnnOnCard> library_;
};

// [batch, length, heads, width] operands and result.
AttentionCall Attention(DType dtype, int64_t rows, int64_t keys, int64_t width) {
  AttentionCall call;
  call.dtype = dtype;
  call.batch = 2;
  call.heads = 12;
  call.rows = rows;
  call.keys = keys;
  call.width = call.columns = width;
  call.scale = 0.125;
  call.query_strides = call.result_strides = {rows * 12 * width, width, 12 * width};
  call.key_strides = call.value_strides = {keys * 12 * width, width, 12 * width};
  return call;
}

TEST_P(CudnnPlans, Attention) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (int64_t width : {64, 128}) {
      AttentionCall plain = Attention(dtype, 512, 512, width);
      EXPECT_EQ(Attend(plain), absl::OkStatus());
      for (int64_t offset : {0, 8}) {
        AttentionCall causal = plain;
        causal.causal = true;
        causal.offset = offset;
        EXPECT_EQ(Attend(causal), absl::OkStatus()) << offset;
      }
    }
  }
}

// The library says that it has none.
TEST_P(CudnnPlans, AttentionOfOddWidths) {
  EXPECT_TRUE(absl::IsUnimplemented(Attend(Attention(DType::kBF16, 512, 512, 60))));
}

INSTANTIATE_TEST_SUITE_P(Cards, CudnnPlans, ::testing::ValuesIn(kModels), [](const auto& info) {
  return absl::StrCat("sm_", info.param.capability / 10);
});

}  // namespace
}  // namespace tektite::gpu
