// Attention that cuDNN computes, against the interpreter (library_ways.h).
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/gpu/cudnn/attention_call.h"
#include "backends/gpu/implementation_list.h"
#include "gmock/gmock.h"
#include "jit/base/status.h"
#include "jit/reference/interpreter.h"
#include "tests/conformance/products/library_ways.h"
#include "tests/gpu/fake_cudnn/fake_cudnn.h"

namespace tektite::testing {
namespace {

using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LibraryAttention : public LibraryWaysOn<FakeCudnn> {
 protected:
  LibraryAttention() : LibraryWaysOn("cuDNN") {}
  absl::StatusOr<gpu::CardOptions> OptionsOnStandIn() override {
    gpu::CardOptions options;
    TEKTITE_ASSIGN_OR_RETURN(options.cudnn, gpu::Cudnn::Open(FakeCudnn::path()));
    return options;
  }
};

#define EXPECT_BOTH_WAYS(names)                                                    \
  if (const std::vector<std::string> ways = names; !IsOnCard() || !ways.empty()) { \
    EXPECT_THAT(ways, ElementsAre(target::kOwn, gpu::kCudnnAttention));            \
  }

// Our kernel rounds scores and weights to the type on the way, cuDNN neither.
Tolerance RoundingOf(DType dtype) {
  return Tolerance::Relative(dtype == DType::kBF16 ? 2e-2 : 2e-3);
}

struct Sizes {
  int64_t batch = 2, heads = 3, rows = 17, keys = 24, width = 16, columns = 16;
  Dims space() const { return {batch, heads, rows, keys}; }
};

enum class Mask { kNone, kOfKeys, kOfPairs, kOfHeads, kWide, kSelected, kAdded, kKept };

Value Causal(FuncBuilder& b, const Dims& space, int64_t offset) {
  Value row = b.Iota(DType::kS32, space, 2), key = b.Iota(DType::kS32, space, 3);
  if (offset != 0) row = b.Add(row, b.Full(DType::kS32, static_cast<double>(offset), space));
  return b.Compare(row, key, "ge");
}

// [batch, length, heads, width] operands and result.
Value Attend(FuncBuilder& b, DType dtype, const Sizes& s, Mask mask, int64_t offset = 0) {
  const Dims space = s.space();
  Value q = b.Parameter(Of(dtype, {s.batch, s.rows, s.heads, s.width}));
  Value k = b.Parameter(Of(dtype, {s.batch, s.keys, s.heads, s.width}));
  Value v = b.Parameter(Of(dtype, {s.batch, s.keys, s.heads, s.columns}));
  Value x = b.DotGeneral(q, k, {{0, 2}, {0, 2}, {3}, {3}, {}, {}});
  x = b.Mul(x, b.Scalar(dtype, 0.25));
  switch (mask) {
    case Mask::kNone:
      break;
    case Mask::kOfKeys:
      x = b.Add(x, b.Parameter(Of(dtype, {s.batch, 1, 1, s.keys})));
      break;
    case Mask::kOfPairs:
      x = b.Add(x, b.Parameter(Of(dtype, {s.rows, s.keys})));
      break;
    case Mask::kOfHeads:
      x = b.Add(x, b.Parameter(Of(dtype, {s.heads, s.rows, s.keys})));
      break;
    case Mask::kWide:
      x = b.Add(b.Convert(x, DType::kF32),
                b.Parameter(Of(DType::kF32, {s.batch, s.heads, s.rows, s.keys})));
      break;
    case Mask::kSelected:
      x = b.Select(Causal(b, space, offset), x, b.Full(dtype, -3e4, space));
      break;
    case Mask::kAdded: {
      Value kept = b.Convert(Causal(b, space, offset), dtype);
      x = b.Add(x, b.Mul(b.Sub(b.Full(dtype, 1, space), kept), b.Full(dtype, -3e4, space)));
      break;
    }
    case Mask::kKept: {
      Value kept = b.Convert(b.Parameter(Of(DType::kBool, {s.batch, 1, 1, s.keys})), dtype);
      x = b.Add(x, b.Mul(b.Sub(b.Scalar(dtype, 1), kept), b.Scalar(dtype, -3e4)));
      break;
    }
  }
  const int last = x.shape().rank() - 1;
  Value wide = x.dtype() == DType::kF32 ? x : b.Convert(x, DType::kF32);
  Value e = b.Exp(b.Sub(wide, b.ReduceKeep(wide, {last}, "max")));
  Value sum = b.ReduceKeep(e, {last}, "add");
  Value p = b.Convert(b.Mul(e, b.Div(b.FullLike(sum, 1), sum)), dtype);
  Value o = b.DotGeneral(p, v, {{0, 1}, {0, 2}, {3}, {1}, {}, {}});
  return b.Transpose(o, {0, 2, 1, 3});
}

TEST_F(LibraryAttention, WithCausalMasks_gpu_card) {
  int64_t attentions = 0;
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (Mask mask : {Mask::kNone, Mask::kSelected, Mask::kAdded}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), ", mask ", static_cast<int>(mask)));
      FuncBuilder b;
      b.Return({Attend(b, dtype, {}, mask)});
      EXPECT_BOTH_WAYS(CheckAll(b, RoundingOf(dtype)));
      ++attentions;
    }
  }
  if (!IsOnCard()) {
    EXPECT_EQ(fake().attentions(), attentions);
  }
}

