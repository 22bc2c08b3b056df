// Where a card's list has NVIDIA's libraries before our own kernels: one shape of each class that
// was measured, on either side of its bound.
#include "backends/gpu/implementation_list.h"

#include "absl/strings/str_cat.h"
#include "backends/gpu/card_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/fake_cublaslt/fake_cublaslt.h"
#include "tests/gpu/fake_cudnn/fake_cudnn.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<backend::Backend> CardWithLibraries(bool tf32 = false) {
  FakeDriver::Opened().reset();
  gpu::CardOptions options;
  options.tf32 = tf32;
  options.products = *gpu::CublasLt::Open(FakeCublasLt::path());
  options.cudnn = *gpu::Cudnn::Open(FakeCudnn::path());
  return *gpu::CreateCardBackend(*gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0),
                                 nullptr, options);
}

std::vector<target::Offer> Offers(const backend::Backend& backend, const std::string& text,
                                  bool alternatives = false) {
  const auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  target::Facts facts;
  facts.alternatives = alternatives;
  for (const auto& node : (*graph)->nodes()) {
    if (node->op() == ir::Op::kFusion) return backend.Schedules(*node, facts);
  }
  return {};
}

std::string First(const backend::Backend& backend, const std::string& text) {
  for (const target::Offer& offer : Offers(backend, text)) {
    if (offer.schedule.ok()) return offer.schedule->implementation;
  }
  return "";
}

std::string Fusion(const std::string& kind, const std::string& parameters,
                   const std::string& arguments, const std::string& result,
                   const std::string& body) {
  return absl::StrCat("graph @f(", parameters, ") -> (", result, ") {\n  %r: ", result,
                      " = fusion(", arguments, ") {kind = ", kind, "}\n    graph @fused(",
                      parameters, ") -> (", result, ") {\n", body, "    }\n  return %r\n}\n");
}

enum Behind { kNothing, kRelu, kTanh };

std::string Product(const std::string& t, int64_t m, int64_t k, int64_t n,
                    Behind behind = kNothing) {
  const std::string y = absl::StrCat(t, "[", m, ",", n, "]");
  std::string body = absl::StrCat(
      "      %y: ", y, " = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}\n");
  if (behind == kTanh) absl::StrAppend(&body, "      %z: ", y, " = tanh(%y)\n");
  if (behind == kRelu) absl::StrAppend(&body, "      %z: ", y, " = abs(%y)\n");
  absl::StrAppend(&body, "      return %", behind == kNothing ? "y" : "z", "\n");
  return Fusion("contraction",
                absl::StrCat("%x: ", t, "[", m, ",", k, "], %w: ", t, "[", k, ",", n, "]"),
                "%x, %w", y, body);
}

std::string Convolution(const std::string& t, int64_t batch, int64_t size, int64_t channels) {
  const std::string image = absl::StrCat(t, "[", batch, ",", size, ",", size, ",", channels, "]");
  return Fusion(
      "contraction",
      absl::StrCat("%x: ", image, ", %w: ", t, "[3,3,", channels, ",", channels, "]"), "%x, %w",
      image,
      absl::StrCat(
          "      %y: ", image,
          " = convolution(%x, %w) {high = [1, 1], input_layout = \"b01f\", kernel_layout = "
          "\"01io\", low = [1, 1], output_layout = \"b01f\", strides = [1, 1]}\n"
          "      return %y\n"));
}

