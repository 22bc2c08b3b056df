// A graph of one attention fusion, as tests of its kernels write it.
#ifndef TEKTITE_TESTS_GPU_ATTENTION_GRAPH_H_
#define TEKTITE_TESTS_GPU_ATTENTION_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"

namespace tektite::testing {

enum class GraphMask { kNone, kOfKeys, kOfPairs, kCausal };

struct AttentionGraph {
  int64_t batch = 1, heads = 1, rows = 1, keys = 1, width = 64, columns = 64;
  std::string dtype = "bf16";
  GraphMask mask = GraphMask::kNone;
  int64_t offset = 0;  // a causal mask shows a row the keys up to row + offset
};

// softmax(scores + mask) x values of [batch, length, heads, width]; the mask is an operand of any
// attention.
inline std::unique_ptr<ir::Graph> MakeAttention(const AttentionGraph& g) {
  const std::string head = absl::StrCat("(%q: Q, %k: K, %v: V, %m: M) -> (O)");
  std::string text = absl::StrCat("graph @f", head, R"( {
  %99: O = fusion(%q, %k, %v, %m) {kind = attention}
    graph @fused)",
                                  head, R"( {
      %0: S = dot_general(%q, %k) {lhs_batch = [0, 2], lhs_contracting = [3], rhs_batch = [0, 2], rhs_contracting = [3]}
)");
  switch (g.mask) {
    case GraphMask::kNone:
      absl::StrAppend(&text, "      %5: S = neg(%0)\n");
      break;
    case GraphMask::kOfKeys:
      absl::StrAppend(&text,
                      "      %1: S = broadcast_in_dim(%m) {dimensions = [0, 3], shape = (SIZES)}\n",
                      "      %5: S = add(%0, %1)\n");
      break;
    case GraphMask::kOfPairs:
      absl::StrAppend(&text,
                      "      %1: S = broadcast_in_dim(%m) {dimensions = [2, 3], shape = (SIZES)}\n",
                      "      %5: S = add(%0, %1)\n");
      break;
    case GraphMask::kCausal:
      absl::StrAppend(&text, R"(      %1: I = iota() {dimension = 2, dtype = s32, shape = (SIZES)}
      %2: I = iota() {dimension = 3, dtype = s32, shape = (SIZES)}
      %20: s32[] = constant() {value = s32[]{OFFSET}}
      %21: I = broadcast_in_dim(%20) {dimensions = [], shape = (SIZES)}
      %22: I = add(%1, %21)
      %3: B = compare(%22, %2) {direction = "ge"}
      %4: DT[] = constant() {value = DT[]{-30000}}
      %6: S = broadcast_in_dim(%4) {dimensions = [], shape = (SIZES)}
      %5: S = select(%3, %0, %6)
)");
  }
  absl::StrAppend(&text, R"(      %8: F = convert(%5) {dtype = f32}
      %9: L = reduce(%8) {dimensions = [3], reducer = "max"}
      %10: F = broadcast_in_dim(%9) {dimensions = [0, 1, 2], shape = (SIZES)}
      %11: F = sub(%8, %10)
      %12: F = exp(%11)
      %13: L = reduce(%12) {dimensions = [3], reducer = "add"}
      %14: F = broadcast_in_dim(%13) {dimensions = [0, 1, 2], shape = (SIZES)}
      %15: F = div(%12, %14)
      %16: S = convert(%15) {dtype = DT}
      %17: R = dot_general(%16, %v) {lhs_batch = [0, 1], lhs_contracting = [3], rhs_batch = [0, 2], rhs_contracting = [1]}
      %18: O = transpose(%17) {permutation = [0, 2, 1, 3]}
      return %18
    }
  return %99
}
)");
  const std::string sizes = absl::StrCat(g.batch, ", ", g.heads, ", ", g.rows, ", ", g.keys);
  const auto of = [&](int64_t length, int64_t width) {
    return absl::StrCat(g.dtype, "[", g.batch, ",", length, ",", g.heads, ",", width, "]");
  };
  const std::string space = absl::StrReplaceAll(sizes, {{" ", ""}});
  const int64_t mask_rows = g.mask == GraphMask::kOfKeys ? g.batch : g.rows;
  const std::string rows = absl::StrCat(g.batch, ",", g.heads, ",", g.rows);
  // Letters of shapes stand alone.
  text = absl::StrReplaceAll(
      text, {{": Q", ": " + of(g.rows, g.width)},
             {": K", ": " + of(g.keys, g.width)},
             {": V", ": " + of(g.keys, g.columns)},
             {": M", absl::StrCat(": ", g.dtype, "[", mask_rows, ",", g.keys, "]")},
             {"(O)", "(" + of(g.rows, g.columns) + ")"},
             {": O", ": " + of(g.rows, g.columns)},
             {": R", absl::StrCat(": ", g.dtype, "[", rows, ",", g.columns, "]")},
             {": S", absl::StrCat(": ", g.dtype, "[", space, "]")},
             {": I", absl::StrCat(": s32[", space, "]")},
             {": B", absl::StrCat(": bool[", space, "]")},
             {": F", absl::StrCat(": f32[", space, "]")},
             {": L", absl::StrCat(": f32[", rows, "]")},
             {"OFFSET", absl::StrCat(g.offset)},
             {"SIZES", sizes},
             {"DT", g.dtype}});
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  return *std::move(graph);
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_ATTENTION_GRAPH_H_
