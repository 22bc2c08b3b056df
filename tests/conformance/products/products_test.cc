// Products that cuBLASLt computes, against the interpreter: on the stand-ins for the driver and the
// library, or, where TEKTITE_CONFORMANCE_CARD is the number of a card, on that card by NVIDIA's.
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/gpu/cublaslt/prepared_product.h"
#include "backends/gpu/implementation_list.h"
#include "gmock/gmock.h"
#include "jit/base/status.h"
#include "jit/reference/interpreter.h"
#include "tests/conformance/products/library_ways.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_cublaslt/fake_cublaslt.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;
using ::testing::HasSubstr;
using ::testing::Not;
using Ints = std::vector<int64_t>;

class Products : public LibraryWaysOn<FakeCublasLt> {
 protected:
  Products() : LibraryWaysOn("cuBLASLt") {}
  absl::StatusOr<gpu::CardOptions> OptionsOnStandIn() override {
    gpu::CardOptions options;
    TEKTITE_ASSIGN_OR_RETURN(options.products, gpu::CublasLt::Open(FakeCublasLt::path()));
    return options;
  }
};

struct Sides {
  Ints lhs, rhs;
  ops::DotDims dims;
};

Value Dot(FuncBuilder& b, DType dtype, const Sides& sides) {
  Value x = b.Parameter(Of(dtype, sides.lhs)), y = b.Parameter(Of(dtype, sides.rhs));
  return b.DotGeneral(x, y, sides.dims);
}

const Sides kPlain = {{65, 40}, {40, 33}, {{}, {}, {1}, {0}, {}, {}}};

#define EXPECT_WAYS(names, way)                                    \
  if (!IsOnCard() || !(names).empty()) {                           \
    EXPECT_THAT(names, ::testing::ElementsAre(target::kOwn, way)); \
  }

TEST_F(Products, OfAllLayoutsAndTypes_gpu_card) {
  const std::vector<Sides> all = {
      kPlain,
      {{40, 65}, {40, 33}, {{}, {}, {0}, {0}, {}, {}}},
      {{65, 40}, {33, 40}, {{}, {}, {1}, {1}, {}, {}}},
      {{40, 65}, {33, 40}, {{}, {}, {0}, {1}, {}, {}}},
      {{3, 17, 24}, {24, 32}, {{}, {}, {2}, {0}, {}, {}}},
      {{3, 17, 24}, {3, 24, 20}, {{0}, {0}, {2}, {1}, {}, {}}},
      {{2, 3, 24, 17}, {2, 3, 20, 24}, {{0, 1}, {0, 1}, {2}, {3}, {}, {}}},
      {{17, 4, 6}, {4, 6, 20}, {{}, {}, {1, 2}, {0, 1}, {}, {}}},
      {{1, 64}, {64, 9}, {{}, {}, {1}, {0}, {}, {}}},
      {{1, 1}, {1, 1}, {{}, {}, {1}, {0}, {}, {}}},
      {{12, 64}, {64}, {{}, {}, {1}, {0}, {}, {}}},
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), ", case ", i));
      FuncBuilder b;
      b.Return({Dot(b, dtype, all[i])});
      const std::vector<std::string> names = CheckAll(b, ToleranceOf(dtype));
      // A product that no contraction's kernel makes has no ways.
      if (i < 4) {
        EXPECT_WAYS(names, gpu::kCublasLt);
      }
    }
  }
  if (IsOnCard()) return;
  EXPECT_GT(fake().products(), 20);
  EXPECT_EQ(fake().compute_type(), int{gpu::kLtComputeF32});
  EXPECT_EQ(fake().reduction_schemes(), gpu::kLtReduceInComputeType);
}

// s8 in s32, stored along what is summed, in whole words.
TEST_F(Products, OfBytes_gpu_card) {
  const auto dot = [](FuncBuilder& b, const Sides& sides) {
    const Value y = Dot(b, DType::kS8, sides);
    ir::Attributes attrs = y.node->attrs();
    attrs.Set(ir::Attr::dtype, DType::kS32);
    return b.AddOne(ir::Op::kDotGeneral, y.node->operands(), attrs);
  };
  const Sides words = {{65, 40}, {36, 40}, {{}, {}, {1}, {1}, {}, {}}};
  const Sides batch = {{3, 17, 24}, {3, 20, 24}, {{0}, {0}, {2}, {2}, {}, {}}};
  for (const Sides& sides : {words, batch}) {
    FuncBuilder b;
    const Value y = b.Convert(dot(b, sides), DType::kF32);
    b.Return({b.Max(y, b.FullLike(y, 0))});
    const std::vector<std::string> names = CheckAll(b, Tolerance::Exact(), target::kPairs);
    if (!IsOnCard() || !names.empty()) {
      EXPECT_THAT(names, ::testing::ElementsAre(target::kPairs, gpu::kCublasLt));
    }
  }
  if (!IsOnCard()) {
    EXPECT_EQ(fake().compute_type(), int{gpu::kLtComputeS32});
  }
  const Sides others[] = {kPlain,
                          {{65, 40}, {33, 40}, {{}, {}, {1}, {1}, {}, {}}},
                          {{65, 38}, {36, 38}, {{}, {}, {1}, {1}, {}, {}}}};
  for (const Sides& sides : others) {
    FuncBuilder b;
    b.Return({dot(b, sides)});
    EXPECT_THAT(CheckAll(b, Tolerance::Exact(), target::kPairs), ::testing::IsEmpty());
  }
}

