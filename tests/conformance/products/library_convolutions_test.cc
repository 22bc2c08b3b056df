// Convolutions that cuDNN computes, against the interpreter (library_ways.h).
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/gpu/cudnn/prepared_convolution.h"
#include "backends/gpu/implementation_list.h"
#include "gmock/gmock.h"
#include "jit/base/status.h"
#include "jit/reference/interpreter.h"
#include "tests/conformance/products/library_ways.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_cudnn/fake_cudnn.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Ints = std::vector<int64_t>;

class LibraryConvolutions : public LibraryWaysOn<FakeCudnn> {
 protected:
  LibraryConvolutions() : LibraryWaysOn("cuDNN") {}
  absl::StatusOr<gpu::CardOptions> OptionsOnStandIn() override {
    gpu::CardOptions options;
    options.tf32 = tf32_;
    TEKTITE_ASSIGN_OR_RETURN(options.cudnn, gpu::Cudnn::Open(FakeCudnn::path()));
    return options;
  }

  bool tf32_ = false;
};

class LibraryConvolutionsInTf32 : public LibraryConvolutions {
 protected:
  LibraryConvolutionsInTf32() { tf32_ = true; }
};

#define EXPECT_WAYS(names, ...)                   \
  if (!IsOnCard() || !(names).empty()) {          \
    EXPECT_THAT(names, ElementsAre(__VA_ARGS__)); \
  }

struct Window {
  Ints image, kernel, strides, low, high, dilations;
  int64_t groups = 1;
};

FuncBuilder::ConvOptions OptionsOf(const Window& w) {
  FuncBuilder::ConvOptions options;
  const std::string pixels = std::string("012").substr(0, w.image.size() - 2);
  options.input_layout = options.output_layout = "b" + pixels + "f";
  options.kernel_layout = pixels + "io";
  options.strides = w.strides;
  options.low = w.low;
  options.high = w.high;
  options.rhs_dilation = w.dilations;
  options.feature_groups = w.groups;
  return options;
}

Value Convolve(FuncBuilder& b, DType dtype, const Window& w) {
  const Value x = b.Parameter(Of(dtype, w.image)), k = b.Parameter(Of(dtype, w.kernel));
  return b.Convolution(x, k, OptionsOf(w));
}

const Window kPlain = {{2, 7, 6, 8}, {3, 3, 8, 16}, {1, 1}, {1, 1}, {1, 1}, {}};

TEST_F(LibraryConvolutions, OfImagesAndVolumes_gpu_card) {
  const std::vector<Window> all = {
      kPlain,
      {{2, 9, 8, 8}, {3, 3, 8, 12}, {2, 2}, {0, 1}, {1, 1}, {}},
      {{1, 9, 10, 16}, {1, 1, 16, 24}, {2, 2}, {}, {}, {}},
      {{1, 12, 11, 8}, {3, 3, 8, 16}, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
      {{2, 10, 9, 8}, {2, 5, 8, 16}, {1, 2}, {0, 2}, {1, 2}, {}},
      {{2, 7, 7, 16}, {3, 3, 4, 24}, {1, 1}, {1, 1}, {1, 1}, {}, 4},
      {{1, 3, 3, 8}, {3, 3, 8, 16}, {1, 1}, {5, 5}, {5, 5}, {}},
      {{2, 12, 8}, {5, 8, 16}, {1}, {2}, {2}, {}},
      {{1, 4, 5, 6, 8}, {2, 3, 3, 8, 16}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {}},
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), ", case ", i));
      FuncBuilder b;
      b.Return({Convolve(b, dtype, all[i])});
      const std::vector<std::string> names = CheckAll(b, ToleranceOf(dtype));
      EXPECT_WAYS(names, target::kOwn, gpu::kCudnn);
    }
  }
  if (!IsOnCard()) {
    // Groups are taken apart.
    EXPECT_EQ(fake().convolutions(), 3 * (8 + 4));
  }
}

