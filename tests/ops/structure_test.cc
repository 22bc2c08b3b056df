// Values of order and control; symbols, guards and the back end.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"
#include "tests/ops/run_op.h"

namespace tektite::testing {
namespace {

using ir::Literal;
using ::testing::HasSubstr;

TEST(Order, SortIsStableAndNanIsGreatest) {
  EXPECT_EQ(RunOp("sort", {"f32[5]{3, nan, -inf, 1, 3}", "s32[5]{0, 1, 2, 3, 4}"},
                  "dimension = 0, descending = false"),
            "f32[5]{-inf, 1, 3, 3, nan} s32[5]{2, 3, 0, 4, 1}");
  EXPECT_EQ(RunOp("sort", {"f32[5]{3, nan, -inf, 1, 3}", "s32[5]{0, 1, 2, 3, 4}"},
                  "dimension = 0, descending = true"),
            "f32[5]{nan, 3, 3, 1, -inf} s32[5]{1, 0, 4, 3, 2}");
  EXPECT_EQ(RunOp("sort", {"s32[2,2]{4, 1, 3, 2}"}, "dimension = 0"), "s32[2,2]{3, 1, 4, 2}");
  EXPECT_EQ(RunOp("sort", {"bool[0]{}"}, "dimension = 0"), "bool[0]{}");
}

TEST(Spectrum, OfTwoNumbers) {
  EXPECT_EQ(RunOp("real_fft", {"f32[2]{1, 3}"}, "dimension = 0"), "f32[2]{4, -2} f32[2]{0, 0}");
  EXPECT_EQ(
      RunOp("inverse_real_fft", {"f32[2]{4, -2}", "f32[2]{7, 7}"}, "dimension = 0, shape = (2)"),
      "f32[2]{1, 3}");
}

TEST(Matrix, SmallOnes) {
  EXPECT_EQ(RunOp("cholesky", {"f32[2,2]{4, 9, 2, 10}"}, ""), "f32[2,2]{2, 0, 1, 3} bool[]{true}");
  EXPECT_EQ(RunOp("triangular_solve", {"f32[2,2]{2, 9, 1, 3}", "f32[2,1]{4, 8}"}, "lower = true"),
            "f32[2,1]{2, 2} bool[]{true}");
  EXPECT_EQ(RunOp("triangular_solve", {"f32[2,2]{2, 9, 4, 3}", "f32[2,1]{16, 6}"},
                  "lower = true, transpose_a = true"),
            "f32[2,1]{4, 2} bool[]{true}");
  EXPECT_EQ(RunOp("solve", {"f32[2,2]{0, 2, 1, 1}", "f32[2,1]{4, 5}"}, ""),
            "f32[2,1]{3, 2} bool[]{true}");
  EXPECT_EQ(RunOp("eigh", {"f32[2,2]{3, 9, 0, -1}"}, ""), "f32[2]{-1, 3} bool[]{true}");
  EXPECT_EQ(RunOp("svd", {"f32[2,2]{0, 2, -3, 0}"}, ""), "f32[2]{3, 2} bool[]{true}");
  EXPECT_EQ(RunOp("tridiagonal_solve", {"f32[3,2]{1, 9, 2, 4, 9, 2}", "f32[2,1]{5, 8}"}, ""),
            "f32[2,1]{2, 1} bool[]{true}");
}

TEST(Order, TopK) {
  EXPECT_EQ(RunOp("top_k", {"f32[2,3]{1, 3, 3, -1, -0, 0}"}, "k = 2"),
            "f32[2,2]{3, 3, -0, 0} s32[2,2]{1, 2, 1, 2}");
  EXPECT_EQ(RunOp("top_k", {"s8[2]{1, 3}"}, "k = 0"), "s8[0]{} s32[0]{}");
  EXPECT_EQ(RunOp("compact", {"bool[3]{true, false, true}", "s32[3,2]{1, 2, 3, 4, 5, 6}"}, ""),
            "s32[3,2]{1, 2, 5, 6, 0, 0} s64[]{2}");
  EXPECT_EQ(RunOp("nonzero", {"bool[2,2]{false, true, true, false}"}, ""),
            "s64[4,2]{0, 1, 1, 0, 0, 0, 0, 0} s64[]{2}");
  EXPECT_EQ(RunOp("nonzero", {"bool[]{true}"}, ""), "s64[1,0]{} s64[]{1}");
  EXPECT_EQ(RunOp("unique", {"s32[5]{7, 3, 7, 9, 3}"}, "dtype = s32"),
            "s32[5]{7, 3, 9, 0, 0} s32[5]{0, 1, 0, 2, 1} s32[5]{2, 2, 1, 0, 0} s64[]{3}");
  EXPECT_EQ(RunOp("unique", {"s32[3,2]{1, 2, 1, 3, 1, 2}"}, "dtype = s32"),
            "s32[3,2]{1, 2, 1, 3, 0, 0} s32[3]{0, 1, 0} s32[3]{2, 1, 0} s64[]{2}");
  EXPECT_EQ(RunOp("is_member", {"f32[4]{nan, -0, 2, 3}", "f32[3]{0, nan, 3}"}, ""),
            "bool[4]{false, true, false, true}");
  // The second overlaps the first by 0.8; with equal scores the first one stays.
  EXPECT_EQ(RunOp("non_max_suppression",
                  {"f32[3,4]{0, 0, 1, 1, 0, 0, 1, 0.8, 5, 5, 6, 6}", "f32[3]{1, 1, 2}", "s32[]{3}",
                   "f32[]{0.5}", "f32[]{0}", "f32[]{0}"},
                  "shape = (3)"),
            "s32[3]{2, 0, 0} f32[3]{2, 1, 0} s64[]{2}");
  EXPECT_EQ(RunOp("unique", {"f32[4]{nan, -0, 0, nan}"}, "dtype = s64"),
            "f32[4]{nan, -0, nan, 0} s64[4]{0, 1, 1, 2} s64[4]{1, 2, 1, 0} s64[]{3}");
}

TEST(Control, ConditionalPicksARegion) {
  const char regions[] = R"(
      graph @a(%0: s32[]) -> (s32[]) { return %0 }
      graph @b(%0: s32[]) -> (s32[]) { %1: s32[] = neg(%0) return %1 })";
  EXPECT_EQ(RunOp("conditional", {"bool[]{true}", "s32[]{5}"}, "", regions), "s32[]{5}");
  EXPECT_EQ(RunOp("conditional", {"bool[]{false}", "s32[]{5}"}, "", regions), "s32[]{-5}");
  EXPECT_EQ(RunOp("conditional", {"s32[]{0}", "s32[]{5}"}, "", regions), "s32[]{5}");
  EXPECT_EQ(RunOp("conditional", {"s32[]{9}", "s32[]{5}"}, "", regions), "s32[]{-5}");
}

TEST(Control, WhileCounts) {
  EXPECT_EQ(RunOp("while", {"s32[]{0}", "f32[]{1}"}, "", R"(
      graph @condition(%i: s32[], %x: f32[]) -> (bool[]) {
        %2: s32[] = constant() {value = s32[]{10}}
        %3: bool[] = compare(%i, %2) {direction = "lt"}
        return %3
      }
      graph @body(%i: s32[], %x: f32[]) -> (s32[], f32[]) {
        %2: s32[] = constant() {value = s32[]{1}}
        %3: s32[] = add(%i, %2)
        %4: f32[] = add(%x, %x)
        return %3, %4
      })"),
            "s32[]{10} f32[]{1024}");
}

TEST(Control, CallsAndSizeValues) {
  EXPECT_EQ(
      RunOp("call", {"s32[]{3}"}, "", "graph @f(%x: s32[]) -> (s32[], s32[]) { return %x, %x }"),
      "s32[]{3} s32[]{3}");
  EXPECT_EQ(RunOp("size_value", {}, "sizes = (4, 0)"), "s64[2]{4, 0}");
}

const char kSymbolic[] = R"(
  graph @g(%x: f32[n,2], %y: f32[m,2]) -> (f32[m + n,2], f32[n]) {
    guard n == 2*m
    %2: f32[m + n,2] = concatenate(%x, %y) {dimension = 0}
    %3: f32[n,1] = slice(%x) {limits = (n, 1), starts = (0, 0)}
    %4: f32[n] = reshape(%3) {shape = (n)}
    return %2, %4
  })";

