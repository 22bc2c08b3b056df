// The loop IR by itself: its text, what building folds, and what Verify refuses.
#include "jit/llvm/loop_ir.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/instr.h"

namespace tektite::loop {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Kernel TwoBuffers() { return Kernel("k", {{DType::kF32, "x", false}, {DType::kF32, "y", true}}); }

TEST(LoopIr, PrintsOneInstructionALine) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  Value two = b.Splat(b.Float(DType::kF32, 2.0), 16);
  b.For(b.ChunkBegin(), b.ChunkEnd(), 1, [&](Value c) {
    Value at = b.Mul(c, b.Index(16));
    b.Store(b.Buffer(1), at, b.Mul(b.Load(b.Buffer(0), DType::kF32, at, 16), two));
  });
  EXPECT_TRUE(Verify(k).ok()) << Verify(k);
  EXPECT_EQ(k.ToString(),
            "kernel k(x: f32, y: f32 written) scratch 0 {\n"
            "  for %0 = chunk_begin to chunk_end step 1 {\n"
            "    %1 = mul s64 %0, 16\n"
            "    %2 = load f32x16 @x, %1\n"
            "    %3 = mul f32x16 %2, f32x16 2[40000000]\n"
            "    store f32x16 @y, %1, %3\n"
            "  }\n"
            "}\n");
}

TEST(LoopIr, PrintsCarriedValuesAndBranches) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  std::vector<Value> sum =
      b.For(b.Index(0), b.Size(0), 1, {b.Float(DType::kF32, 0)},
            [&](Value i, absl::Span<const Value> carried) {
              return std::vector<Value>{b.Add(carried[0], b.Load(b.Buffer(0), DType::kF32, i))};
            });
  b.If(b.Compare("gt", b.Size(0), b.Index(0)), [&] { b.Store(b.Buffer(1), b.Index(0), sum[0]); });
  EXPECT_TRUE(Verify(k).ok()) << Verify(k);
  EXPECT_EQ(k.ToString(),
            "kernel k(x: f32, y: f32 written) scratch 0 {\n"
            "  %0 = for %1 = 0 to size0 step 1 carry %2 = f32 0[0] {\n"
            "    %3 = load f32 @x, %1\n"
            "    %4 = add f32 %2, %3\n"
            "    yield %4\n"
            "  }\n"
            "  %5 = compare gt bool size0, 0\n"
            "  if %5 {\n"
            "    store f32 @y, 0, %0\n"
            "  }\n"
            "}\n");
}

TEST(LoopIr, PrintsAndVerifiesTiles) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  b.ConfigureTiles({{16, 64}, {16, 32}, {8, 64}});
  b.ZeroTile(0);
  b.LoadTile(1, b.Buffer(0), DType::kS32, b.Index(4), b.Index(8));
  b.MultiplyTiles(0, 1, 2, DType::kBF16);
  b.StoreTile(0, b.Buffer(1), DType::kF32, b.Index(0), b.Index(16));
  b.ReleaseTiles();
  EXPECT_TRUE(Verify(k).ok()) << Verify(k);
  EXPECT_EQ(k.ToString(),
            "kernel k(x: f32, y: f32 written) scratch 0 {\n"
            "  tile_configure [16 64 16 32 8 64]\n"
            "  tile_zero tile 0\n"
            "  tile_load s32 @x, 4, 8, tile 1\n"
            "  tile_multiply [0 1 2] of bf16\n"
            "  tile_store f32 @y, 0, 16, tile 0\n"
            "  tile_release\n"
            "}\n");
  b.ZeroTile(8);
  EXPECT_THAT(Verify(k).message(), HasSubstr("tile 8"));
}

TEST(LoopIr, RefusesTilesThatNoMachineHas) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  b.ConfigureTiles({{17, 64}});
  EXPECT_THAT(Verify(k).message(), HasSubstr("a tile of 17 rows of 64 bytes"));
}

TEST(LoopIr, FoldsIndexArithmetic) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  Value x = b.ChunkBegin();
  EXPECT_TRUE(b.Add(b.Index(2), b.Index(3)).IsConstantIndex(5));
  EXPECT_TRUE(b.Div(b.Index(7), b.Index(0)).IsConstantIndex(-1));
  EXPECT_TRUE(b.Rem(b.Index(7), b.Index(0)).IsConstantIndex(7));
  EXPECT_EQ(b.Add(x, b.Index(0)), x);
  EXPECT_EQ(b.Mul(b.Index(1), x), x);
  EXPECT_TRUE(b.Mul(x, b.Index(0)).IsConstantIndex(0));
  // Displacements add up.
  Value y = b.Add(b.Add(x, b.Index(4)), b.Index(-4));
  EXPECT_EQ(y, x);
}

