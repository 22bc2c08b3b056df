// What is said of a driver that is not there, or not as it should be, and of its cards.
#include "backends/gpu/driver/driver.h"

#include "backends/gpu/card_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ::testing::HasSubstr;

class DriverTest : public ::testing::Test {
 protected:
  ~DriverTest() override { fake_.reset(); }
  // The line of an Unavailable.
  static std::string Refusal(const absl::Status& status) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
    return std::string(status.message());
  }
  static std::string RefusalOfDriver() {
    return Refusal(gpu::Driver::Open(FakeDriver::path()).status());
  }
  const FakeDriver& fake_ = FakeDriver::Opened();
};

TEST_F(DriverTest, OpensAndCountsCards) {
  fake_.set_cards(3);
  const auto driver = gpu::Driver::Open(FakeDriver::path());
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->num_cards(), 3);
  EXPECT_EQ((*driver)->version_text(), "13.0");
  EXPECT_EQ((*driver)->ErrorText(719), "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)");
  EXPECT_EQ((*driver)->ErrorText(2), "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ((*driver)->ErrorText(12345), "error 12345");
}

TEST_F(DriverTest, NamesALibraryThatIsNotThere) {
  EXPECT_THAT(Refusal(gpu::Driver::Open("libno_such_driver.so").status()),
              HasSubstr("no NVIDIA driver: libno_such_driver.so"));
}

TEST_F(DriverTest, NamesTheVersionOfAnOldDriver) {
  fake_.set_version(11040);
  EXPECT_THAT(RefusalOfDriver(), HasSubstr("the NVIDIA driver is of CUDA 11.4; "));
  EXPECT_THAT(RefusalOfDriver(), HasSubstr("must be of CUDA 12.0 or later"));
}

TEST_F(DriverTest, NamesAFunctionThatIsMissing) {
  // Some library that has none of them.
  EXPECT_THAT(Refusal(gpu::Driver::Open("libc.so.6").status()),
              HasSubstr("has no function cuCtxPopCurrent_v2"));
}

TEST_F(DriverTest, SaysThatThereIsNoCard) {
  fake_.set_cards(0);
  EXPECT_EQ(RefusalOfDriver(), "the NVIDIA driver finds no card");
  fake_.reset();
  fake_.fail("cuDeviceGetCount", 100, 0, 1);
  EXPECT_EQ(RefusalOfDriver(), "the NVIDIA driver finds no card");
}

TEST_F(DriverTest, SaysWhyADriverDoesNotStart) {
  fake_.fail("cuInit", 803, 0, 1);
  EXPECT_EQ(RefusalOfDriver(), "the NVIDIA driver does not start: error 803");
  fake_.fail("cuInit", 34, 0, 1);
  EXPECT_THAT(RefusalOfDriver(), HasSubstr("is a toolkit's stand-in for linking, and no driver"));
}

TEST_F(DriverTest, NamesACardThatIsNotThere) {
  fake_.set_cards(2);
  const auto driver = gpu::Driver::Open(FakeDriver::path());
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_TRUE(gpu::Card::Open(*driver, 1).ok());
  EXPECT_EQ(Refusal(gpu::Card::Open(*driver, 2).status()),
            "there is no gpu:2: the NVIDIA driver finds 2 cards");
  EXPECT_EQ(Refusal(gpu::Card::Open(*driver, -1).status()),
            "there is no gpu:-1: the NVIDIA driver finds 2 cards");
}

TEST_F(DriverTest, RefusesACardOfAnotherGeneration) {
  fake_.set_capability(7, 5);
  const auto driver = gpu::Driver::Open(FakeDriver::path());
  ASSERT_TRUE(driver.ok()) << driver.status();
  auto card = gpu::Card::Open(*driver, 0);
  ASSERT_TRUE(card.ok()) << card.status();
  const auto backend = gpu::CreateCardBackend(*card, nullptr);
  EXPECT_TRUE(absl::IsUnimplemented(backend.status()));
  EXPECT_EQ(backend.status().message(),
            "gpu:0 (card that is not there): no code is made for GPUs of compute capability 7.5");
}

TEST_F(DriverTest, LeavesNothingBehindWhenACardCannotBeOpened) {
  const auto driver = gpu::Driver::Open(FakeDriver::path());
  ASSERT_TRUE(driver.ok()) << driver.status();
  const int64_t things = fake_.held_things();
  for (const char* function : {"cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain",
                               "cuMemPoolCreate", "cuMemPoolSetAttribute", "cuStreamCreate"}) {
    fake_.fail(function, 1, 0, 1);
    const auto card = gpu::Card::Open(*driver, 0);
    EXPECT_EQ(card.status().code(), absl::StatusCode::kInternal) << function;
    EXPECT_THAT(std::string(card.status().message()), HasSubstr("gpu:0: ")) << function;
    EXPECT_EQ(fake_.held_things(), things) << function;
  }
}

}  // namespace
}  // namespace tektite::testing
