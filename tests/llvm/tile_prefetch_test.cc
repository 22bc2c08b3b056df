// Which products ask for memory ahead, and for how much of it: a prefetch changes no result.
#include "backends/cpu/contraction/packing/tile_prefetch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/implementation_list.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {
namespace {

Target Avx512() {
  Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.l1_bytes = 32 << 10;
  target.l2_bytes = 1 << 20;
  return target;
}

// Of the first fusion of the graph.
int Prefetches(const std::string& text) {
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  for (const auto& node : (*graph)->nodes()) {
    if (node->op() != ir::Op::kFusion) continue;
    auto kernel = MakeKernel(*node, Avx512(), "k");
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    const std::string code = kernel->code.kernel->ToString();
    return static_cast<int>(std::vector<std::string>(absl::StrSplit(code, "prefetch")).size()) - 1;
  }
  ADD_FAILURE() << "no fusion";
  return -1;
}

std::string Product(int m, int k, int n) {
  const std::string x = absl::StrCat("f32[", m, ",", k, "]"),
                    w = absl::StrCat("f32[", k, ",", n, "]");
  const std::string y = absl::StrCat("f32[", m, ",", n, "]");
  return absl::StrCat("graph @f(%x: ", x, ", %w: ", w, ") -> (", y, ") {\n  %y: ", y,
                      " = fusion(%x, %w) {kind = contraction}\n    graph @g(%a: ", x, ", %b: ", w,
                      ") -> (", y, ") {\n      %d: ", y,
                      " = dot_general(%a, %b) {lhs_batch = [], lhs_contracting = [1], rhs_batch = "
                      "[], rhs_contracting = [0]}\n      return %d\n    }\n  return %y\n}\n");
}

// Beyond those of a product of few rows, which packs its panels, too.
int PrefetchesOfProduct(int m, int k, int n) {
  return Prefetches(Product(m, k, n)) - Prefetches(Product(60, k, n));
}

// The turn of a recurrent layer: 32 rows of `steps` that a list has.
std::string Turn(int steps) {
  const std::string list = absl::StrCat("f32[", steps, ",32,256]");
  return absl::StrCat("graph @f(%l: ", list,
                      R"(, %i: s32[], %h: f32[32,64], %w: f32[64,256]) -> (f32[32,256]) {
  %y: f32[32,256] = fusion(%l, %i, %h, %w) {kind = contraction}
    graph @g(%a: )",
                      list, R"(, %b: s32[], %c: f32[32,64], %d: f32[64,256]) -> (f32[32,256]) {
      %0: s32[] = constant() {value = s32[]{0}}
      %1: f32[1,32,256] = dynamic_slice(%a, %b, %0, %0) {sizes = (1, 32, 256)}
      %2: f32[32,256] = reshape(%1) {shape = (32, 256)}
      %3: f32[32,256] = dot_general(%c, %d) {lhs_batch = [], lhs_contracting = [1], rhs_batch = [], rhs_contracting = [0]}
      %4: f32[32,256] = add(%2, %3)
      return %4
    }
  return %y
}
)");
}

TEST(TilePrefetch, RowsAndResultsThatL2DoesNotHold) {
  EXPECT_EQ(PrefetchesOfProduct(256, 128, 256), 0);  // 128 and 256 KB
  // Tiles of 12 rows and two vectors.  Four of 128 steps together ask for 3 of the 96 lines of the
  // next tile's rows, and for the two of a row of this one's results: in the loop of the tile that
  // packs, in that of the others, and in that of the last rows.
  EXPECT_EQ(PrefetchesOfProduct(6400, 128, 256), 3 * (3 + 2));
  EXPECT_GT(PrefetchesOfProduct(6400, 128, 16), 0);   // the rows alone
  EXPECT_GT(PrefetchesOfProduct(512, 128, 1024), 0);  // the results alone
}

TEST(TilePrefetch, NothingWhereKIsTooShortOrTilesAreTooLarge) {
  EXPECT_GT(PrefetchesOfProduct(100, 16, 1600), 0);
  EXPECT_EQ(PrefetchesOfProduct(100, 8, 1600), 0);
  // 12 rows of 2 KB take three quarters of L1, of 4 KB more than all of it.
  EXPECT_GT(PrefetchesOfProduct(512, 512, 32), 0);
  EXPECT_EQ(PrefetchesOfProduct(256, 1024, 32), 0);
}

TEST(TilePrefetch, PartsOfAListThatCachesDoNotHold) {
  EXPECT_EQ(Prefetches(Turn(2)), 0);
  // The two lines of a row beside some of the steps, in tiles of 11 rows and of the 10 that are
  // left.
  EXPECT_EQ(Prefetches(Turn(200)), 2 * 2);
}

}  // namespace
}  // namespace tektite::cpu
