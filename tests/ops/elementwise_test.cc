// Values of the elementwise ops: expected numbers are double computations rounded to f32 once.
#include "gtest/gtest.h"
#include "tests/ops/run_op.h"

namespace tektite::testing {
namespace {

TEST(Unary, FloatValues) {
  struct Case {
    const char *op, *x, *result;
  };
  for (const Case& c : std::vector<Case>{
           {"abs", "-1.5, -0", "1.5, 0"},
           {"acos", "0.5, -1", "1.04719758, 3.14159274"},
           {"acosh", "1, 3", "0, 1.76274717"},
           {"asin", "0.5, -1", "0.52359879, -1.57079637"},
           {"asinh", "0.5, -3", "0.481211811, -1.81844652"},
           {"atan", "1, -3", "0.785398185, -1.24904573"},
           {"atanh", "0.5, -0.25", "0.549306154, -0.255412817"},
           {"ceil", "1.2, -0.5", "2, -0"},
           {"cos", "1, -3", "0.540302277, -0.989992499"},
           {"cosh", "1, -3", "1.54308069, 10.0676622"},
           {"erf", "0.5, -2", "0.520499885, -0.995322287"},
           {"erfc", "0.5, 2", "0.479500115, 0.0046777348"},
           {"exp", "1, -2.5", "2.71828175, 0.0820849985"},
           {"expm1", "1e-05, -2.5", "1.00000498e-05, -0.917914987"},
           {"floor", "1.8, -0.5", "1, -1"},
           {"log", "2, 0.1", "0.693147182, -2.30258512"},
           {"log1p", "1e-05, 3", "9.99994973e-06, 1.38629436"},
           {"logistic", "1, -90", "0.731058598, 8.19400869e-40"},
           {"neg", "0, -3", "-0, 3"},
           {"round_away", "2.5, -0.5", "3, -1"},
           {"round_even", "2.5, -0.5", "2, -0"},
           {"rsqrt", "4, 3", "0.5, 0.577350259"},
           {"sign", "-7, -0", "-1, -0"},
           {"sin", "1, -3", "0.841470957, -0.141120002"},
           {"sinh", "1, -3", "1.17520118, -10.0178747"},
           {"sqrt", "2, 9", "1.41421354, 3"},
           {"tan", "1, -3", "1.55740774, 0.142546549"},
           {"tanh", "1, -0.5", "0.761594176, -0.462117165"},
       }) {
    auto wrap = [](const char* values) { return std::string("f32[2]{") + values + "}"; };
    EXPECT_EQ(RunOp(c.op, {wrap(c.x)}), wrap(c.result)) << c.op;
    EXPECT_EQ(RunOp(c.op, {"f32[0,3]{}"}), "f32[0,3]{}") << c.op;
    // NaN stays NaN, in every float type.
    EXPECT_EQ(RunOp(c.op, {"f32[1]{nan}"}), "f32[1]{nan}") << c.op;
    EXPECT_EQ(RunOp(c.op, {"f16[1]{nan}"}), "f16[1]{nan}") << c.op;
    EXPECT_EQ(RunOp(c.op, {"bf16[]{nan}"}), "bf16[]{nan}") << c.op;
    EXPECT_EQ(RunOp(c.op, {"f64[1,1]{nan}"}), "f64[1,1]{nan}") << c.op;
  }
}

TEST(Unary, LimitsOfFloatFunctions) {
  EXPECT_EQ(RunOp("exp", {"f32[4]{-inf, inf, 89, -104}"}), "f32[4]{0, inf, inf, 0}");
  EXPECT_EQ(RunOp("log", {"f32[3]{0, -1, inf}"}), "f32[3]{-inf, nan, inf}");
  EXPECT_EQ(RunOp("logistic", {"f64[3]{-inf, inf, -710}"}),
            "f64[3]{0, 1, 4.4762862256751298e-309}");
  EXPECT_EQ(RunOp("rsqrt", {"f32[3]{0, -0, inf}"}), "f32[3]{inf, -inf, 0}");
  EXPECT_EQ(RunOp("tanh", {"f32[2]{inf, -inf}"}), "f32[2]{1, -1}");
  EXPECT_EQ(RunOp("sqrt", {"f32[2]{-0, -1}"}), "f32[2]{-0, nan}");
  EXPECT_EQ(RunOp("is_finite", {"f32[4]{1, inf, nan, -inf}"}),
            "bool[4]{true, false, false, false}");
  EXPECT_EQ(RunOp("abs", {"f16[2]{-65504, -inf}"}), "f16[2]{65504, inf}");
  // 1 / 3 in bf16 is rounded by way of f32.
  EXPECT_EQ(RunOp("sqrt", {"bf16[1]{2}"}), "bf16[1]{1.4140625}");
}

TEST(Unary, Integers) {
  EXPECT_EQ(RunOp("abs", {"s8[3]{-128, -1, 5}"}), "s8[3]{-128, 1, 5}");
  EXPECT_EQ(RunOp("neg", {"s32[2]{-2147483648, 3}"}), "s32[2]{-2147483648, -3}");
  EXPECT_EQ(RunOp("neg", {"u8[2]{1, 0}"}), "u8[2]{255, 0}");
  EXPECT_EQ(RunOp("sign", {"s64[3]{-9, 0, 4}"}), "s64[3]{-1, 0, 1}");
  EXPECT_EQ(RunOp("sign", {"u16[2]{0, 65535}"}), "u16[2]{0, 1}");
  EXPECT_EQ(RunOp("not", {"s8[2]{0, 5}"}), "s8[2]{-1, -6}");
  EXPECT_EQ(RunOp("not", {"bool[2]{true, false}"}), "bool[2]{false, true}");
  EXPECT_EQ(RunOp("popcnt", {"s16[2]{-1, 5}"}), "s16[2]{16, 2}");
}

TEST(Binary, Floats) {
  EXPECT_EQ(RunOp("add", {"f32[3]{0.1, inf, nan}", "f32[3]{0.2, -inf, 1}"}),
            "f32[3]{0.300000012, nan, nan}");
  EXPECT_EQ(RunOp("sub", {"f64[1]{1}", "f64[1]{0.9}"}), "f64[1]{0.099999999999999978}");
  EXPECT_EQ(RunOp("mul", {"f16[2]{256, 3}", "f16[2]{256, 0.5}"}), "f16[2]{inf, 1.5}");
  EXPECT_EQ(RunOp("div", {"f32[3]{1, -1, 0}", "f32[3]{0, 0, 0}"}), "f32[3]{inf, -inf, nan}");
  EXPECT_EQ(RunOp("max", {"f32[3]{1, nan, 2}", "f32[3]{3, 1, nan}"}), "f32[3]{3, nan, nan}");
  EXPECT_EQ(RunOp("min", {"f32[3]{1, nan, 2}", "f32[3]{3, 1, nan}"}), "f32[3]{1, nan, nan}");
  EXPECT_EQ(RunOp("rem", {"f32[3]{5.5, -5.5, 1}", "f32[3]{2, 2, 0}"}), "f32[3]{1.5, -1.5, nan}");
  EXPECT_EQ(RunOp("pow", {"f32[3]{2, 0.1, -8}", "f32[3]{0.5, 3, 0.5}"}),
            "f32[3]{1.41421354, 0.00100000005, nan}");
  EXPECT_EQ(RunOp("atan2", {"f32[2]{1, -0}", "f32[2]{-2, -1}"}), "f32[2]{2.67794514, -3.14159274}");
  EXPECT_EQ(RunOp("add", {"f32[0]{}", "f32[0]{}"}), "f32[0]{}");
}

TEST(Binary, IntegersWrapAndDivisionIsTotal) {
  EXPECT_EQ(RunOp("add", {"s8[2]{127, 1}", "s8[2]{1, 2}"}), "s8[2]{-128, 3}");
  EXPECT_EQ(RunOp("sub", {"u8[1]{0}", "u8[1]{1}"}), "u8[1]{255}");
  EXPECT_EQ(RunOp("mul", {"s32[1]{65536}", "s32[1]{65536}"}), "s32[1]{0}");
  EXPECT_EQ(RunOp("mul", {"u16[1]{65535}", "u16[1]{65535}"}), "u16[1]{1}");
  EXPECT_EQ(RunOp("div", {"s32[4]{7, -7, 7, -2147483648}", "s32[4]{2, 2, 0, -1}"}),
            "s32[4]{3, -3, -1, -2147483648}");
  EXPECT_EQ(RunOp("div", {"u8[1]{7}", "u8[1]{0}"}), "u8[1]{255}");
  EXPECT_EQ(RunOp("rem", {"s32[4]{7, -7, 7, -2147483648}", "s32[4]{2, 2, 0, -1}"}),
            "s32[4]{1, -1, 7, 0}");
  EXPECT_EQ(RunOp("max", {"u8[1]{200}", "u8[1]{100}"}), "u8[1]{200}");
  EXPECT_EQ(RunOp("pow", {"s32[4]{3, 2, -1, 7}", "s32[4]{4, -1, -3, 0}"}), "s32[4]{81, 0, -1, 1}");
  EXPECT_EQ(RunOp("and", {"s32[1]{12}", "s32[1]{10}"}), "s32[1]{8}");
  EXPECT_EQ(RunOp("or", {"bool[2]{true, false}", "bool[2]{false, false}"}), "bool[2]{true, false}");
  EXPECT_EQ(RunOp("xor", {"bool[2]{true, false}", "bool[2]{true, true}"}), "bool[2]{false, true}");
}

TEST(Binary, ShiftsOutOfRange) {
  EXPECT_EQ(RunOp("shift_left", {"s8[4]{1, 1, 3, 1}", "s8[4]{7, 8, 1, -1}"}),
            "s8[4]{-128, 0, 6, 0}");
  EXPECT_EQ(RunOp("shift_right_logical", {"s8[3]{-128, -1, -1}", "s8[3]{7, 1, 9}"}),
            "s8[3]{1, 127, 0}");
  EXPECT_EQ(RunOp("shift_right_arithmetic", {"s32[4]{-8, -8, 8, 8}", "s32[4]{1, 40, 40, 2}"}),
            "s32[4]{-4, -1, 0, 2}");
  EXPECT_EQ(RunOp("shift_left", {"u64[2]{1, 1}", "u64[2]{63, 64}"}),
            "u64[2]{9223372036854775808, 0}");
}

TEST(Compare, EveryDirection) {
  const std::string a = "f32[4]{1, 2, nan, -0}", b = "f32[4]{2, 2, nan, 0}";
  auto compare = [&](const char* direction) {
    return RunOp("compare", {a, b}, std::string("direction = \"") + direction + "\"");
  };
  EXPECT_EQ(compare("eq"), "bool[4]{false, true, false, true}");
  EXPECT_EQ(compare("ne"), "bool[4]{true, false, true, false}");
  EXPECT_EQ(compare("lt"), "bool[4]{true, false, false, false}");
  EXPECT_EQ(compare("le"), "bool[4]{true, true, false, true}");
  EXPECT_EQ(compare("gt"), "bool[4]{false, false, false, false}");
  EXPECT_EQ(compare("ge"), "bool[4]{false, true, false, true}");
  EXPECT_EQ(RunOp("compare", {"u64[1]{18446744073709551615}", "u64[1]{1}"}, "direction = \"gt\""),
            "bool[1]{true}");
}

TEST(Ternary, ClampAndSelect) {
  EXPECT_EQ(RunOp("clamp", {"f32[4]{0, 0, 0, 0}", "f32[4]{-1, 0.5, 2, nan}", "f32[4]{1, 1, 1, 1}"}),
            "f32[4]{0, 0.5, 1, nan}");
  EXPECT_EQ(RunOp("clamp", {"s8[1]{3}", "s8[1]{-100}", "s8[1]{9}"}), "s8[1]{3}");
  EXPECT_EQ(RunOp("select", {"bool[2]{true, false}", "f64[2]{1, 2}", "f64[2]{3, nan}"}),
            "f64[2]{1, nan}");
}

TEST(Convert, RoundsAndWrapsAsX86Does) {
  auto convert = [](const char* x, const char* dtype) {
    return RunOp("convert", {x}, std::string("dtype = ") + dtype);
  };
  EXPECT_EQ(convert("f32[5]{1.9, -1.9, nan, inf, -inf}", "s32"),
            "s32[5]{1, -1, -2147483648, -2147483648, -2147483648}");
  EXPECT_EQ(convert("f32[5]{300, -5, 200.7, nan, 3e9}", "u8"), "u8[5]{255, 0, 200, 0, 0}");
  EXPECT_EQ(convert("f32[4]{300, nan, inf, -129}", "s8"), "s8[4]{127, -128, -128, -128}");
  EXPECT_EQ(convert("f32[3]{-7, 3e9, nan}", "u32"), "u32[3]{4294967289, 3000000000, 0}");
  EXPECT_EQ(convert("f64[3]{9.3e18, -9.3e18, 1e3}", "s64"),
            "s64[3]{-9223372036854775808, -9223372036854775808, 1000}");
  EXPECT_EQ(convert("f64[4]{1.9e19, 1e19, -1, nan}", "u64"),
            "u64[4]{9223372036854775808, 10000000000000000000, 18446744073709551615, "
            "9223372036854775808}");
  EXPECT_EQ(convert("f32[4]{0, -0, nan, 0.1}", "bool"), "bool[4]{false, false, true, true}");
  EXPECT_EQ(convert("bool[2]{true, false}", "f16"), "f16[2]{1, 0}");
  EXPECT_EQ(convert("s32[3]{300, -1, 5}", "u8"), "u8[3]{44, 255, 5}");
  EXPECT_EQ(convert("u8[1]{200}", "s8"), "s8[1]{-56}");
  // In two roundings, by way of double, this would be 9.00719925e+15.
  EXPECT_EQ(convert("s64[1]{9007199791611905}", "f32"), "f32[1]{9.00720033e+15}");
  EXPECT_EQ(convert("f32[3]{65519, 65520, 1e-08}", "f16"), "f16[3]{65504, inf, 0}");
  EXPECT_EQ(convert("f32[2]{1.00390625, 1.01171875}", "bf16"), "bf16[2]{1, 1.015625}");
  EXPECT_EQ(convert("f64[2]{0.1, 1e300}", "f32"), "f32[2]{0.100000001, inf}");
}

TEST(Convert, Bitcast) {
  EXPECT_EQ(RunOp("bitcast", {"f32[2]{1, -0}"}, "dtype = u32"), "u32[2]{1065353216, 2147483648}");
}

}  // namespace
}  // namespace tektite::testing
