// Attention of f16 and bf16: products of that type, a softmax of f32 between them, as models of
// mixed precision have it.  GPUs have a kernel for all of it, with matrix instructions; other back
// ends have one for each product.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/attention/attention_case.h"

namespace tektite::testing {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;

using Case = AttentionCase;

int AttentionKernels(compiler::Compiler& compiler, const ir::Graph& graph) {
  std::unique_ptr<ir::Graph> copy = graph.Clone();
  EXPECT_TRUE(compiler.RunPasses(*copy, {}).ok());
  int count = 0;
  for (const auto& node : copy->nodes()) count += node->IsFusion(ir::FusionKind::kAttention);
  return count;
}

CONFORMANCE_TEST(NarrowAttentionOfEveryShape) {
  // Two tiles of rows a warp, and one; heads of all sizes of tiles; several steps, with an end that
  // is ragged; a wide head; rows that are no vectors; nothing.
  const Case cases[] = {{1, 2, 70, 100, 32, 32},   {1, 1, 65, 130, 64, 64},
                        {1, 1, 130, 70, 128, 128}, {1, 1, 20, 64, 128, 128},
                        {1, 1, 24, 33, 256, 256},  {2, 1, 9, 50, 80, 48},
                        {1, 1, 9, 17, 20, 12},     {1, 2, 7, 16, 16, 16},
                        {1, 1, 9, 65, 192, 96},    {1, 1, 6, 0, 32, 32}};
  for (const Case& c : cases) {
    const DType dtype = c.rows % 2 == 0 ? DType::kBF16 : DType::kF16;
    SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", ::testing::PrintToString(c)));
    FuncBuilder b;
    const AttentionOperands p = ParametersOf(b, dtype, c);
    b.Return({Attend(b, p)});
    // Without keys the result is known.
    EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), is_gpu() && c.keys > 0 ? 1 : 0);
    CompileOptions options;
    options.symbolic = c.width == 32 || c.width == 20;
    Check(b, NarrowRounding(dtype), options);
    if (HasFatalFailure()) return;
  }
}

CONFORMANCE_TEST(NarrowAttentionWithMasks) {
  const DType dtype = DType::kBF16;
  for (const Case& c : {Case{2, 2, 19, 37, 32, 32}, Case{1, 1, 70, 66, 16, 16}}) {
    for (const Mask kind : kMasks) {
      SCOPED_TRACE(absl::StrCat(::testing::PrintToString(c), ", mask ", static_cast<int>(kind)));
      FuncBuilder b;
      const AttentionOperands p = ParametersOf(b, dtype, c);
      b.Return({Attend(b, p, MaskOf(b, dtype, kind, c))});
      EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
      CompileOptions options;
      options.symbolic = false;
      Check(b, NarrowRounding(dtype), options);
      if (HasFatalFailure()) return;
    }
  }
}

// Keys and values with their width before their length: no vectors anywhere.
CONFORMANCE_TEST(NarrowAttentionOfAnotherLayout) {
  const DType dtype = DType::kF16;
  FuncBuilder b;
  Value q = b.Parameter(Of(dtype, {2, 32, 21})), k = b.Parameter(Of(dtype, {2, 32, 45}));
  Value v = b.Parameter(Of(dtype, {2, 48, 45}));
  Value s = b.DotGeneral(q, k, {{0}, {0}, {1}, {1}, {}, {}});
  b.Return({b.DotGeneral(NarrowSoftmax(b, s), v, {{0}, {0}, {2}, {2}, {}, {}})});
  EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
  Check(b, NarrowRounding(dtype));
}

// Results of a mask of -inf: a row without any key is NaN, steps of keys without any are not.
CONFORMANCE_TEST(NarrowAttentionOfSpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::nanf("");
  const Case c = {1, 2, 20, 200, 16, 16};
  const DType dtype = DType::kBF16;
  FuncBuilder b;
  const AttentionOperands p = ParametersOf(b, dtype, c);
  Value mask = b.Parameter(Of(dtype, {c.rows, c.keys}));
  b.Return({Attend(b, p, mask)});
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  SetSpecialMask(&inputs[3], c.keys);
  inputs[0].mutable_data<ir::BFloat16>()[kSpecialMaskRows * c.heads * c.width] =
      ir::BFloat16(kNan);  // a query
  CompileOptions options;
  options.symbolic = false;
  Check(*b.graph(), inputs, NarrowRounding(dtype), options);
  if (HasFatalFailure()) return;
  inputs = PlainInputs(*b.graph(), 3);
  inputs[2].mutable_data<ir::BFloat16>()[c.columns] = ir::BFloat16(kInf);  // a value: its column
  Check(*b.graph(), inputs, NarrowRounding(dtype), options);
}

// One kernel for every batch and length.
CONFORMANCE_TEST(NarrowAttentionOfUnknownSizes) {
  const DType dtype = DType::kBF16;
  FuncBuilder b;
  ReturnAttentionOfUnknownSizes(b, dtype, 32, 16);
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
  CompileOptions options;
  options.must_be_symbolic = true;
  std::vector<SizeValues> sizes;
  for (auto [batches, rows, columns] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                        {2, 7, 31},
                                        {1, 140, 64},
                                        {3, 12, 65},
                                        {1, 5, 200},
                                        {0, 4, 4},
                                        {2, 0, 4},
                                        {2, 3, 0}}) {
    sizes.push_back({{"b", batches}, {"n", rows}, {"k", columns}});
  }
  CheckSizes(*b.graph(), sizes, NarrowRounding(dtype), options);
}

}  // namespace
}  // namespace tektite::testing