TEST_F(LibraryConvolutions, WithEpilogues_gpu_card) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    for (bool relu : {false, true}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), relu ? " with ReLU" : ""));
      FuncBuilder b;
      Value y = Convolve(b, dtype, kPlain);
      y = b.Add(y, b.Parameter(Of(dtype, {16})));
      b.Return({relu ? b.Max(y, b.FullLike(y, 0)) : y});
      const std::vector<std::string> names = CheckAll(b, ToleranceOf(dtype));
      EXPECT_WAYS(names, target::kOwn, gpu::kCudnn);
    }
  }
  FuncBuilder b;
  Value y = Convolve(b, DType::kF32, kPlain);
  y = b.Add(b.Tanh(y), b.Parameter(y.shape()));
  b.Return({y});
  EXPECT_WAYS(CheckAll(b, Tolerance::Relative(1e-5)), target::kOwn, gpu::kCudnn);
}

// Whose input is spread out so far that canonicalize leaves them whole.
TEST_F(LibraryConvolutions, GradientsOfInputs_gpu_card) {
  for (DType dtype : {DType::kF32, DType::kF16}) {
    for (const Ints& taps : {Ints{5, 6}, Ints{7, 5}}) {
      for (int64_t dilation : {1, 2}) {
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), taps[0], "x", taps[1], " ", dilation));
        FuncBuilder b;
        const Value dy = b.Parameter(Of(dtype, {2, 3, 4, 16})),
                    k = b.Parameter(Of(dtype, {taps[0], taps[1], 16, 8}));
        FuncBuilder::ConvOptions options;
        options.lhs_dilation = {5, 4};
        options.rhs_dilation = {dilation, dilation};
        for (int64_t n : taps) {
          options.low.push_back((n - 1) * dilation - 1);
          options.high.push_back((n - 1) * dilation - 2);
        }
        b.Return({b.Convolution(dy, k, options)});
        EXPECT_WAYS(CheckAll(b, ToleranceOf(dtype)), target::kOwn, gpu::kCudnn);
      }
    }
  }
  if (!IsOnCard()) {
    EXPECT_EQ(fake().convolutions(), 8);
  }
}

TEST_F(LibraryConvolutions, GradientsOfFilters_gpu_card) {
  struct Case {
    int64_t height, width, kh, kw, stride, dilation;
  };
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    for (const Case& c :
         {Case{7, 8, 3, 3, 1, 1}, {9, 9, 3, 3, 2, 1}, {9, 8, 2, 3, 1, 2}, {10, 10, 3, 3, 2, 1}}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), c.height, " ", c.stride));
      const auto places = [&](int64_t size, int64_t taps) {
        return (size - (taps - 1) * c.dilation - 1) / c.stride + 1;
      };
      const int64_t p = places(c.height, c.kh), q = places(c.width, c.kw);
      FuncBuilder b;
      const Value x = b.Parameter(Of(dtype, {2, c.height, c.width, 8})),
                  dy = b.Parameter(Of(dtype, {2, p, q, 16}));
      FuncBuilder::ConvOptions options;
      options.input_layout = "f01b";
      options.kernel_layout = "i01o";
      options.output_layout = "01bf";
      options.strides = {c.dilation, c.dilation};
      options.rhs_dilation = {c.stride, c.stride};
      options.high = {(c.kh - 1) * c.dilation + (p - 1) * c.stride + 1 - c.height,
                      (c.kw - 1) * c.dilation + (q - 1) * c.stride + 1 - c.width};
      const Value df = b.Convolution(x, dy, options);
      b.Return({b.Sub(b.Parameter(df.shape()), df)});
      EXPECT_WAYS(
          CheckAll(b, dtype == DType::kF32 ? Tolerance::Relative(1e-6) : Tolerance::Ulps(2)),
          target::kOwn, gpu::kCudnn);
    }
  }
  if (!IsOnCard()) {
    EXPECT_EQ(fake().convolutions(), 8);
  }
}

TEST_F(LibraryConvolutions, OfNumbersThatAreNone_gpu_card) {
  FuncBuilder b;
  Value y = Convolve(b, DType::kF32, kPlain);
  y = b.Add(y, b.Parameter(Of(DType::kF32, {16})));
  b.Return({b.Max(y, b.FullLike(y, 0))});
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 5);
  using Limits = std::numeric_limits<float>;
  const float special[] = {Limits::quiet_NaN(),  Limits::infinity(),
                           -Limits::infinity(),  -0.0f,
                           Limits::denorm_min(), 1e30F};
  // Not in the filter: whether an infinite weight meets the zeros of the padding is left open.
  for (Literal* input : {&inputs[0], &inputs[2]}) {
    auto* const data = input->mutable_data<float>();
    for (int64_t i = 0; i < 6; ++i) data[i * 5 % input->num_elements()] = special[i];
  }
  CheckAll(*b.graph(), inputs, Tolerance::Relative(1e-6));
}

