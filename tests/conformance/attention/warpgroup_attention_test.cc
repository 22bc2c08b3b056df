// Attention by wgmma and copies of tensors: heads of 64 and 128, one step of keys and several that
// end early, every mask, unknown sizes, and what is not finite.  Other targets compute the same
// graphs in their own ways.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "backends/gpu/emit/attention/warpgroup_attention.h"
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"
#include "tests/conformance/attention/attention_case.h"

namespace tektite::testing {
namespace {

using ir::BFloat16;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;

using Case = AttentionCase;

constexpr float kInf = std::numeric_limits<float>::infinity();

CompileOptions ByWarpgroups() {
  CompileOptions options;
  options.warpgroups = true;
  options.symbolic = false;
  return options;
}

// Fusions of attention that the rule makes so.
int AttentionByWarpgroups(compiler::Compiler& compiler, const ir::Graph& graph) {
  std::unique_ptr<ir::Graph> copy = graph.Clone();
  EXPECT_TRUE(compiler.RunPasses(*copy, {}).ok());
  gpu::EmitOptions options;
  options.warpgroups = gpu::Warpgroups::kAlways;
  options.shared_bytes = gpu::MostSharedBytes("sm_90a");
  int count = 0;
  for (const auto& node : copy->nodes()) {
    if (!node->IsFusion(ir::FusionKind::kAttention)) continue;
    const std::vector<const char*> others = gpu::OtherAttentionWays(*node, options);
    count += others.size() == 1 && others[0] == std::string(gpu::kWarpMatrices);
  }
  return count;
}

CONFORMANCE_TEST(WarpgroupAttentionOfEveryShape) {
  // A short step; two blocks of rows; several rounds through the stages with a ragged end; widths
  // that differ; a row, a key.
  const Case cases[] = {{2, 2, 70, 50, 64, 64},  {1, 1, 130, 128, 128, 128},
                        {1, 2, 9, 700, 64, 128}, {1, 1, 20, 300, 128, 64},
                        {1, 3, 64, 257, 64, 64}, {2, 1, 5, 1, 64, 64}};
  for (const Case& c : cases) {
    const DType dtype = c.rows % 2 == 0 ? DType::kBF16 : DType::kF16;
    SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", ::testing::PrintToString(c)));
    FuncBuilder b;
    b.Return({Attend(b, ParametersOf(b, dtype, c))});
    EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() && c.keys > 1 ? 1 : 0);
    Check(b, NarrowRounding(dtype), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

// Heads before rows, and no batch at all.
CONFORMANCE_TEST(WarpgroupAttentionOfOtherLayouts) {
  const DType dtype = DType::kBF16;
  {
    FuncBuilder b;
    Value q = b.Parameter(Of(dtype, {2, 3, 20, 64})), k = b.Parameter(Of(dtype, {2, 3, 70, 64}));
    Value v = b.Parameter(Of(dtype, {2, 3, 70, 64}));
    Value s = b.DotGeneral(q, k, {{0, 1}, {0, 1}, {3}, {3}, {}, {}});
    b.Return({b.DotGeneral(NarrowSoftmax(b, s), v, {{0, 1}, {0, 1}, {3}, {2}, {}, {}})});
    EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
    Check(b, NarrowRounding(dtype), ByWarpgroups());
  }
  // Two dimensions of rows, heads between the batches of queries and within those of keys.
  FuncBuilder b;
  Value q = b.Parameter(Of(dtype, {2, 5, 7, 64})), k = b.Parameter(Of(dtype, {70, 2, 64}));
  Value v = b.Parameter(Of(dtype, {2, 70, 64}));
  Value s = b.DotGeneral(q, k, {{0}, {1}, {3}, {2}, {}, {}});
  b.Return({b.DotGeneral(NarrowSoftmax(b, s), v, {{0}, {0}, {3}, {1}, {}, {}})});
  EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
  Check(b, NarrowRounding(dtype), ByWarpgroups());
}

CONFORMANCE_TEST(WarpgroupAttentionWithMasks) {
  const DType dtype = DType::kBF16;
  for (const Case& c : {Case{2, 2, 19, 37, 64, 64}, Case{1, 1, 70, 266, 128, 128}}) {
    for (const Mask kind : kMasks) {
      SCOPED_TRACE(absl::StrCat(::testing::PrintToString(c), ", mask ", static_cast<int>(kind)));
      FuncBuilder b;
      const AttentionOperands p = ParametersOf(b, dtype, c);
      b.Return({Attend(b, p, MaskOf(b, dtype, kind, c))});
      EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
      Check(b, NarrowRounding(dtype), ByWarpgroups());
      if (HasFatalFailure()) return;
    }
  }
}

// select(key <= row + offset, scores + bias, masked).
Value Causal(FuncBuilder& b, DType dtype, const Case& c, int64_t offset, bool has_bias,
             double masked = -3e4) {
  const AttentionOperands p = ParametersOf(b, dtype, c);
  Value x = ScaledScores(b, p.q, p.k);
  const Dims& space = x.shape().dims();
  if (has_bias) x = b.Add(x, b.Parameter(Of(dtype, {c.rows, c.keys})));
  const Value row =
      b.Add(b.Iota(DType::kS32, space, 2), b.Full(DType::kS32, static_cast<double>(offset), space));
  const Value seen = b.Compare(row, b.Iota(DType::kS32, space, 3), "ge");
  return ContextOf(b, b.Select(seen, x, b.Full(dtype, masked, space)), p.v);
}

// Steps of keys that are left out: none are left, some, all; rows that see no key at all.
CONFORMANCE_TEST(WarpgroupAttentionWithKeysLeftOut) {
  struct Offset {
    int64_t rows, keys, offset;
  };
  for (const Offset& o : {Offset{200, 520, 0}, {70, 333, 263}, {150, 400, -140}, {20, 600, 3}}) {
    const DType dtype = o.rows % 4 == 0 ? DType::kBF16 : DType::kF16;
    SCOPED_TRACE(absl::StrCat(o.rows, " rows, ", o.keys, " keys, offset ", o.offset));
    FuncBuilder b;
    b.Return({Causal(b, dtype, {1, 2, o.rows, o.keys, 64, 64}, o.offset, /*has_bias=*/false)});
    EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
    Check(b, NarrowRounding(dtype), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

CONFORMANCE_TEST(WarpgroupAttentionOfCausalSpecialValues) {
  const Case c = {1, 1, 40, 400, 64, 64};
  const DType dtype = DType::kBF16;
  for (const double masked : {-3e4, -static_cast<double>(kInf)}) {
    SCOPED_TRACE(absl::StrCat("masked by ", masked));
    FuncBuilder b;
    b.Return({Causal(b, dtype, c, 0, /*has_bias=*/true, masked)});
    std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
    // A value that no row sees.
    inputs[2].mutable_data<BFloat16>()[390 * c.columns + 3] = BFloat16(std::nanf(""));
    EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
    Check(*b.graph(), inputs, NarrowRounding(dtype), ByWarpgroups());
    inputs = PlainInputs(*b.graph(), 3);
    auto* const bias = inputs[3].mutable_data<BFloat16>();
    for (int64_t key = 0; key < c.keys; ++key) {
      bias[7 * c.keys + key] = BFloat16(-3e4F);  // attends to every key after all
      bias[9 * c.keys + key] = BFloat16(-kInf);
      bias[11 * c.keys + key] = BFloat16(key == 4 ? std::nanf("") : 0);
      bias[13 * c.keys + key] = BFloat16(key == 4 ? kInf : 0);
    }
    Check(*b.graph(), inputs, NarrowRounding(dtype), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

// As NarrowAttentionOfSpecialValues, over several steps of keys.
CONFORMANCE_TEST(WarpgroupAttentionOfSpecialValues) {
  const Case c = {1, 1, 20, 400, 64, 64};
  const DType dtype = DType::kBF16;
  FuncBuilder b;
  const AttentionOperands p = ParametersOf(b, dtype, c);
  b.Return({Attend(b, p, b.Parameter(Of(dtype, {c.rows, c.keys})))});
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  SetSpecialMask(&inputs[3], c.keys);
  inputs[0].mutable_data<BFloat16>()[kSpecialMaskRows * c.width] =
      BFloat16(std::nanf(""));  // a query
  inputs[0].mutable_data<BFloat16>()[(kSpecialMaskRows + 1) * c.width] = BFloat16(kInf);
  EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
  Check(*b.graph(), inputs, NarrowRounding(dtype), ByWarpgroups());
  inputs = PlainInputs(*b.graph(), 3);
  inputs[1].mutable_data<BFloat16>()[200 * c.width] = BFloat16(-kInf);       // a key
  inputs[2].mutable_data<BFloat16>()[300 * c.columns + 1] = BFloat16(kInf);  // a value: its column
  Check(*b.graph(), inputs, NarrowRounding(dtype), ByWarpgroups());
}

CONFORMANCE_TEST(WarpgroupAttentionOfUnknownSizes) {
  const DType dtype = DType::kBF16;
  FuncBuilder b;
  ReturnAttentionOfUnknownSizes(b, dtype, 64, 64);
  ASSERT_TRUE(b.status().ok()) << b.status();
  CompileOptions options = ByWarpgroups();
  options.symbolic = options.must_be_symbolic = true;
  std::vector<SizeValues> sizes;
  for (auto [batches, rows, columns] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                        {2, 7, 131},
                                        {1, 140, 128},
                                        {1, 5, 300},
                                        {0, 4, 4},
                                        {2, 0, 4},
                                        {2, 3, 0}}) {
    sizes.push_back({{"b", batches}, {"n", rows}, {"k", columns}});
  }
  EXPECT_EQ(AttentionByWarpgroups(CompilerFor(true), *b.graph()), is_gpu() ? 1 : 0);
  CheckSizes(*b.graph(), sizes, NarrowRounding(dtype), options);
}

}  // namespace
}  // namespace tektite::testing
