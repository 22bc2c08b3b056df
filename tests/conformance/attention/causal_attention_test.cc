// Attention with causal masks: keys that a GPU's kernel leaves out
// (backends/gpu/emit/attention/causal_skip.h) must not be missed, and masks that programs keep in
// memory become comparisons.
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/attention/attention_case.h"

namespace tektite::testing {
namespace {

using ir::BFloat16;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;

constexpr int64_t kHeads = 2, kWidth = 16;

// How a program has the mask: whether a row sees a key.
enum class Seen { kCompared, kBroadcast, kSummed, kConstant };

Value SeenBy(FuncBuilder& b, Seen seen, int64_t rows, int64_t keys, int64_t offset) {
  const Dims space = {1, kHeads, rows, keys}, pairs = {1, rows, keys};
  const auto by = [&](const Dims& dims, int rank) {
    Value row = b.Iota(DType::kS32, dims, rank - 2), key = b.Iota(DType::kS32, dims, rank - 1);
    row = b.Add(row, b.Full(DType::kS32, static_cast<double>(offset), dims));
    return b.Compare(row, key, "ge");
  };
  Value small;
  switch (seen) {
    case Seen::kCompared:
      return by(space, 4);
    case Seen::kBroadcast:
      small = by(pairs, 3);
      break;
    case Seen::kSummed: {  // as Keras does
      const Value ones = b.Full(DType::kS32, 1, pairs);
      small = b.Compare(b.Cumulative(ones, 1, "add", false, false),
                        b.Cumulative(ones, 2, "add", false, false), "ge");
      break;
    }
    case Seen::kConstant: {
      Literal triangle = Literal::Allocate(DType::kBool, {1, rows, keys});
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t key = 0; key < keys; ++key) {
          triangle.mutable_data<bool>()[row * keys + key] = key <= row + offset;
        }
      }
      small = b.Constant(triangle);
      break;
    }
  }
  return b.BroadcastInDim(small, space, {0, 2, 3});
}

// `bias` of [rows, keys] comes before the mask.
Value AttendCausally(FuncBuilder& b, DType dtype, Seen seen, int64_t rows, int64_t keys,
                     int64_t offset, bool has_bias = false, double masked = -3e4) {
  Value q = b.Parameter(Of(dtype, {1, rows, kHeads, kWidth}));
  Value k = b.Parameter(Of(dtype, {1, keys, kHeads, kWidth}));
  Value v = b.Parameter(Of(dtype, {1, keys, kHeads, kWidth}));
  Value x = b.DotGeneral(q, k, {{0, 2}, {0, 2}, {3}, {3}, {}, {}});
  x = b.Mul(x, b.Scalar(dtype, 0.25));
  if (has_bias) x = b.Add(x, b.Parameter(Of(dtype, {rows, keys})));
  x = b.Select(SeenBy(b, seen, rows, keys, offset), x, b.Full(dtype, masked, x.shape().dims()));
  return ContextOf(b, x, v);
}

// Operands of the kernel that attends; 0: there is none.
int OperandsOfAttention(compiler::Compiler& compiler, const ir::Graph& graph) {
  std::unique_ptr<ir::Graph> copy = graph.Clone();
  EXPECT_TRUE(compiler.RunPasses(*copy, {}).ok());
  for (const auto& node : copy->nodes()) {
    if (node->IsFusion(ir::FusionKind::kAttention)) return node->num_operands();
  }
  return 0;
}

CONFORMANCE_TEST(CausalAttention) {
  struct Case {
    int64_t rows, keys, offset;
  };
  // Several blocks of rows; rows behind the first keys; rows that see none; a ragged end.
  for (const Case& c : {Case{200, 320, 0}, {70, 333, 263}, {150, 300, -20}, {20, 600, 3}}) {
    const DType dtype = c.rows % 4 == 0 ? DType::kBF16 : DType::kF16;
    SCOPED_TRACE(absl::StrCat(c.rows, " rows, ", c.keys, " keys, offset ", c.offset));
    FuncBuilder b;
    b.Return({AttendCausally(b, dtype, Seen::kCompared, c.rows, c.keys, c.offset)});
    CompileOptions options;
    options.symbolic = c.rows == 20;
    Check(b, NarrowRounding(dtype), options);
    if (HasFatalFailure()) return;
  }
}