TEST_F(LibraryConvolutions, WhatIsNoneHasNoWays_gpu_card) {
  FuncBuilder wide;
  wide.Return({Convolve(wide, DType::kF64, kPlain)});
  EXPECT_THAT(CheckAll(wide, Tolerance::Relative(1e-12)), IsEmpty());
}

// Without --f32_products=tf32 the engines that come first are passed over; the stand-in's really
// round.
TEST_F(LibraryConvolutionsInTf32, TakesTheFirstEngine) {
  if (IsOnCard()) return;
  FuncBuilder b;
  b.Return({Convolve(b, DType::kF32, kPlain)});
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  for (Literal& input : inputs) {
    for (int64_t i = 0; i < input.num_elements(); ++i) input.mutable_data<float>()[i] += 1e-4F;
  }
  auto want = reference::Evaluate(*b.graph(), inputs);
  auto compiled = Compile(*b.graph(), gpu::kCudnn);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_THAT(compiled->images, HasSubstr("f32 (tf32) [2,7,6,8] * [16,3,3,8]"));
  auto got = Call(*compiled->NewExecutable(*backend_), *b.graph(), inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_NE(Difference(*got, want->at(0), Tolerance::Relative(1e-6)), "");
  EXPECT_EQ(Difference(*got, want->at(0), Tolerance::Relative(2e-3)), "");
}

TEST_F(LibraryConvolutions, AreRecorded_gpu_card) {
  FuncBuilder b;
  b.Return({b.Tanh(Convolve(b, DType::kF32, kPlain))});
  const ir::Graph& graph = *b.graph();
  auto compiled = Compile(graph, gpu::kCudnn);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto executable = compiled->NewExecutable(*backend_);
  for (uint64_t call = 0; call < 6; ++call) {
    const std::vector<Literal> inputs = PlainInputs(graph, call + 1);
    auto want = reference::Evaluate(graph, inputs);
    auto got = Call(*executable, graph, inputs);
    ASSERT_TRUE(got.ok()) << got.status() << LastKernelFault();
    EXPECT_EQ(Difference(*got, want->at(0), Tolerance::Relative(1e-6)), "") << call;
  }
  if (IsOnCard()) return;
  EXPECT_EQ(card_->graphs().recorded(), 1);
  EXPECT_EQ(fake().convolutions(), 6);
  EXPECT_EQ(fake().calls("cudnnBackendExecute"), 3);  // two calls, and the recording
}

// One that cannot be recorded runs between the recorded runs of the others.
TEST_F(LibraryConvolutions, ThatCannotBeRecordedAreToldAlone) {
  if (IsOnCard()) return;
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, kPlain.image));
  const Value k = b.Parameter(Of(DType::kF32, kPlain.kernel));
  // Two kernels before it and two behind it, which are recorded.
  x = b.Cumulative(b.Cumulative(x, 1, "add", false, false), 2, "add", false, false);
  Value y = b.Convolution(x, k, OptionsOf(kPlain));
  y = b.Cumulative(b.Cumulative(y, 1, "add", false, false), 2, "add", false, false);
  b.Return({y});
  const ir::Graph& graph = *b.graph();
  auto compiled = Compile(graph, gpu::kCudnn);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto executable = compiled->NewExecutable(*backend_);
  for (int call = 0; call < 8; ++call) {
    if (call == 2) fake().fail("cudnnBackendExecute", 5000, 1);
    const std::vector<Literal> inputs = PlainInputs(graph, static_cast<uint64_t>(call) + 1);
    auto want = reference::Evaluate(graph, inputs);
    auto got = Call(*executable, graph, inputs);
    ASSERT_TRUE(got.ok()) << got.status() << LastKernelFault();
    EXPECT_EQ(Difference(*got, want->at(0), Tolerance::Relative(1e-6)), "") << call;
  }
  EXPECT_EQ(card_->graphs().recorded(), 2);
  EXPECT_EQ(fake().convolutions(), 8);
}