TEST(Evaluate, SymbolsTakeTheirValuesFromArguments) {
  auto graph = ParseOrDie(kSymbolic);
  const Literal x = Literal::FromVector<float>({2, 2}, {1, 2, 3, 4});
  const Literal y = Literal::FromVector<float>({1, 2}, {5, 6});
  auto results = reference::Evaluate(*graph, {x, y});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(ToText(*results), "f32[3,2]{1, 2, 3, 4, 5, 6} f32[2]{1, 3}");
  const Literal none = Literal::Allocate(ir::DType::kF32, {0, 2});
  EXPECT_EQ(ToText(*reference::Evaluate(*graph, {none, none})), "f32[0,2]{} f32[0]{}");
}

TEST(Evaluate, RefusesWhatDoesNotFit) {
  auto graph = ParseOrDie(kSymbolic);
  const Literal x = Literal::FromVector<float>({2, 2}, {1, 2, 3, 4});
  auto message = [](const auto& result) { return std::string(result.status().message()); };
  EXPECT_THAT(message(reference::Evaluate(*graph, {x})), HasSubstr("takes 2 values, got 1"));
  EXPECT_THAT(message(reference::Evaluate(*graph, {x, x})),
              HasSubstr("guard n == 2*m does not hold: 2 and 4"));
  EXPECT_THAT(message(reference::Evaluate(*graph, {x, Literal::Scalar<float>(1)})),
              HasSubstr("parameter 1 is f32[m,2], got f32[]"));
  auto unbound = ParseOrDie("graph @g(%x: f32[2*n]) -> (f32[2*n]) { return %x }");
  EXPECT_FALSE(reference::Evaluate(*unbound, {Literal::FromVector<float>({2}, {1, 2})}).ok());
  auto huge = [&](const std::string& dims) {
    auto made = ParseOrDie("graph @g(%x: f32[]) -> (f32[" + dims + "]) {\n  %1: f32[" + dims +
                           "] = broadcast_in_dim(%x) {dimensions = [], shape = (" + dims +
                           ")}\n  return %1 }");
    return message(reference::Evaluate(*made, {Literal::Scalar<float>(1)}));
  };
  EXPECT_THAT(huge("100000, 100000, 100000"), HasSubstr("exceeds 8 GiB"));
  // More than can be counted with once elements have bytes.
  EXPECT_THAT(huge("1000000, 1000000, 1000000"), HasSubstr("too large to count with"));
}

