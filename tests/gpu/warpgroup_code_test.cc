// What becomes of products of warpgroups: which are made so, and their machine code.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/gpu/codegen/assembler.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"
#include "backends/gpu/emit/emitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"
#include "jit/llvm/warpgroup.h"

namespace tektite::gpu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kArchitecture[] = "sm_90a";

struct Shape {
  int64_t m, n, k;
  bool lhs_transposed = false, rhs_transposed = false;
  std::string dtype = "bf16";
};

// gelu(x w + bias) + residual without the gelu's polynomial where `plain`.
std::unique_ptr<ir::Graph> Product(const Shape& s, bool plain = true) {
  const auto matrix = [&](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? absl::StrCat("DT[", columns, ",", rows, "]")
                      : absl::StrCat("DT[", rows, ",", columns, "]");
  };
  const std::string x = matrix(s.m, s.k, s.lhs_transposed), w = matrix(s.k, s.n, s.rhs_transposed);
  const std::string z = matrix(s.m, s.n, false), bias = absl::StrCat("DT[", s.n, "]");
  const std::string f = absl::StrCat("f32[", s.m, ",", s.n, "]");
  std::string text = absl::StrCat(
      "graph @f(%x: ", x, ", %w: ", w, ", %b: ", bias, ", %r: ", z, ") -> (", z, ") {\n",
      "  %0: ", z, " = fusion(%x, %w, %b, %r) {kind = contraction}\n", "    graph @fused(%x: ", x,
      ", %w: ", w, ", %b: ", bias, ", %r: ", z, ") -> (", z, ") {\n", "      %0: ", z,
      " = dot_general(%x, %w) {lhs_batch = [], lhs_contracting = [", s.lhs_transposed ? 0 : 1,
      "], rhs_batch = [], rhs_contracting = [", s.rhs_transposed ? 1 : 0, "]}\n");
  if (plain) {
    absl::StrAppend(&text, "      return %0\n");
  } else {
    absl::StrAppend(&text, "      %1: ", z, " = broadcast_in_dim(%b) {dimensions = [1], shape = (",
                    s.m, ", ", s.n, ")}\n", "      %2: ", z, " = add(%0, %1)\n", "      %3: ", f,
                    " = convert(%2) {dtype = f32}\n", "      %4: ", f, " = erf(%3)\n",
                    "      %5: ", f, " = mul(%3, %4)\n", "      %6: ", z,
                    " = convert(%5) {dtype = ", s.dtype, "}\n", "      %7: ", z, " = add(%6, %r)\n",
                    "      return %7\n");
  }
  absl::StrAppend(&text, "    }\n  return %0\n}\n");
  auto graph = ir::Parse(absl::StrReplaceAll(text, {{"DT", s.dtype}}));
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  return *std::move(graph);
}

EmitOptions Options(Warpgroups warpgroups = Warpgroups::kWhereLarge) {
  EmitOptions options;
  options.shared_bytes = MostSharedBytes(kArchitecture);
  options.warpgroups = warpgroups;
  return options;
}

// The fusion's kernel, made in a way.
std::unique_ptr<loop::Kernel> Emit(ir::Graph& graph, const std::string& way,
                                   const EmitOptions& options = Options()) {
  ir::Node* const fusion = graph.outputs()[0].node;
  if (!way.empty()) fusion->attrs().Set(ir::Attr::schedule, way);
  auto emitted = EmitKernel(*fusion, "product", options);
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  return std::move(emitted->kernel);
}

// Columns of its tiles; 0: not by warpgroups.
int64_t Columns(const Shape& shape, const EmitOptions& options = Options()) {
  auto graph = Product(shape);
  const auto kernel = Emit(*graph, "", options);
  if (kernel->tensor_maps.empty()) return 0;
  return shape.rhs_transposed ? kernel->tensor_maps[1].box[1] : -1;
}

TEST(WarpgroupRule, IsForLargeProducts) {
  const auto shape = [](int64_t m, int64_t n, int64_t k) { return Shape{m, n, k, false, true}; };
  EXPECT_EQ(Columns(shape(4096, 4096, 4096)), 256);
  EXPECT_EQ(Columns(shape(2048, 1024, 1024)), 128);  // 64 wide tiles, 128 square ones
  EXPECT_EQ(Columns(shape(8448, 128, 512)), 128);
  EXPECT_EQ(Columns(shape(1024, 1024, 1024)), 0);  // 64 tiles do not fill the card
  EXPECT_EQ(Columns(shape(64, 65536, 1024)), 0);   // few rows
  EXPECT_EQ(Columns(shape(65536, 64, 1024)), 0);   // few columns
  EXPECT_EQ(Columns(shape(4096, 4096, 32)), 0);    // a short sum
  EXPECT_EQ(Columns(shape(4096, 4096, 4092)), 0);  // rows that are not whole chunks
  EXPECT_EQ(Columns(shape(4, 65536, 4096)), 0);    // a step of decoding
  // What is stored with k first has rows of another length.
  EXPECT_EQ(Columns({4096, 4096, 4092, true, true}), 0);
  EXPECT_EQ(Columns({4096, 4096, 4092, true, false}), -1);
  EXPECT_EQ(Columns({4092, 4096, 4096, true, false}), 0);
  EXPECT_EQ(Columns({4092, 4096, 4096, false, true}), 256);
  EXPECT_EQ(Columns({4096, 4096, 4096, false, true, "f32"}), 0);
  EXPECT_EQ(Columns(shape(4096, 4096, 4096), Options(Warpgroups::kNever)), 0);
  EXPECT_EQ(Columns(shape(24, 40, 16), Options(Warpgroups::kAlways)), 128);
  EmitOptions small = Options();
  small.shared_bytes = 99 << 10;
  EXPECT_EQ(Columns(shape(4096, 4096, 4096), small), 0);
}

