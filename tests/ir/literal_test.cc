#include "jit/ir/literal.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "jit/ir/graph.h"

namespace tektite::ir {
namespace {

// Through the text of a constant node and back.
Literal RoundTrip(const Literal& literal) {
  Graph g("g");
  Node* node = g.Append(Op::kConstant, {}, {{Attr::value, literal}}, {literal.shape()});
  g.SetOutputs({node->result()});
  auto parsed = Parse(Print(g));
  EXPECT_TRUE(parsed.ok()) << parsed.status() << "\n" << Print(g);
  if (!parsed.ok()) return Literal();
  return (*parsed)->outputs()[0].node->attrs().GetLiteral(Attr::value);
}

TEST(Literal, ScalarOfConverts) {
  EXPECT_EQ(Literal::ScalarOf(DType::kF16, 0.5).AsDouble(0), 0.5);
  EXPECT_EQ(Literal::ScalarOf(DType::kBF16, 3).AsDouble(0), 3);
  EXPECT_EQ(Literal::ScalarOf(DType::kS8, -3).AsInt(0), -3);
  EXPECT_EQ(Literal::ScalarOf(DType::kBool, 1).AsInt(0), 1);
  EXPECT_EQ(Literal::LowestOf(DType::kS16).AsInt(0), -32768);
  EXPECT_EQ(Literal::HighestOf(DType::kU8).AsInt(0), 255);
  EXPECT_EQ(Literal::LowestOf(DType::kF32).AsDouble(0), -INFINITY);
}

TEST(Literal, SplatAndAll) {
  EXPECT_TRUE(Literal::FromVector<float>({3}, {2, 2, 2}).IsAll(2));
  EXPECT_FALSE(Literal::FromVector<float>({3}, {2, 2, 1}).IsSplat());
  EXPECT_FALSE(Literal::FromVector<float>({0}, {}).IsSplat());
  EXPECT_FALSE(Literal::Scalar<float>(NAN).IsAll(NAN));
}

TEST(Literal, PrintsShort) {
  EXPECT_EQ(Literal::FromVector<float>({2}, {1, 2.5f}).ToString(), "f32[2]{1, 2.5}");
  EXPECT_EQ(Literal::FromVector<bool>({2, 1}, {true, false}).ToString(), "bool[2,1]{true, false}");
  const Literal large = Literal::FromVector<uint8_t>({65}, std::vector<uint8_t>(65, 0xab));
  EXPECT_EQ(large.ToString().substr(0, 12), "u8[65]{#abab");
  EXPECT_EQ(large.ToShortString().substr(0, 8), "u8[65]{@");
}

TEST(Literal, EveryBitSurvivesText) {
  for (uint32_t bits : {0u, 0x80000000u, 1u, 0x7f7fffffu, 0x00800000u, 0x7f800000u, 0xff800000u,
                        0x7fc00000u, 0xffc12345u, 0x7f800001u, 0x3dcccccdu, 0x4b800001u}) {
    float value;
    std::memcpy(&value, &bits, 4);
    const Literal f32 = Literal::CopyOf(DType::kF32, {}, &bits);
    EXPECT_EQ(RoundTrip(f32), f32) << f32.ToString();
    const uint64_t wide = static_cast<uint64_t>(bits) << 32 | 0x12345;
    const Literal f64 = Literal::CopyOf(DType::kF64, {}, &wide);
    EXPECT_EQ(RoundTrip(f64), f64) << f64.ToString();
  }
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (int64_t i = 0; i < 65536; i += 61) {  // 61 elements at a time stay decimal
      const int64_t n = std::min<int64_t>(61, 65536 - i);
      const Literal part = Literal::CopyOf(dtype, {n}, all.data() + i);
      ASSERT_EQ(RoundTrip(part), part) << part.ToString();
    }
    const Literal whole = Literal::CopyOf(dtype, {65536}, all.data());
    EXPECT_EQ(RoundTrip(whole), whole);
  }
  const Literal extremes = Literal::FromVector<int64_t>({2}, {INT64_MIN, INT64_MAX});
  EXPECT_EQ(RoundTrip(extremes), extremes);
  const Literal top = Literal::Scalar<uint64_t>(UINT64_MAX);
  EXPECT_EQ(RoundTrip(top), top);
  const Literal empty = Literal::Allocate(DType::kF32, {0, 5});
  EXPECT_EQ(RoundTrip(empty), empty);
}

// Conversion of every 16-bit pattern to float and back is the identity, NaN aside.
TEST(Literal, HalfAndBFloat16RoundTrip) {
  for (int i = 0; i < 65536; ++i) {
    Half h;
    h.bits = static_cast<uint16_t>(i);
    if (!std::isnan(static_cast<float>(h))) {
      ASSERT_EQ(Half(static_cast<float>(h)).bits, h.bits);
    }
    BFloat16 b;
    b.bits = static_cast<uint16_t>(i);
    if (!std::isnan(static_cast<float>(b))) {
      ASSERT_EQ(BFloat16(static_cast<float>(b)).bits, b.bits);
    }
  }
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);  // a tie goes to even
  EXPECT_EQ(Half(0x1.8p-24f).bits, 2);
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80);  // a tie goes to even
}

}  // namespace
}  // namespace tektite::ir
