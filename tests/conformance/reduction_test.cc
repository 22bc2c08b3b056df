// Reductions over any dimensions, with what feeds them and what follows.
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Dim;
using ir::DType;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;

CONFORMANCE_TEST(EveryChoiceOfDimensions) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{3, 17, 5, 18}, {2, 1, 33, 1}, {70, 6, 2, 100}, {4, 0, 5, 3}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, dims));
    std::vector<Value> out;
    for (int set = 0; set < 16; ++set) {
      std::vector<int64_t> reduced;
      for (int i = 0; i < 4; ++i) {
        if (set & (1 << i)) reduced.push_back(i);
      }
      out.push_back(b.Reduce(x, reduced, set % 3 == 0 ? "max" : "add"));
    }
    b.Return(out);
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(EveryReducerAndType) {
  for (DType dtype : {DType::kBool, DType::kS8, DType::kU16, DType::kS32, DType::kU32, DType::kS64,
                      DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (const char* reducer : {"add", "mul", "max", "min", "and", "or"}) {
      const bool logic = reducer[0] == 'o' || std::string(reducer) == "and";
      if (logic == ir::IsFloat(dtype) || (dtype == DType::kBool && !logic)) continue;
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {5, 39})), y = b.Parameter(Of(dtype, {39, 35}));
      b.Return(
          {b.Reduce(x, {1}, reducer), b.Reduce(y, {0}, reducer), b.Reduce(x, {0, 1}, reducer)});
      Check(b, ir::DTypeBytes(dtype) == 2 ? Tolerance::Ulps(2) : Tolerance::Relative(1e-6));
    }
  }
}

CONFORMANCE_TEST(ProducersAndEpilogues) {
  for (int64_t n : {1, 7, 16, 65}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {2, 9, 4, n}));
    Value y = b.Parameter(Of(DType::kF32, {2, n}));
    Value mean = b.Reduce(b.Mul(x, x), {1, 2}, "add");
    mean = b.Mul(mean, b.FullLike(mean, 1.0 / 36));
    Value both = b.Reduce(b.Neg(x), {1, 2}, "max");
    b.Return(
        {b.Add(mean, y), b.Mul(both, y), b.Sub(mean, both),
         b.Reduce(b.Transpose(x, {3, 0, 2, 1}), {1}, "add"),
         b.Reduce(b.Pad(x, b.Scalar(DType::kF32, 1), {0, 1, 0, 0}, {0, 0, 2, 0}), {1, 2}, "add")});
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(NoElementsBetweenOthers) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {1, 4, 0})), y = b.Parameter(Of(DType::kF32, {1, 4, 1}));
  Value z = b.Exp(b.Mul(x, y));
  b.Return({b.Reduce(z, {0, 1}, "min"), b.Reduce(z, {2}, "add"), z});
  Check(b);
}

CONFORMANCE_TEST(LongReductions) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {3, 70001})), y = b.Parameter(Of(DType::kF32, {70001, 3}));
  b.Return({b.Reduce(x, {0, 1}, "add"), b.Reduce(x, {1}, "max"), b.Reduce(y, {0}, "add"),
            b.Reduce(y, {0, 1}, "min")});
  Check(b, Tolerance::Relative(1e-6));
}

// Sums of more than a block of elements, whose loops end blocks at every depth: over rows of a few
// columns, of many, and columns of both.
CONFORMANCE_TEST(SumsOfManyBlocks) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{2, 900, 5}, {2, 5, 20000}, {2, 90, 700}, {2, 3000, 33}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {dims[0], dims[1], 1}));
    Value y = b.Parameter(Of(DType::kF32, {dims[0], 1, dims[2]}));
    const ir::Dims space(dims.begin(), dims.end());
    Value product = b.Mul(b.BroadcastTo(x, space), b.BroadcastTo(y, space));
    b.Return({b.Reduce(product, {1, 2}, "add"), b.Reduce(product, {0, 1}, "add"),
              b.Reduce(product, {0, 1, 2}, "add"), b.Reduce(product, {1, 2}, "max")});
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(NormalizationOverChannels) {
  FuncBuilder b;  // batch normalization in training
  Value x = b.Parameter(Of(DType::kF32, {4, 5, 6, 19}));
  Value count = b.Full(DType::kF32, 120, {Dim(19)});
  Value mean = b.Div(b.Reduce(x, {0, 1, 2}, "add"), count);
  Value d = b.Sub(x, mean);
  Value variance = b.Div(b.Reduce(b.Mul(d, d), {0, 1, 2}, "add"), count);
  b.Return({b.Mul(d, b.Rsqrt(b.Add(variance, b.FullLike(variance, 1e-3)))), mean, variance});
  Check(b, Tolerance::Relative(5e-6));
}