// The library chooses code for operands that begin at multiples of 16 bytes, not of 64.
TEST_F(Products, OfPartsOfArguments_gpu_card) {
  for (int64_t offset : {4, 5}) {
    SCOPED_TRACE(absl::StrCat("offset ", offset));
    FuncBuilder b;
    Value whole = b.Parameter(Of(DType::kF32, {1, 65 * 40 + offset}));
    Value x = b.Reshape(b.SliceDim(whole, 1, offset, 65 * 40 + offset), {65, 40});
    b.Return({b.MatMul(x, b.Parameter(Of(DType::kF32, {40, 33})))});
    EXPECT_WAYS(CheckAll(b, ToleranceOf(DType::kF32)), gpu::kCublasLt);
  }
}

TEST_F(Products, WithEpilogues_gpu_card) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    FuncBuilder b;
    Value y = Dot(b, dtype, kPlain);
    Value bias = b.Parameter(Of(dtype, {33}));
    b.Return({b.Add(y, bias)});
    // A bias of bf16 is added to a rounded product.
    EXPECT_WAYS(CheckAll(b, ToleranceOf(dtype)),
                dtype == DType::kF32 ? gpu::kCublasLtWithBias : gpu::kCublasLt);

    FuncBuilder c;
    Value z = Dot(c, dtype, kPlain);
    z = c.Add(z, c.Parameter(Of(dtype, {33})));
    c.Return({c.Max(z, c.FullLike(z, 0))});
    EXPECT_WAYS(CheckAll(c, ToleranceOf(dtype)), gpu::kCublasLt);
  }
}

// A dense layer on sequences, whose rows are counted in one dimension behind the product.
TEST_F(Products, WithABiasOfRowsInSeveralDimensions_gpu_card) {
  FuncBuilder b;
  Value y = Dot(b, DType::kF32, {{3, 17, 24}, {24, 32}, {{}, {}, {2}, {0}, {}, {}}});
  b.Return({b.Add(y, b.Parameter(Of(DType::kF32, {32})))});
  EXPECT_WAYS(CheckAll(b, Tolerance::Relative(1e-6)), gpu::kCublasLtWithBias);
}

TEST_F(Products, OfNumbersThatAreNone_gpu_card) {
  FuncBuilder b;
  Value y = Dot(b, DType::kF32, kPlain);
  b.Return({b.Add(y, b.Parameter(Of(DType::kF32, {33})))});
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 5);
  using Limits = std::numeric_limits<float>;
  const float special[] = {Limits::quiet_NaN(),  Limits::infinity(), -Limits::infinity(), -0.0f,
                           Limits::denorm_min(), Limits::max()};
  for (Literal& input : inputs) {
    auto* const data = input.mutable_data<float>();
    for (int64_t i = 0; i < 6; ++i) data[i * 5 % input.num_elements()] = special[i];
  }
  CheckAll(*b.graph(), inputs, Tolerance::Relative(1e-6));
}

TEST_F(Products, WhatIsNoProductHasNoWays_gpu_card) {
  FuncBuilder integers;
  integers.Return({Dot(integers, DType::kS32, kPlain)});
  EXPECT_THAT(CheckAll(integers, Tolerance::Exact()), ::testing::IsEmpty());
  FuncBuilder inner;  // the batch stands inside
  inner.Return({Dot(inner, DType::kF32, {{17, 3, 24}, {24, 3, 20}, {{1}, {1}, {2}, {0}, {}, {}}})});
  EXPECT_THAT(CheckAll(inner, Tolerance::Relative(1e-6)), ::testing::IsEmpty());
}

// Addresses are recorded with a product, so a run with others is another run.
TEST_F(Products, AreRecorded_gpu_card) {
  FuncBuilder b;
  Value y = Dot(b, DType::kF32, kPlain);
  b.Return({b.Max(y, b.FullLike(y, 0))});
  const ir::Graph& graph = *b.graph();
  auto compiled = Compile(graph, gpu::kCublasLt);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const std::shared_ptr<runtime::Executable> executables[] = {compiled->NewExecutable(*backend_),
                                                              compiled->NewExecutable(*backend_)};
  for (uint64_t call = 0; call < 12; ++call) {
    const std::vector<Literal> inputs = PlainInputs(graph, call + 1);
    auto want = reference::Evaluate(graph, inputs);
    auto got = Call(*executables[call / 2 % 2], graph, inputs);
    ASSERT_TRUE(got.ok()) << got.status() << LastKernelFault();
    EXPECT_EQ(Difference(*got, want->at(0), Tolerance::Relative(1e-6)), "") << call;
  }
  if (IsOnCard()) return;
  EXPECT_EQ(card_->graphs().recorded(), 2);
  EXPECT_EQ(fake().products(), 12);
  EXPECT_EQ(fake().calls("cublasLtMatmul"), 2 * 3);  // two calls, and the recording
}