// The reference back end's kernels run on the host.
void RunAll(const backend::Kernel& kernel, void* const* buffers, std::vector<int64_t> sizes) {
  static_cast<const backend::HostKernel&>(kernel).Run({buffers, sizes.data(), nullptr}, 0,
                                                      kernel.Configure(sizes).num_chunks);
}

TEST(ReferenceBackend, RunsAFusion) {
  auto graph = ParseOrDie(R"(
    graph @g(%x: f32[3], %y: f32[3]) -> (f32[3], f32[]) {
      %2:2 : (f32[3], f32[]) = fusion(%x, %y) {kind = row}
        graph @f(%0: f32[3], %1: f32[3]) -> (f32[3], f32[]) {
          %2: f32[3] = mul(%0, %1)
          %3: f32[] = reduce(%2) {dimensions = [0], reducer = "add"}
          return %2, %3
        }
      return %2#0, %2#1
    })");
  ASSERT_TRUE(ops::VerifyGraph(*graph).ok());
  auto backend = reference::ReferenceBackend::Create(Flags());
  ASSERT_TRUE(backend.ok());
  auto kernel = (*backend)->Compile(*graph->nodes().back(), {});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  float x[] = {1, 2, 3}, y[] = {4, 5, 6}, product[3], sum;
  void* buffers[] = {x, y, product, &sum};
  RunAll(**kernel, buffers, {});
  EXPECT_EQ(product[2], 18);
  EXPECT_EQ(sum, 32);
}

TEST(ReferenceBackend, OneKernelServesEverySize) {
  auto graph = ParseOrDie(R"(
    graph @g(%x: f32[n,2*n]) -> (f32[n]) {
      %1: f32[n] = fusion(%x) {kind = row}
        graph @f(%0: f32[n,2*n]) -> (f32[n]) {
          %1: f32[n] = reduce(%0) {dimensions = [1], reducer = "add"}
          return %1
        }
      return %1
    })");
  auto backend = *reference::ReferenceBackend::Create(Flags());
  auto kernel = backend->Compile(*graph->nodes().back(), {});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, sums[2];
  void* buffers[] = {x, sums};
  const int64_t two = 2, one = 1;
  RunAll(**kernel, buffers, {two});
  EXPECT_EQ(sums[0], 10);
  EXPECT_EQ(sums[1], 26);
  RunAll(**kernel, buffers, {one});
  EXPECT_EQ(sums[0], 3);
  EXPECT_LT((*kernel)->Configure({one}).cost_ns, (*kernel)->Configure({two}).cost_ns);
}

TEST(ReferenceBackend, RefusesWhatIsNoFusion) {
  auto backend = *reference::ReferenceBackend::Create(Flags());
  auto graph =
      ParseOrDie("graph @g(%x: f32[2]) -> (f32[2]) { %1: f32[2] = neg(%x) \"a/Neg\" return %1 }");
  auto kernel = backend->Compile(*graph->nodes().back(), {});
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("a kernel is made from a fusion"));
}

}  // namespace
}  // namespace tektite::testing
