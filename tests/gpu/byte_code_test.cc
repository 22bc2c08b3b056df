// What becomes of products of bytes: which instructions multiply them, and their machine code.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/gpu/codegen/assembler.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/emit/emitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"

namespace tektite::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The fusion of one product: "u8[64,64]", "s8[64,64]", "s32[64,64]", "dot_general", its attributes.
std::unique_ptr<ir::Graph> Product(const std::string& lhs, const std::string& rhs,
                                   const std::string& sums, const std::string& call) {
  const std::string parameters = absl::StrCat("%x: ", lhs, ", %w: ", rhs);
  auto graph = ir::Parse(absl::StrCat("graph @f(", parameters, ") -> (", sums, ") {\n  %0: ", sums,
                                      " = fusion(%x, %w) {kind = contraction}\n    graph @fused(",
                                      parameters, ") -> (", sums, ") {\n      %0: ", sums, " = ",
                                      call, "\n      return %0\n    }\n  return %0\n}\n"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

std::unique_ptr<ir::Graph> Dot(const std::string& rows, int64_t m, int64_t k, int64_t n,
                               bool along_k) {
  const std::string sums = rows[0] == 's' || rows[0] == 'u' ? "s32" : "f32";
  return Product(
      absl::StrCat(rows, "[", m, ",", k, "]"),
      along_k ? absl::StrCat("s8[", n, ",", k, "]") : absl::StrCat("s8[", k, ",", n, "]"),
      absl::StrCat(sums, "[", m, ",", n, "]"),
      absl::StrCat("dot_general(%x, %w) {dtype = ", sums,
                   ", lhs_contracting = [1], rhs_contracting = [", along_k ? 1 : 0, "]}"));
}

std::unique_ptr<loop::Kernel> Emit(const ir::Graph& graph) {
  auto emitted = EmitKernel(*graph.outputs()[0].node, "product");
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  return std::move(emitted->kernel);
}

TEST(ByteCode, MatrixInstructions) {
  for (const bool along_k : {false, true}) {
    const std::string text = Emit(*Dot("u8", 512, 256, 512, along_k))->ToString();
    EXPECT_THAT(text, AllOf(HasSubstr("warp_multiply s32x4"), HasSubstr("copy_async u8 shared"),
                            HasSubstr("copy_async s8 shared"), HasSubstr("load_matrices s8x4")));
    EXPECT_EQ(absl::StrContains(text, ", transposed"), !along_k);
  }
  EXPECT_THAT(Emit(*Product("u8[8,14,14,64]", "s8[3,3,64,64]", "s32[8,14,14,64]",
                            "convolution(%x, %w) {dtype = s32, high = [1, 1], input_layout = "
                            "\"b01f\", kernel_layout = \"01io\", low = [1, 1], output_layout = "
                            "\"b01f\", strides = [1, 1]}"))
                  ->ToString(),
              AllOf(HasSubstr("warp_multiply s32x4"), HasSubstr("copy_async u8 shared")));
}

TEST(ByteCode, FewRows) {
  for (const bool along_k : {false, true}) {
    EXPECT_THAT(Emit(*Dot("s8", 1, 1024, 1024, along_k))->ToString(),
                AllOf(HasSubstr("dot_bytes s32"), HasSubstr("load s8x16"),
                      Not(HasSubstr("warp_multiply"))));
    for (const char* rows : {"f32", "bf16", "f16"}) {
      EXPECT_THAT(Emit(*Dot(rows, 4, 1024, 1024, along_k))->ToString(),
                  AllOf(HasSubstr("load s8x16"), HasSubstr("convert f32x16"), HasSubstr("fma f32"),
                        Not(HasSubstr("dot_bytes"))));
    }
  }
}

// Neighbouring bytes that are no whole chunks are moved together, too.
TEST(ByteCode, ChannelsThatAreNoChunks) {
  EXPECT_THAT(Emit(*Dot("s8", 512, 24, 512, true))->ToString(), HasSubstr("load s8x8"));
  EXPECT_THAT(Emit(*Dot("s8", 512, 20, 512, true))->ToString(), HasSubstr("load s8x4"));
}

TEST(ByteCode, AssemblesWithoutSpillsForEveryGeneration) {
  const Assembler* const assembler = Assembler::OfThisMachine();
  ASSERT_NE(assembler, nullptr);
  struct Shape {
    const char* rows;
    int64_t m, n;
  };
  // Tiles of each size, few rows of either kernel, the most rows that are few.
  const Shape shapes[] = {{"u8", 4096, 4096}, {"s8", 2048, 1152}, {"s8", 128, 128},
                          {"u8", 16, 1024},   {"s8", 1, 4096},    {"u8", 8, 4096},
                          {"f32", 1, 4096},   {"bf16", 4, 4096},  {"f16", 8, 4096}};
  for (const Shape& s : shapes) {
    for (const bool along_k : {false, true}) {
      for (const char* architecture : {"sm_80", "sm_90a", "sm_120"}) {
        SCOPED_TRACE(
            absl::StrCat(s.rows, " ", s.m, "x", s.n, along_k ? " along k, " : ", ", architecture));
        const auto kernel = Emit(*Dot(s.rows, s.m, 1024, s.n, along_k));
        const auto code = CompileForDevice(*kernel, architecture, assembler);
        ASSERT_TRUE(code.ok()) << code.status();
        const Resources& r = code->cubin.resources;
        EXPECT_EQ(r.spilled_bytes(), 0);
        EXPECT_EQ(r.stack_bytes, 0);
        EXPECT_LE(r.registers, 65536 / kernel->launch.threads);
      }
    }
  }
}

}  // namespace
}  // namespace tektite::gpu