CONFORMANCE_TEST(CausalMasksBecomeComparisons) {
  for (const Seen seen : {Seen::kCompared, Seen::kBroadcast, Seen::kSummed, Seen::kConstant}) {
    SCOPED_TRACE(absl::StrCat("mask ", static_cast<int>(seen)));
    const int64_t offset = seen == Seen::kSummed ? 0 : 5;
    FuncBuilder b;
    b.Return({AttendCausally(b, DType::kBF16, seen, 20, 300, offset)});
    EXPECT_EQ(OperandsOfAttention(CompilerFor(true), *b.graph()), is_gpu() ? 3 : 0);
    CompileOptions options;
    options.symbolic = false;
    Check(b, NarrowRounding(DType::kBF16), options);
    if (HasFatalFailure()) return;
  }
  // No triangle.
  FuncBuilder b;
  Literal mask = Literal::Allocate(DType::kBool, {1, 20, 300});
  for (int64_t i = 0; i < mask.num_elements(); ++i) mask.mutable_data<bool>()[i] = i % 3 != 0;
  Value q = b.Parameter(Of(DType::kBF16, {1, 20, 16})),
        k = b.Parameter(Of(DType::kBF16, {1, 300, 16}));
  Value x = b.DotGeneral(q, k, {{0}, {0}, {2}, {2}, {}, {}});
  x = b.Select(b.Constant(mask), x, b.Full(DType::kBF16, -3e4, x.shape().dims()));
  b.Return({b.DotGeneral(NarrowSoftmax(b, x), b.Parameter(Of(DType::kBF16, {1, 300, 16})),
                         {{0}, {0}, {2}, {1}, {}, {}})});
  CompileOptions options;
  options.symbolic = false;
  Check(b, NarrowRounding(DType::kBF16), options);
}

// Where leaving keys out would be seen: a value that no row sees is not finite; rows whose own keys
// are all masked attend to every key.
CONFORMANCE_TEST(CausalAttentionOfSpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr int64_t kRows = 40, kKeys = 320;
  const DType dtype = DType::kBF16;
  CompileOptions options;
  options.symbolic = false;
  for (const double masked : {-3e4, -static_cast<double>(kInf)}) {
    FuncBuilder b;
    b.Return(
        {AttendCausally(b, dtype, Seen::kCompared, kRows, kKeys, 0, /*has_bias=*/true, masked)});
    for (const float value : {std::nanf(""), kInf}) {
      SCOPED_TRACE(absl::StrCat("masked by ", masked, ", a value of ", value));
      std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
      auto* const v = inputs[2].mutable_data<BFloat16>();
      v[300 * kHeads * kWidth + 3] = BFloat16(value);  // a column of the first head
      v[(kKeys - 1) * kHeads * kWidth + kWidth] = BFloat16(value);
      Check(*b.graph(), inputs, NarrowRounding(dtype), options);
      if (HasFatalFailure()) return;
    }
    SCOPED_TRACE(absl::StrCat("masked by ", masked));
    std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
    auto* const bias = inputs[3].mutable_data<BFloat16>();
    for (int64_t key = 0; key < kKeys; ++key) {
      bias[7 * kKeys + key] = BFloat16(-3e4F);
      bias[9 * kKeys + key] = BFloat16(-kInf);
      bias[11 * kKeys + key] = BFloat16(key == 4 ? std::nanf("") : 0);
      bias[13 * kKeys + key] = BFloat16(key == 4 ? kInf : 0);
    }
    Check(*b.graph(), inputs, NarrowRounding(dtype), options);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tektite::testing