TEST_F(LibraryAttention, OfRowsBehindTheFirstKeys_gpu_card) {
  for (int64_t offset : {3, 7}) {
    FuncBuilder b;
    b.Return({Attend(b, DType::kBF16, {}, Mask::kSelected, offset)});
    EXPECT_BOTH_WAYS(CheckAll(b, RoundingOf(DType::kBF16)));
  }
}

// Without heads, and with operands whose heads come first.
TEST_F(LibraryAttention, OfOtherLayouts_gpu_card) {
  FuncBuilder b;
  Value q = b.Parameter(Of(DType::kF16, {4, 9, 32})), k = b.Parameter(Of(DType::kF16, {4, 20, 32}));
  Value v = b.Parameter(Of(DType::kF16, {20, 4, 24}));
  Value wide = b.Convert(b.DotGeneral(q, k, {{0}, {0}, {2}, {2}, {}, {}}), DType::kF32);
  Value e = b.Exp(b.Sub(wide, b.ReduceKeep(wide, {2}, "max")));
  Value sum = b.ReduceKeep(e, {2}, "add");
  Value p = b.Convert(b.Mul(e, b.Div(b.FullLike(sum, 1), sum)), DType::kF16);
  b.Return({b.DotGeneral(p, v, {{0}, {1}, {2}, {0}, {}, {}})});
  EXPECT_BOTH_WAYS(CheckAll(b, RoundingOf(DType::kF16)));
}

TEST_F(LibraryAttention, OfNumbersThatAreNone_gpu_card) {
  FuncBuilder b;
  b.Return({Attend(b, DType::kBF16, {}, Mask::kNone)});
  for (float value : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (size_t operand : {0, 1, 2}) {
      SCOPED_TRACE(absl::StrCat(value, " in operand ", operand));
      std::vector<Literal> inputs = PlainInputs(*b.graph(), 5);
      inputs[operand].mutable_data<ir::BFloat16>()[7] = ir::BFloat16(value);
      EXPECT_BOTH_WAYS(CheckAll(*b.graph(), inputs, RoundingOf(DType::kBF16)));
    }
  }
}

// Masks that leave rows without keys, and masks that might.
TEST_F(LibraryAttention, WhatIsNoneHasNoWays_gpu_card) {
  const DType dtype = DType::kBF16;
  FuncBuilder early;
  early.Return({Attend(early, dtype, {}, Mask::kSelected, -2)});
  EXPECT_THAT(CheckAll(early, RoundingOf(dtype)), IsEmpty());
  for (Mask mask : {Mask::kOfKeys, Mask::kOfPairs, Mask::kOfHeads, Mask::kWide, Mask::kKept}) {
    SCOPED_TRACE(static_cast<int>(mask));
    FuncBuilder b;
    b.Return({Attend(b, dtype, {}, mask)});
    EXPECT_THAT(CheckAll(b, RoundingOf(dtype)), Not(Contains(gpu::kCudnnAttention)));
  }
}

TEST_F(LibraryAttention, WhatTheLibraryRefusesIsOurs) {
  if (IsOnCard()) return;
  FuncBuilder b;
  Sizes odd;
  odd.width = 12;
  b.Return({Attend(b, DType::kBF16, odd, Mask::kNone)});
  CheckAll(b, RoundingOf(DType::kBF16), gpu::kCudnnAttention);
  EXPECT_EQ(fake().attentions(), 0);
}

// Its image is loaded as it was made.
TEST_F(LibraryAttention, IsLoadedFromItsImage) {
  if (IsOnCard()) return;
  FuncBuilder b;
  b.Return({Attend(b, DType::kBF16, {}, Mask::kSelected)});
  auto compiled = Compile(*b.graph(), gpu::kCudnnAttention);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_THAT(compiled->images,
              HasSubstr("cuDNN: bf16 attention of 2 x 3 x 17 rows to 24 keys, 16 -> 16, causal"));
  for (auto& [node, kernel] : compiled->kernels) {
    const std::string image = kernel->Image();
    auto loaded = backend_->Load({image});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->at(0)->Image(), image);
    kernel = loaded->at(0);
  }
  const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  auto want = reference::Evaluate(*b.graph(), inputs);
  auto got = Call(*compiled->NewExecutable(*backend_), *b.graph(), inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Difference(*got, want->at(0), RoundingOf(DType::kBF16)), "");
  // Bytes that are no description.
  std::string bytes = gpu::AttentionCall().Write();
  EXPECT_TRUE(absl::IsInvalidArgument(gpu::AttentionCall::Read(bytes).status()));  // no strides
  bytes.resize(bytes.size() - 1);
  EXPECT_TRUE(absl::IsInvalidArgument(gpu::AttentionCall::Read(bytes).status()));
}

}  // namespace
}  // namespace tektite::testing