// An index that is taken apart and put together again for a place in memory.
TEST(LoopIr, RecombinesQuotientAndRemainder) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  Value x = b.ChunkBegin(), before = b.ChunkEnd();
  Value row = b.Div(x, b.Index(14)), column = b.Rem(x, b.Index(14));
  EXPECT_EQ(b.Add(b.Mul(row, b.Index(14)), column), x);
  auto is_product = [&](Value v, int64_t factor) {
    return v.instr()->op == ir::Op::kMul && v.instr()->operands[0] == x &&
           v.instr()->operands[1].IsConstantIndex(factor);
  };
  EXPECT_TRUE(is_product(b.Add(b.Mul(row, b.Index(14 * 96)), b.Mul(column, b.Index(96))), 96));
  Value sum = b.Add(b.Add(before, b.Mul(row, b.Index(14 * 96))), b.Mul(column, b.Index(96)));
  EXPECT_EQ(sum.instr()->operands[0], before);
  EXPECT_TRUE(is_product(sum.instr()->operands[1], 96));
  // Other strides, other divisors, other numbers.
  EXPECT_FALSE(is_product(b.Add(b.Mul(row, b.Index(15 * 96)), b.Mul(column, b.Index(96))), 96));
  Value other = b.Rem(x, b.Index(7)), of_other = b.Rem(before, b.Index(14));
  EXPECT_FALSE(is_product(b.Add(b.Mul(row, b.Index(14)), other), 1));
  EXPECT_FALSE(is_product(b.Add(b.Mul(row, b.Index(14)), of_other), 1));
}

TEST(LoopIr, KeepsFloatIdentitiesExact) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  Value x = b.Load(b.Buffer(0), DType::kF32, b.Index(0), 8);
  EXPECT_EQ(b.Mul(x, b.Splat(b.Float(DType::kF32, 1), 8)), x);
  EXPECT_FALSE(b.Add(x, b.Splat(b.Float(DType::kF32, 0), 8)) == x);  // -0 + 0 is 0
}

TEST(LoopIr, FoldsMasksConditionsAndLoops) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  Value x = b.Load(b.Buffer(0), DType::kF32, b.Index(0), 8, b.MaskUpTo(b.Index(8), 8));
  EXPECT_THAT(k.ToString(), Not(HasSubstr("mask")));
  Value yes = b.Compare("lt", b.Index(1), b.Index(2));
  EXPECT_EQ(b.Select(yes, x, b.Add(x, x)), x);
  int runs = 0;
  b.For(b.Index(3), b.Index(3), 1, [&](Value) { ++runs; });
  EXPECT_EQ(runs, 0);
  b.For(b.Index(3), b.Index(4), 1, [&](Value i) {
    EXPECT_TRUE(i.IsConstantIndex(3));
    ++runs;
  });
  EXPECT_EQ(runs, 1);
  b.If(
      yes, [&] { ++runs; }, [&] { runs += 100; });
  EXPECT_EQ(runs, 2);
  EXPECT_THAT(k.ToString(), Not(HasSubstr("for")));
}

TEST(LoopIr, UnrollsWhatDivides) {
  Kernel k = TwoBuffers();
  Builder b(&k);
  int bodies = 0;
  Builder::ForOptions four;
  four.unroll = 4;
  auto body = [&](Value i) {
    ++bodies;
    b.Store(b.Buffer(1), i, b.Float(DType::kF32, 0));
  };
  b.For(b.Index(0), b.Index(8), 1, body, four);
  EXPECT_EQ(bodies, 4);
  EXPECT_THAT(k.ToString(), HasSubstr("0 to 8 step 4"));
  b.For(b.Index(0), b.Index(7), 1, body, four);
  EXPECT_EQ(bodies, 5);
}

TEST(LoopIr, TextTellsUnequalConstantsApart) {
  auto text = [](double v) {
    Kernel k = TwoBuffers();
    Builder b(&k);
    b.Store(b.Buffer(1), b.Index(0), b.Float(DType::kF32, v));
    return k.ToString();
  };
  EXPECT_EQ(text(0.1), text(0.1));
  EXPECT_NE(text(0.1), text(0.1 + 1e-8));
  EXPECT_NE(text(0.0), text(-0.0));
}

TEST(Verify, NamesTheInstruction) {
  {
    Kernel k = TwoBuffers();
    Builder b(&k);
    b.Add(b.Load(b.Buffer(0), DType::kF32, b.Index(0), 8),
          b.Load(b.Buffer(0), DType::kF32, b.Index(0), 4));
    EXPECT_THAT(Verify(k).ToString(),
                HasSubstr("(binary add): operands have types f32x8 and f32x4"));
  }
  {
    Kernel k = TwoBuffers();
    Builder b(&k);
    Value h = b.Load(b.Buffer(0), DType::kF16, b.Index(0), 8);
    b.Mul(h, h);
    EXPECT_THAT(Verify(k).ToString(), HasSubstr("no arithmetic on f16"));
  }
  {
    Kernel k = TwoBuffers();
    Builder b(&k);
    b.Add(b.Index(1), Value());
    EXPECT_THAT(Verify(k).ToString(), HasSubstr("has 1 operands"));
  }
  {
    Kernel k = TwoBuffers();
    Builder b(&k);
    b.Store(b.Buffer(7), b.Index(0), b.Float(DType::kF32, 0));
    EXPECT_THAT(Verify(k).ToString(), HasSubstr("buffer 7 of 2"));
  }
  {
    Kernel k = TwoBuffers();
    Builder b(&k);
    b.Compare("less", b.ChunkBegin(), b.ChunkEnd());
    EXPECT_THAT(Verify(k).ToString(), HasSubstr("direction"));
  }
  {
    Kernel k = TwoBuffers();
    Builder b(&k);
    Value inside;
    b.For(b.Index(0), b.ChunkEnd(), 1, [&](Value i) { inside = b.Mul(i, i); });
    b.Store(b.Buffer(1), inside, b.Float(DType::kF32, 0));
    EXPECT_THAT(Verify(k).ToString(), HasSubstr("not defined where it is used"));
  }
}

}  // namespace
}  // namespace tektite::loop