TEST_F(LibraryConvolutions, WorkspacesAreTheCards) {
  if (IsOnCard()) return;
  fake().set_workspace(12345);
  FuncBuilder b;
  b.Return({Convolve(b, DType::kF32, kPlain)});
  CheckAll(b, Tolerance::Relative(1e-6));
  EXPECT_EQ(fake().convolutions(), 1);
}

// What the library does not have, our own kernels compute.
TEST_F(LibraryConvolutions, WhatTheLibraryRefusesIsOurs) {
  if (IsOnCard()) return;
  FuncBuilder b;
  Value y = Convolve(b, DType::kF32, kPlain);
  b.Return({b.Add(y, b.Parameter(Of(DType::kF32, {16})))});
  const auto check = [&](absl::string_view what, const char* way) {
    SCOPED_TRACE(what);
    const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
    auto compiled = Compile(*b.graph(), way);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_THAT(compiled->images, Not(HasSubstr("cuDNN")));
    auto got = Call(*compiled->NewExecutable(*backend_), *b.graph(), inputs);
    ASSERT_TRUE(got.ok()) << got.status() << LastKernelFault();
    auto want = reference::Evaluate(*b.graph(), inputs);
    EXPECT_EQ(Difference(*got, want->at(0), Tolerance::Relative(1e-6)), "");
  };
  fake().fail("cudnnCreate", 1001, 1);
  check("not initialized", gpu::kCudnn);
  fake().fail("cudnnBackendSetAttribute", 2000, 1);
  check("an attribute that it does not know", gpu::kCudnn);
  fake().fail("cudnnBackendGetAttribute", 3000, -1);
  check("no engine", gpu::kCudnn);
  fake().fail("cudnnBackendGetAttribute", 0, 0);
  fake().set_workspace(gpu::OperationGraph::kMostWorkspace + 1);
  check("a workspace that is too large", gpu::kCudnn);
  EXPECT_EQ(fake().convolutions(), 0);
}

TEST_F(LibraryConvolutions, AnErrorOfACallIsThatCalls) {
  if (IsOnCard()) return;
  FuncBuilder b;
  b.Return({Convolve(b, DType::kF32, kPlain)});
  const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  auto compiled = Compile(*b.graph(), gpu::kCudnn);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto executable = compiled->NewExecutable(*backend_);
  fake().fail("cudnnBackendExecute", 5000, 1);
  const absl::Status failed = Call(*executable, *b.graph(), inputs).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(failed.message(), "cuDNN: launching: status 5000 (f32 [2,7,6,8] * [16,3,3,8])");
  EXPECT_TRUE(Call(*executable, *b.graph(), inputs).ok());
}

TEST_F(LibraryConvolutions, AreLoadedAgain) {
  if (IsOnCard()) return;
  FuncBuilder b;
  b.Return({Convolve(b, DType::kF32, kPlain)});
  auto compiled = Compile(*b.graph(), gpu::kCudnn);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  std::string image;
  for (auto& [node, kernel] : compiled->kernels) {
    if (gpu::DescribeImage(kernel->Image()) != "cuDNN: f32 [2,7,6,8] * [16,3,3,8]") continue;
    image = kernel->Image();
    auto loaded = backend_->Load({image});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->front()->Image(), image);
    kernel = loaded->front();
  }
  ASSERT_FALSE(image.empty());
  const std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  auto got = Call(*compiled->NewExecutable(*backend_), *b.graph(), inputs);
  ASSERT_TRUE(got.ok()) << got.status() << LastKernelFault();
  EXPECT_EQ(fake().convolutions(), 1);
  for (size_t end = 0; end < image.size(); ++end) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(backend_->Load({absl::string_view(image).substr(0, end)}).status()))
        << end;
  }
  auto without = gpu::CreateCardBackend(card_, nullptr);
  EXPECT_TRUE(absl::IsUnimplemented((*without)->Load({image}).status()));
  EXPECT_NE((*without)->target().code_generator, backend_->target().code_generator);
}

TEST_F(LibraryConvolutions, AMachineWithoutTheLibraryHasNoWays) {
  if (IsOnCard()) return;
  EXPECT_THAT(std::string(gpu::Cudnn::Open("libcudnn.so.0").status().message()),
              HasSubstr("no cuDNN: "));
  EXPECT_THAT(std::string(gpu::Cudnn::Open(FakeDriver::path()).status().message()),
              HasSubstr(" has no function cudnnCreate"));
}

}  // namespace
}  // namespace tektite::testing