TEST(CardImplementations, LibrariesComeFirstWhereTheyWereMeasuredFaster) {
  const auto card = CardWithLibraries();
  // f32: from 0.3 GFLOP and sums of 128 on.
  EXPECT_EQ(First(*card, Product("f32", 128, 768, 3072)), "cublaslt");
  EXPECT_EQ(First(*card, Product("f32", 128, 768, 3072, kTanh)), "cublaslt");
  EXPECT_EQ(First(*card, Product("f32", 128, 768, 768)), "own");
  EXPECT_EQ(First(*card, Product("f32", 25088, 64, 256)), "own");
  EXPECT_EQ(First(*card, Product("f32", 1, 65536, 4096)), "own");
  // f16 and bf16: large ones, by what follows them.
  EXPECT_EQ(First(*card, Product("bf16", 4096, 4096, 4096)), "cublaslt");
  EXPECT_EQ(First(*card, Product("bf16", 4096, 4096, 4096, kRelu)), "own");
  EXPECT_EQ(First(*card, Product("bf16", 4096, 4096, 4096, kTanh)), "cublaslt");
  EXPECT_EQ(First(*card, Product("f16", 128, 131072, 128, kRelu)), "cublaslt");
  EXPECT_EQ(First(*card, Product("f16", 1024, 1024, 512)), "own");
  // Convolutions of f32 are our own, whatever their size.
  EXPECT_EQ(First(*card, Convolution("f32", 32, 28, 128)), "own");
  EXPECT_EQ(First(*card, Convolution("bf16", 32, 28, 128)), "cudnn");
  EXPECT_EQ(First(*card, Convolution("bf16", 1, 28, 128)), "own");
}

TEST(CardImplementations, TensorFloatsAreOurOwn) {
  EXPECT_EQ(First(*CardWithLibraries(/*tf32=*/true), Product("f32", 1024, 1024, 1024)), "own");
}

TEST(CardImplementations, WhatARuleLeavesOutHasAReasonAndIsAnAlternative) {
  const auto card = CardWithLibraries();
  const auto offers = Offers(*card, Product("f32", 128, 768, 768), /*alternatives=*/true);
  ASSERT_FALSE(offers.empty());
  EXPECT_EQ(offers.front().implementation, "cublaslt");
  EXPECT_THAT(offers.front().schedule.status().message(),
              HasSubstr("our own kernel is faster below 0.3"));
  ASSERT_TRUE(offers.back().schedule.ok());
  EXPECT_EQ(offers.back().schedule->implementation, "cublaslt");
}

std::string ProductOfBytes(const std::string& rows, int64_t m, int64_t k, int64_t n) {
  const bool whole = rows != "f32";
  const std::string sums = whole ? "s32" : "f32", y = absl::StrCat(sums, "[", m, ",", n, "]");
  return Fusion("contraction",
                absl::StrCat("%x: ", rows, "[", m, ",", k, "], %w: s8[", n, ",", k, "]"), "%x, %w",
                y,
                absl::StrCat("      %y: ", y, " = dot_general(%x, %w) {dtype = ", sums,
                             ", lhs_contracting = [1], rhs_contracting = [1]}\n      return %y\n"));
}

// Passes ask which products of narrow types have kernels; a library is for a measurement to choose.
TEST(CardImplementations, ProductsOfBytes) {
  const auto card = CardWithLibraries();
  EXPECT_EQ(First(*card, ProductOfBytes("s8", 4096, 4096, 4096)), "pairs");
  EXPECT_EQ(First(*card, ProductOfBytes("u8", 1, 4096, 4096)), "pairs");
  EXPECT_EQ(First(*card, ProductOfBytes("f32", 1, 4096, 4096)), "streamed");
  EXPECT_EQ(First(*card, ProductOfBytes("f32", 64, 4096, 4096)), "own");
  const auto offers = Offers(*card, ProductOfBytes("s8", 4096, 4096, 4096), /*alternatives=*/true);
  EXPECT_THAT(offers.front().schedule.status().message(), HasSubstr("were not compared"));
  ASSERT_TRUE(offers.back().schedule.ok());
  EXPECT_EQ(offers.back().schedule->implementation, "cublaslt");
}

TEST(CardImplementations, WithoutLibrariesAllIsOurOwn) {
  FakeDriver::Opened().reset();
  const auto card =
      *gpu::CreateCardBackend(*gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0), nullptr);
  EXPECT_EQ(First(*card, Product("f32", 1024, 1024, 1024)), "own");
  EXPECT_EQ(First(*card, Convolution("bf16", 32, 28, 128)), "own");
}

}  // namespace
}  // namespace tektite::testing
