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
      program.Run(symbols, table.data());
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

TEST(DimProgram, IsItsSymbolsAndSteps) {
  DimProgram program({"n"});
  const int place = program.Add(*Dim::Parse("5*n + (n floordiv 3)"));
  DimProgram copy(program.symbols(), {program.steps().begin(), program.steps().end()});
  std::vector<int64_t> table(copy.table_size());
  const int64_t n = 10;
  copy.Run(&n, table.data());
  EXPECT_EQ(table[place], 53);
}

TEST(DimProgram, NoticesASymbolItDoesNotHave) {
  DimProgram program({"n"});
  program.Add(Dim::Symbol("m") + Dim(1));
  EXPECT_FALSE(program.complete());
}

}  // namespace
}  // namespace tektite::ir