TEST_F(Products, WorkspacesAreTheCards) {
  if (IsOnCard()) return;
  fake().set_proposals(1, 12345);
  FuncBuilder b;
  b.Return({Dot(b, DType::kF32, kPlain)});
  CheckAll(b, Tolerance::Relative(1e-6));
  EXPECT_EQ(fake().products(), 1);
}

// What the library does not have, our own kernels compute.
TEST_F(Products, WhatTheLibraryRefusesIsOurs) {
  if (IsOnCard()) return;
  FuncBuilder b;
  b.Return({Dot(b, DType::kF32, kPlain)});
  const auto check = [&](absl::string_view what) {
    SCOPED_TRACE(what);
    const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
    auto compiled = Compile(*b.graph(), gpu::kCublasLt);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_THAT(compiled->images, Not(HasSubstr("cuBLASLt")));
    auto got = Call(*compiled->NewExecutable(*backend_), *b.graph(), inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    auto want = reference::Evaluate(*b.graph(), inputs);
    EXPECT_EQ(Difference(*got, want->at(0), Tolerance::Relative(1e-6)), "");
  };
  fake().fail("cublasLtCreate", 1, 1);
  check("not initialized");
  fake().fail("cublasLtMatmulAlgoGetHeuristic", gpu::kLtNotSupported, 1);
  check("not supported");
  fake().fail("cublasLtMatmulPreferenceSetAttribute", gpu::kLtInvalidValue, 1);
  check("an attribute that it does not know");
  fake().set_proposals(0, 0);
  check("no algorithm");
  fake().set_proposals(1, gpu::PreparedProduct::kMostWorkspace + 1);
  check("a workspace that is too large");
  EXPECT_EQ(fake().products(), 0);
}

TEST_F(Products, AnErrorOfACallIsThatCalls) {
  if (IsOnCard()) return;
  FuncBuilder b;
  Value y = Dot(b, DType::kF32, kPlain);
  b.Return({b.Max(y, b.FullLike(y, 0))});
  const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  auto compiled = Compile(*b.graph(), gpu::kCublasLt);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto executable = compiled->NewExecutable(*backend_);
  fake().fail("cublasLtMatmul", 13, 1);
  const absl::Status failed = Call(*executable, *b.graph(), inputs).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(failed.message(), "cuBLASLt: f32 [65,40] x [40,33]: status 13");
  EXPECT_TRUE(Call(*executable, *b.graph(), inputs).ok());
  // One that cannot be recorded is launched singly.
  fake().fail("cublasLtMatmul", 14, 1);
  for (int call = 0; call < 4; ++call) {
    EXPECT_TRUE(Call(*executable, *b.graph(), inputs).ok()) << call;
  }
  EXPECT_EQ(card_->graphs().recorded(), 0);
}

TEST_F(Products, AreLoadedAgain) {
  if (IsOnCard()) return;
  FuncBuilder b;
  b.Return({Dot(b, DType::kF32, kPlain)});
  auto compiled = Compile(*b.graph(), gpu::kCublasLt);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  auto& kernel = compiled->kernels.begin()->second;
  const std::string image = kernel->Image();
  EXPECT_EQ(gpu::DescribeImage(image), "cuBLASLt: f32 [65,40] x [40,33]");
  auto loaded = backend_->Load({image});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->front()->Image(), image);
  kernel = loaded->front();
  const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  auto got = Call(*compiled->NewExecutable(*backend_), *b.graph(), inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(fake().products(), 1);
  for (size_t end = 0; end < image.size(); ++end) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(backend_->Load({absl::string_view(image).substr(0, end)}).status()))
        << end;
  }
  auto without = gpu::CreateCardBackend(card_, nullptr);
  EXPECT_TRUE(absl::IsUnimplemented((*without)->Load({image}).status()));
  EXPECT_NE((*without)->target().code_generator, backend_->target().code_generator);
}

TEST_F(Products, AMachineWithoutTheLibraryIsTold) {
  if (IsOnCard()) return;
  EXPECT_THAT(std::string(gpu::CublasLt::Open("libcublasLt.so.0").status().message()),
              HasSubstr("no cuBLASLt: "));
  EXPECT_THAT(std::string(gpu::CublasLt::Open(FakeDriver::path()).status().message()),
              HasSubstr(" has no function cublasLtCreate"));
}

}  // namespace
}  // namespace tektite::testing
