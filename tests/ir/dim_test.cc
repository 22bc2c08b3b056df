#include "jit/ir/dim.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/ir/symbols.h"

namespace tektite::ir {
namespace {

Dim N() { return Dim::Symbol("n"); }
Dim M() { return Dim::Symbol("m"); }

Dim Parsed(absl::string_view text) {
  auto dim = Dim::Parse(text);
  EXPECT_TRUE(dim.ok()) << text << ": " << dim.status();
  return dim.value_or(Dim(-1));
}

TEST(Dim, EqualExpressionsCompareEqualHoweverTheyWereBuilt) {
  EXPECT_EQ((N() + 1) * (M() + 2), M() * N() + M() + N() * 2 + 2);
  EXPECT_EQ(N() - N(), Dim(0));
  EXPECT_EQ(FloorDiv(N() * 4, 4), N());
  EXPECT_EQ(Mod(N() * 6 + 4, 2), Dim(0));
  EXPECT_EQ(Max(N(), M()), Max(M(), N()));
  EXPECT_NE(N(), M());
  EXPECT_NE(N(), Dim(3));
  EXPECT_NE(FloorDiv(N(), 2), FloorDiv(N(), 3));
}

// Two ways to count the same windows must not look like two sizes.
TEST(Dim, DivisionsOfTheSameHaveOneForm) {
  EXPECT_EQ(FloorDiv(N() - 1, 2) + 1, CeilDiv(N(), 2));
  EXPECT_EQ(FloorDiv(N() * 4 + M() - 5, 4), N() - 2 + FloorDiv(M() + 3, 4));
  EXPECT_EQ(Mod(N() * 4 + M() - 5, 4), Mod(M() + 3, 4));
  EXPECT_EQ(Mod(N() * 6 + 5, 3), Dim(2));
}

TEST(Dim, PrintsAndParses) {
  EXPECT_EQ((CeilDiv(N(), 8) * 8).ToString(), "8*((n + 7) floordiv 8)");
  EXPECT_EQ((M() * -1 + 3).ToString(), "-m + 3");
  for (const Dim& d : {Dim(-7), N(), N() * M() * 3 - 2, Max(N() + 1, M()), Mod(N(), M()),
                       FloorDiv(Min(N(), 5) + 2, M() + 1)}) {
    EXPECT_EQ(Parsed(d.ToString()), d) << d.ToString();
  }
  EXPECT_EQ(Parsed(" 2 * n+1 "), N() * 2 + 1);
  EXPECT_EQ(Parsed("-n floordiv 2"), Dim(0) - FloorDiv(N(), 2));
}

TEST(Dim, RefusesTextThatIsNone) {
  for (const char* text : {"", "n +", "(n", "n m", "max(n)", "99999999999999999999", "n $"}) {
    EXPECT_FALSE(Dim::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(Dim::Parse(std::string(100000, '(')).ok());
  EXPECT_FALSE(Dim::Parse(std::string(100000, '-')).ok());
  // 2^n terms: must stop early instead of running out of memory.
  std::string product = "(a0 + b0)";
  for (int i = 1; i < 60; ++i) absl::StrAppend(&product, "*(a", i, " + b", i, ")");
  EXPECT_FALSE(Dim::Parse(product).ok());
}

TEST(Dim, DivisionByZeroAndOverflowAreDefined) {
  EXPECT_EQ(FloorDiv(Dim(7), Dim(0)), Dim(0));
  EXPECT_EQ(Mod(Dim(7), Dim(0)), Dim(0));
  EXPECT_EQ(FloorDiv(Dim(INT64_MIN), Dim(-1)), Dim(INT64_MIN));
  EXPECT_EQ(Dim(INT64_MAX) + Dim(1), Dim(INT64_MAX));
  EXPECT_EQ(FloorDiv(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(Mod(Dim(-7), Dim(2)), Dim(1));
}

// A product that wraps passes for a small size, and memory is written behind its end.
TEST(Dim, ArithmeticSaturates) {
  const Dim n = Dim::Symbol("n"), large(int64_t{1} << 32);
  EXPECT_EQ(large * large, Dim(INT64_MAX));
  EXPECT_EQ(large * large * Dim(-1), Dim(INT64_MIN));
  EXPECT_EQ(large * large * Dim(0), Dim(INT64_MAX));
  EXPECT_EQ(large * large - Dim(INT64_MAX), Dim(INT64_MAX));
  EXPECT_EQ(FloorDiv(large * large, large), Dim(INT64_MAX));
  EXPECT_EQ(Min(large * large, Dim(3)), Dim(3));
  EXPECT_EQ((n * large * large).Substitute({{"n", Dim(0)}}), Dim(INT64_MAX));
  EXPECT_EQ(FloorDiv(n * large * large, large), Dim(INT64_MAX));
  EXPECT_EQ((n * n * n).Substitute({{"n", Dim(1 << 21)}}), Dim(INT64_MAX));
}

// An expression built as Dims and, side by side, evaluated on integers.
struct Evaluated {
  Dim dim;
  int64_t value;
};

Evaluated RandomExpression(std::mt19937_64& random, const std::map<std::string, int64_t>& values,
                           int depth) {
  const uint64_t kind = depth == 0 ? random() % 2 : random() % 9;
  if (kind == 0) {
    const int64_t v = static_cast<int64_t>(random() % 9) - 2;
    return {Dim(v), v};
  }
  if (kind == 1) {
    auto it = std::next(values.begin(), random() % values.size());
    return {Dim::Symbol(it->first), it->second};
  }
  const Evaluated a = RandomExpression(random, values, depth - 1);
  const Evaluated b = RandomExpression(random, values, depth - 1);
  const int64_t divisor = 1 + random() % 5;
  const int64_t floor = (a.value - ((a.value % divisor) + divisor) % divisor) / divisor;
  switch (kind) {
    case 2:
      return {a.dim + b.dim, a.value + b.value};
    case 3:
      return {a.dim - b.dim, a.value - b.value};
    case 4:
      return {a.dim * b.dim, a.value * b.value};
    case 5:
      return {FloorDiv(a.dim, divisor), floor};
    case 6:
      return {Mod(a.dim, divisor), a.value - floor * divisor};
    case 7:
      return {Max(a.dim, b.dim), std::max(a.value, b.value)};
    default:
      return {Min(a.dim, b.dim), std::min(a.value, b.value)};
  }
}

// Substitution returns the results of integer arithmetic, before and after a trip through text.
TEST(Dim, SubstitutionAgreesWithEvaluation) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::map<std::string, int64_t> values;
    SymbolMap symbols;
    for (const char* name : {"a", "b", "c"}) {
      values[name] = static_cast<int64_t>(random() % 12);
      symbols[name] = Dim(values[name]);
    }
    const Evaluated e = RandomExpression(random, values, 4);
    ASSERT_EQ(e.dim.Substitute(symbols), Dim(e.value)) << e.dim.ToString();
    if (e.dim.ToString().size() > 2000) continue;
    const Dim again = Parsed(e.dim.ToString());
    ASSERT_EQ(again, e.dim);
    ASSERT_EQ(again.Substitute(symbols), Dim(e.value)) << e.dim.ToString();
  }
}

TEST(Dim, SymbolsAreNeverNegative) {
  EXPECT_EQ(Max(N(), 0), N());
  EXPECT_EQ(Max(N() + M(), M()), N() + M());
  EXPECT_EQ(Min(N() * 2 + 1, N()), N());
  EXPECT_EQ(Max(Mod(N() - 5, 3), 0), Mod(N() - 5, 3));
  EXPECT_NE(Max(N() - 1, 0), N() - 1);
  EXPECT_TRUE(NeverLess(FloorDiv(N(), 2) + 1, 1));
  EXPECT_FALSE(NeverLess(N(), M()));
  // What a list has room for that grows to n elements from 4.
  EXPECT_TRUE(NeverLess(Max(N(), 4), N()));
  EXPECT_TRUE(NeverLess(Max(N(), 4) + M(), Max(N(), 2)));
  EXPECT_TRUE(NeverLess(N(), Min(N(), M())));
  EXPECT_FALSE(NeverLess(Max(N(), 2), Max(N(), 4)));
  EXPECT_FALSE(NeverLess(Min(N(), M()), M()));
  EXPECT_FALSE(NeverLess(N(), 1));
}

TEST(Dim, CollectsSymbols) {
  std::set<std::string> symbols;
  Max(N() * 2, FloorDiv(M(), 3)).CollectSymbols(&symbols);
  EXPECT_EQ(symbols, (std::set<std::string>{"m", "n"}));
}

}  // namespace
}  // namespace tektite::ir