// Few results of many terms, which cards cut into pieces: sizes on both sides of every threshold,
// of pieces that are equal and not, columns that fill a block's strip and not, and neighbours that
// are read at once and not.
CONFORMANCE_TEST(ColumnsInPieces) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2047, 4},
                                           {2048, 4},
                                           {2049, 7},
                                           {8192, 16},
                                           {4133, 12},
                                           {3000, 1},
                                           {511, 65},
                                           {512, 65}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, dims));
    Value sum = b.Reduce(x, {0}, "add"), least = b.Reduce(x, {0}, "min");
    Value squares = b.Reduce(b.Mul(x, x), {0}, "add");
    b.Return({b.Mul(sum, least), squares, b.Reduce(b.Neg(x), {0}, "max")});
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(ColumnsInPiecesBetweenOthers) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{13, 9, 20, 8}, {3, 2500, 1, 6}, {2, 1, 2100, 24}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, dims));
    Value y = b.Parameter(Of(DType::kF32, {dims[3]}));
    const ir::Dims space(dims.begin(), dims.end());
    Value product = b.Mul(x, b.BroadcastTo(y, space));
    b.Return({b.Add(b.Reduce(product, {0, 1, 2}, "add"), y), b.Reduce(x, {1, 2}, "add"),
              b.Reduce(x, {0, 2}, "max"), b.Reduce(product, {2}, "add")});
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(WholeArraysInPieces) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{131071}, {131072}, {2, 66000}, {3, 70, 640}, {1, 140001, 1}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, dims));
    std::vector<int64_t> all(dims.size());
    for (size_t d = 0; d < all.size(); ++d) all[d] = static_cast<int64_t>(d);
    Value sum = b.Reduce(x, all, "add");
    Value mean = b.Mul(sum, b.Scalar(DType::kF32, 1.0 / 1024));
    b.Return({b.Add(mean, b.Reduce(x, all, "max")), b.Reduce(b.Mul(x, x), all, "add")});
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(EveryTypeInPieces) {
  for (DType dtype : {DType::kBool, DType::kS8, DType::kU16, DType::kS32, DType::kU64, DType::kF16,
                      DType::kBF16, DType::kF32, DType::kF64}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(dtype, {2304, 32})), y = b.Parameter(Of(dtype, {132096}));
    std::vector<Value> out;
    for (const char* reducer : {"add", "mul", "max", "min", "and", "or"}) {
      const bool logic = reducer[0] == 'o' || std::string(reducer) == "and";
      if (logic == ir::IsFloat(dtype) || (dtype == DType::kBool && !logic)) continue;
      if (std::string(reducer) == "mul" && ir::IsFloat(dtype)) continue;  // leaves every range
      out.push_back(b.Reduce(x, {0}, reducer));
      out.push_back(b.Reduce(y, {0}, reducer));
    }
    b.Return(out);
    Check(b, ir::DTypeBytes(dtype) == 2 ? Tolerance::Ulps(2) : Tolerance::Relative(1e-6));
  }
}

// A value that is no number, and infinities, in the last piece and in one block's lost part.
CONFORMANCE_TEST(SpecialValuesInPieces) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& special :
       {std::vector<float>{kNan}, {kInf}, {kInf, -kInf}, {-kInf}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {5000, 4}));
    Value y = b.Parameter(Of(DType::kF32, {140000}));
    b.Return({b.Reduce(x, {0}, "add"), b.Reduce(x, {0}, "max"), b.Reduce(x, {0}, "min"),
              b.Reduce(y, {0}, "add"), b.Reduce(y, {0}, "max")});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<ir::Literal> inputs = PlainInputs(**graph, 1);
    for (size_t i = 0; i < special.size(); ++i) {
      inputs[0].mutable_data<float>()[19999 - 4 * i] = special[i];
      inputs[1].mutable_data<float>()[139999 - 77 * i] = special[i];
    }
    Check(**graph, inputs, Tolerance::Relative(1e-6));
  }
}

// Producers that need registers of their own, of which none may be spilled.
CONFORMANCE_TEST(ReductionsOfMuchArithmetic) {
  for (DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    for (const auto& [dims, dimension] : std::vector<std::pair<std::vector<int64_t>, int64_t>>{
             {{2304, 64}, 0}, {{700, 512}, 0}, {{300, 1024}, 1}, {{140000}, 0}}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, dims)), y = b.Parameter(Of(dtype, dims));
      Value bent = b.Sub(b.Mul(b.Tanh(x), b.Exp(b.Neg(b.Mul(y, y)))), x);
      b.Return({b.Reduce(bent, {dimension}, "add")});
      Check(b, Tolerance::Relative(dtype == DType::kBF16 ? 0.02 : 1e-5));
    }
  }
}

// docs/numbers.md: the error does not grow with the number of terms.
CONFORMANCE_TEST(ErrorsOfLongSums) {
  if (GetParam().backend == kIsland) return;  // its kernels are the interpreter's
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{1 << 21}, {1 << 18, 8}, {1 << 18, 3}}) {
    FuncBuilder b;
    b.Return({b.Reduce(b.Parameter(Of(DType::kF32, dims)), {0}, "add")});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    ir::Literal x = ir::Literal::Allocate(DType::kF32, dims);
    const int64_t columns = dims.size() == 1 ? 1 : dims[1];
    std::vector<double> want(static_cast<size_t>(columns));
    uint32_t state = 7;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      state = state * 1664525 + 1013904223;
      x.mutable_data<float>()[i] = static_cast<float>(state >> 8) * 0x1p-24f;
      want[static_cast<size_t>(i % columns)] += x.data<float>()[i];
    }
    const auto got = CompileAndRun(**graph, {x});
    ASSERT_TRUE(got.ok()) << got.status();
    for (int64_t c = 0; c < columns; ++c) {
      const double sum = want[static_cast<size_t>(c)];
      EXPECT_NEAR((*got)[0].AsDouble(c) / sum, 1, 1.2e-7) << dims.size() << " " << c;
    }
  }
}

}  // namespace
}  // namespace tektite::testing
