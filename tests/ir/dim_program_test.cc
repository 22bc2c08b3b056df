#include "jit/ir/dim_program.h"

#include "gtest/gtest.h"

namespace tektite::ir {
namespace {

// The program and substitution must say the same of every expression.
TEST(DimProgram, AgreesWithSubstitution) {
  const std::vector<std::string> texts = {
      "7",
      "n",
      "n*m",
      "2*n*m - 3*m + 5",
      "(n + 7) floordiv 8",
      "8*((n + 7) floordiv 8) - n",
      "n mod m",
      "(n - 4) floordiv 3",
      "(n - 4) mod 3",
      "n floordiv m",
      "max(n, m) - min(n, 4)",
      "max((n*m + 1) floordiv max(m, 1), 3*n)",
  };
  DimProgram program({"n", "m"});
  std::vector<Dim> dims;
  std::vector<int> places;
  for (const std::string& text : texts) {
    dims.push_back(*Dim::Parse(text));
    places.push_back(program.Add(dims.back()));
  }
  EXPECT_TRUE(program.complete());
  std::vector<int64_t> table(program.table_size());
  for (int64_t n : {0, 1, 2, 3, 4, 13, 128}) {
    for (int64_t m : {0, 1, 5, 64}) {
      const int64_t symbols[] = {n, m};
      ASSERT_TRUE(program.Run(symbols, table.data()));
      for (size_t i = 0; i < dims.size(); ++i) {
        const Dim want = dims[i].Substitute({{"n", n}, {"m", m}});
        EXPECT_EQ(table[places[i]], want.value()) << texts[i] << " at " << n << ", " << m;
      }
    }
  }
}

TEST(DimProgram, WorksOutEqualPartsOnce) {
  DimProgram program({"n"});
  const Dim n = Dim::Symbol("n");
  program.Add(FloorDiv(n + Dim(3), Dim(4)));
  const int steps = program.table_size();
  program.Add(FloorDiv(n + Dim(3), Dim(4)));
  EXPECT_EQ(program.table_size(), steps);
  EXPECT_EQ(program.Add(n), 0);
}

TEST(DimProgram, IsKeptAsBytes) {
  DimProgram program({"n"});
  const int place = program.Add(*Dim::Parse("5*n + (n floordiv 3)"));
  ByteWriter w;
  program.Write(&w);
  DimProgram copy;
  ByteReader r(w.bytes());
  ASSERT_TRUE(copy.Read(&r));
  EXPECT_TRUE(r.AtEnd());
  std::vector<int64_t> table(copy.table_size());
  const int64_t n = 10;
  ASSERT_TRUE(copy.Run(&n, table.data()));
  EXPECT_EQ(table[place], 53);
}

// A program read from a damaged file must not read or write beside its table.
TEST(DimProgram, RefusesStepsThatReadAhead) {
  DimProgram program({"n"});
  program.Add(*Dim::Parse("5*n"));
  ByteWriter w;
  program.Write(&w);
  for (size_t at = 0; at < w.bytes().size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = w.bytes();
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      DimProgram copy;
      ByteReader r(damaged);
      if (!copy.Read(&r)) continue;
      for (size_t i = 0; i < copy.steps().size(); ++i) {
        const DimProgram::Step& step = copy.steps()[i];
        if (step.code == DimProgram::Code::kConstant) continue;
        EXPECT_LT(step.a, copy.num_symbols() + static_cast<int>(i));
        EXPECT_LT(step.b, copy.num_symbols() + static_cast<int>(i));
        EXPECT_GE(step.a, 0);
        EXPECT_GE(step.b, 0);
      }
    }
  }
}

// A product that wraps passes for a small size, and memory is written behind its end.
TEST(DimProgram, SaysWhenAValueDoesNotFit) {
  constexpr int64_t kHalf = int64_t{1} << 32, kMost = INT64_MAX;
  const auto fits = [](const char* text, int64_t n, int64_t m) {
    DimProgram program({"n", "m"});
    program.Add(*Dim::Parse(text));
    std::vector<int64_t> table(program.table_size());
    const int64_t symbols[] = {n, m};
    return program.Run(symbols, table.data());
  };
  EXPECT_FALSE(fits("n*m", kHalf, kHalf));
  EXPECT_TRUE(fits("n*m", kHalf, kHalf / 4));
  EXPECT_FALSE(fits("4*n", kMost / 2, 0));
  EXPECT_FALSE(fits("n + m", kMost, 1));
  EXPECT_FALSE(fits("n + 1", kMost, 0));
  EXPECT_FALSE(fits("n - m", -kMost, 2));
  EXPECT_TRUE(fits("n - m", kMost, kMost));
  EXPECT_TRUE(fits("max(n, m)", kMost, kMost - 1));
  // The wrapped product would be 0, and its quotient a size that looks right.
  EXPECT_FALSE(fits("(n*m) floordiv 8", kHalf, kHalf));
  // A constant of the expression that did not fit when it was made.
  EXPECT_FALSE(fits("n + 4294967296*4294967296", 1, 1));
  EXPECT_FALSE(fits("4294967296*4294967296*n", 0, 1));
}

TEST(DimProgram, NoticesASymbolItDoesNotHave) {
  DimProgram program({"n"});
  program.Add(Dim::Symbol("m") + Dim(1));
  EXPECT_FALSE(program.complete());
}

}  // namespace
}  // namespace tektite::ir