TEST(WarpgroupRule, OthersCanBeMeasured) {
  const auto ways = [](const Shape& shape) {
    return OtherWays(*Product(shape)->outputs()[0].node, Options());
  };
  EXPECT_THAT(ways({4096, 4096, 4096}), ElementsAre(kWarpMatrices, kSquareTiles));
  EXPECT_THAT(ways({2048, 1024, 1024}), ElementsAre(kWarpMatrices, kWideTiles));
  EXPECT_THAT(ways({512, 512, 512}), ElementsAre(kSquareTiles, kWideTiles));
  EXPECT_THAT(ways({4096, 4096, 4092}), IsEmpty());
  EXPECT_THAT(ways({4, 4096, 4096}), IsEmpty());
  const auto tiles = [](const std::string& way) {
    auto graph = Product({512, 512, 512, false, true});
    const auto kernel = Emit(*graph, way);
    return kernel->tensor_maps.empty() ? 0 : kernel->tensor_maps[1].box[1];
  };
  EXPECT_EQ(tiles(kSquareTiles), 128);
  EXPECT_EQ(tiles(kWideTiles), 256);
  EXPECT_EQ(tiles(kWarpMatrices), 0);
}

TEST(WarpgroupCode, IsForOneGeneration) {
  auto graph = Product({4096, 4096, 4096});
  const auto kernel = Emit(*graph, "");
  const auto ptx = EmitPtx(*kernel, kArchitecture);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, AllOf(HasSubstr("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
                          HasSubstr("cp.async.bulk.tensor.3d.shared::cluster.global"),
                          HasSubstr("mbarrier.try_wait.parity"),
                          HasSubstr("setmaxnreg.inc.sync.aligned.u32 \t232"),
                          HasSubstr("setmaxnreg.dec.sync.aligned.u32 \t40"),
                          HasSubstr("fence.proxy.tensormap::generic.acquire.sys"),
                          HasSubstr(".align 1024")));
  for (const char* other : {"sm_80", "sm_100a", "sm_120"}) {
    EXPECT_EQ(EmitPtx(*kernel, other).status().code(), absl::StatusCode::kUnimplemented) << other;
  }
}

// Where the hardware looks for an element of an instruction's operand, by its descriptor: the
// canonical layouts of 16-bit types that are swizzled by 128 bytes (PTX ISA, "Asynchronous
// Warpgroup Level Matrix Shared Memory Layout").
int64_t DescribedPlace(uint64_t descriptor, bool transposed, int64_t across, int64_t depth) {
  const auto field = [&](int bit) {
    return static_cast<int64_t>(descriptor >> bit & 0x3fff) * loop::kDescriptorUnit;
  };
  const int64_t address = field(0), leading = field(loop::kLeadingStrideBit),
                stride = field(loop::kStrideBit);
  const int64_t at =
      transposed ? across / 64 * leading + depth / 8 * stride + depth % 8 * 128 + across % 64 * 2
                 : across / 8 * stride + across % 8 * 128 + depth * 2;
  const int64_t place = address + at;
  return place ^ ((place >> 7 & 7) << 4);
}

TEST(WarpgroupCode, DescriptorsLeadToWhereElementsLie) {
  for (const bool transposed : {false, true}) {
    for (int64_t k = 0; k < loop::kProductDepth; ++k) {
      const int64_t instruction = k / loop::kInstructionDepth;
      const uint64_t descriptor =
          loop::DescriptorOf(transposed) +
          static_cast<uint64_t>(instruction * loop::DescriptorStep(transposed, 2));
      EXPECT_EQ(descriptor >> 62, 1);  // of 128 bytes
      for (int64_t across = 0; across < loop::kMostProductColumns; ++across) {
        ASSERT_EQ(DescribedPlace(descriptor, transposed, across, k % loop::kInstructionDepth),
                  loop::SharedPlace(transposed, across, k, 2))
            << transposed << " " << across << " " << k;
      }
    }
  }
}

// Of every layout, tile and type: no spills, no stack, no product that waits for another.
TEST(WarpgroupCode, AssemblesWithoutSpillsOrWarnings) {
  const Assembler* const assembler = Assembler::OfThisMachine();
  ASSERT_NE(assembler, nullptr);
  for (const char* way : {kSquareTiles, kWideTiles}) {
    for (int layout = 0; layout < 4; ++layout) {
      const std::string dtype = layout % 2 == 0 ? "bf16" : "f16";
      auto graph = Product({4096, 4096, 4096, layout % 2 != 0, layout / 2 != 0, dtype},
                           /*plain=*/layout != 1);
      const auto kernel = Emit(*graph, way);
      const auto code = CompileForDevice(*kernel, kArchitecture, assembler);
      ASSERT_TRUE(code.ok()) << code.status();
      const Resources& r = code->cubin.resources;
      EXPECT_EQ(r.spilled_bytes(), 0) << way << ", layout " << layout;
      EXPECT_EQ(r.stack_bytes, 0) << way << ", layout " << layout;
      EXPECT_EQ(r.warning, "") << way << ", layout " << layout;
      EXPECT_LE(r.registers, 65536 / kernel->launch.threads);
    }
  }
}

}  // namespace
}  // namespace tektite::gpu
