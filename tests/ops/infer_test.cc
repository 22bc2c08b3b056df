// Shape inference: each op's good cases (symbolic too) and what it refuses, with the message.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"
#include "tests/ir/every_op.h"
#include "tests/ops/run_op.h"

namespace tektite::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* op;
  std::vector<std::string> operands;
  const char* attrs;
  const char* expected;  // types, or a part of the message
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string actual = InferTypes(c.op, c.operands, c.attrs);
    EXPECT_THAT(actual, HasSubstr(c.expected)) << c.op << " {" << c.attrs << "}";
    // A refusal names the op.
    if (actual.find(' ') != std::string::npos && actual.find("[") == std::string::npos) {
      EXPECT_THAT(actual, HasSubstr(c.op));
    }
  }
}

TEST(Infer, EveryOpsGraphVerifies) {
  auto graphs = ir::ParseAll(EveryOpText());
  ASSERT_TRUE(graphs.ok()) << graphs.status();
  for (const auto& graph : *graphs) {
    EXPECT_TRUE(ops::VerifyGraph(*graph).ok()) << ops::VerifyGraph(*graph) << ir::Print(*graph);
    // The right number of operands is part of every op's meaning.
    for (const auto& node : graph->nodes()) {
      const ir::OpInfo& info = ir::GetOpInfo(node->op());
      if (info.most_operands < 0 || node->op() == ir::Op::kParameter) continue;
      std::vector<ir::Shape> shapes(info.most_operands + 1,
                                    ir::Shape(ir::DType::kF32, {ir::Dim(2)}));
      auto result = ops::InferShapes(node->op(), shapes, node->attrs(), {});
      EXPECT_THAT(std::string(result.status().message()), HasSubstr("operands, has"));
    }
  }
}

// Substitution first and inference afterwards: the same as the other way round.
TEST(Infer, EveryOpsGraphEvaluatesAtSeveralSizes) {
  auto graphs = ir::ParseAll(EveryOpText());
  ASSERT_TRUE(graphs.ok());
  for (const auto& graph : *graphs) {
    for (int64_t size : {4, 2, 1, 0}) {
      // A dynamic update cannot be larger than what it goes into.
      if (size == 0 && graph->name().substr(0, 7) == "dynamic") continue;
      if (size == 1 && graph->name() == "dynamic_slice") continue;
      std::vector<ir::Literal> args;
      ir::SymbolMap symbols;
      for (const char* name : {"n", "m", "b", "d"}) symbols[name] = ir::Dim(size);
      for (const ir::Node* p : graph->parameters()) {
        ir::Literal arg =
            ir::Literal::Allocate(p->shape().dtype(), p->shape().Substitute(symbols).sizes());
        memset(arg.mutable_data<char>(), 1, arg.num_bytes());
        args.push_back(arg);
      }
      auto results = reference::Evaluate(*graph, args);
      ASSERT_TRUE(results.ok()) << results.status() << " at " << size << "\n" << ir::Print(*graph);
      for (size_t i = 0; i < results->size(); ++i) {
        EXPECT_EQ((*results)[i].shape(), graph->outputs()[i].shape().Substitute(symbols));
      }
    }
  }
}

TEST(Infer, Elementwise) {
  Check({{"exp", {"f32[n,3]"}, "", "f32[n,3]"},
         {"exp", {"s32[3]"}, "", "exp: not defined for s32[3]"},
         {"not", {"f32[]"}, "", "not: not defined for f32[]"},
         {"popcnt", {"bool[]"}, "", "popcnt: not defined for bool[]"},
         {"neg", {"bool[]"}, "", "neg: not defined for bool[]"},
         {"add", {"f32[n,3]", "f32[4,m]"}, "", "f32[4,3]"},
         {"add", {"f32[3]", "f32[4]"}, "", "add: operands differ: f32[3] and f32[4]"},
         {"add", {"f32[n]", "f32[n + 1]"}, "", "add: operands differ: f32[n] and f32[n + 1]"},
         {"add", {"f32[3]", "f16[3]"}, "", "add: operands differ: f32[3] and f16[3]"},
         {"add", {"bool[3]", "bool[3]"}, "", "add: not defined for bool[3]"},
         {"and", {"f32[3]", "f32[3]"}, "", "and: not defined for f32[3]"},
         {"shift_left", {"f32[3]", "f32[3]"}, "", "shift_left: not defined for f32[3]"},
         {"compare", {"bool[3]", "bool[3]"}, "direction = \"eq\"", "bool[3]"},
         {"compare", {"f32[3]", "f32[3]"}, "direction = \"<\"", "direction must be eq"},
         {"clamp", {"f32[]", "f32[3]", "f32[]"}, "", "clamp: operands differ"},
         {"select", {"bool[n]", "f32[3]", "f32[3]"}, "", "f32[3]"},
         {"select", {"f32[3]", "f32[3]", "f32[3]"}, "", "select: the condition must be bool"},
         {"select", {"bool[2]", "f32[3]", "f32[3]"}, "", "condition and branches differ"},
         {"select", {"bool[3]", "f32[3]", "f32[4]"}, "", "branches differ: f32[3] and f32[4]"}});
}

TEST(Infer, Convert) {
  Check({{"convert", {"f32[n]"}, "dtype = s8", "s8[n]"},
         {"convert", {"f32[n]"}, "", "convert: needs attribute 'dtype'"},
         {"convert", {"f32[n]"}, "dtype = 3", "'dtype' must be an element type"},
         {"bitcast", {"f32[n]"}, "dtype = s32", "s32[n]"},
         {"bitcast", {"f32[n]"}, "dtype = f64", "bitcast: f32[n] cannot become f64"},
         {"bitcast", {"u8[n]"}, "dtype = bool", "bitcast: u8[n] cannot become bool"}});
}

TEST(Infer, Movement) {
  Check({{"broadcast_in_dim", {"f32[n]"}, "dimensions = [1], shape = (2, n)", "f32[2,n]"},
         {"broadcast_in_dim",
          {"f32[3]"},
          "dimensions = [1], shape = (2, 4)",
          "operand dimension 0 and result dimension 1 differ: 3 and 4"},
         {"broadcast_in_dim",
          {"f32[3,2]"},
          "dimensions = [1, 0], shape = (2, 3)",
          "'dimensions' must increase, got [1,0]"},
         {"broadcast_in_dim",
          {"f32[3]"},
          "dimensions = [2], shape = (2, 3)",
          "must name distinct dimensions below 2"},
         {"broadcast_in_dim", {"f32[3]"}, "dimensions = [], shape = (3)", "has 0 values"},
         {"broadcast_in_dim", {"f32[]"}, "dimensions = [], shape = (-1)", "must not be negative"},
         {"concatenate", {"f32[n,2]", "f32[m,2]"}, "dimension = 0", "f32[m + n,2]"},
         {"concatenate", {"f32[2]", "f32[2]"}, "dimension = 1", "must be a dimension below 1"},
         {"concatenate",
          {"f32[2,3]", "f32[2,4]"},
          "dimension = 0",
          "concatenate: operands 0 and 1 differ outside dimension 0"},
         {"constant", {}, "", "constant: needs attribute 'value'"},
         {"dynamic_slice", {"f32[n]", "s32[]"}, "sizes = (2)", "f32[2]"},
         {"dynamic_slice", {"f32[n]"}, "sizes = (2)", "needs 1 starts, has 0"},
         {"dynamic_slice", {"f32[n]", "f32[]"}, "sizes = (2)", "must be an integer scalar"},
         {"dynamic_slice", {"f32[n]", "s32[]"}, "sizes = (n + 1)", "size n + 1 of dimension 0"},
         {"dynamic_update_slice", {"f32[3]", "f32[4]", "s32[]"}, "", "does not fit f32[3]"},
         {"iota", {}, "dimension = 0, dtype = s32, shape = (n)", "s32[n]"},
         {"iota", {}, "dimension = 0, dtype = s32, shape = ()", "must be a dimension below 0"},
         {"pad",
          {"f32[n]", "f32[]"},
          "low = [1], high = [-2], interior = [1]",
          "f32[max(0, 2*n - 1) - 1]"},
         {"pad", {"f32[2]", "f32[]"}, "low = [-3], high = [0]", "would become -1"},
         {"pad", {"f32[2]", "s32[]"}, "low = [1], high = [0]", "padding value must be a scalar"},
         {"pad", {"f32[2]", "f32[]"}, "low = [1, 2], high = [0]", "has 2 values for 1 dim"},
         {"pad", {"f32[2]", "f32[]"}, "low = [1], interior = [-1]", "must be at least 0"},
         {"reshape", {"f32[n,6]"}, "shape = (2*n, 3)", "f32[2*n,3]"},
         {"reshape", {"f32[4]"}, "shape = (3)", "differ in their number of elements: 4 and 3"},
         {"reshape", {"f32[4]"}, "shape = [4]", "'shape' must be dimensions"},
         {"reverse", {"f32[4]"}, "dimensions = [0, 0]", "must name distinct dimensions"},
         {"slice", {"f32[n]"}, "starts = (1), limits = (n), strides = [2]", "f32[(n floordiv 2)]"},
         {"slice", {"f32[4]"}, "starts = (3), limits = (2)", "[3, 2) is no part of dimension 0"},
         {"slice", {"f32[4]"}, "starts = (0), limits = (5)", "[0, 5) is no part of dimension 0"},
         {"slice", {"f32[n]"}, "starts = (-1), limits = (n)", "[-1, n) is no part"},
         {"slice", {"f32[4]"}, "starts = (0), limits = (4), strides = [0]", "must be at least 1"},
         {"transpose", {"f32[n,2]"}, "permutation = [1, 0]", "f32[2,n]"},
         {"transpose", {"f32[n,2]"}, "permutation = [0]", "has 1 values for f32[n,2]"},
         {"transpose", {"f32[n,2]"}, "permutation = [0, 0]", "must name distinct dimensions"}});
}

TEST(Infer, Indexed) {
  Check({{"gather",
          {"f32[9,d]", "s32[n,1]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "slice_sizes = (1, d), start_index_map = [0]",
          "f32[n,d]"},
         {"gather", {"f32[9,d]", "f32[n,1]"}, "start_index_map = [0]", "indices must be integers"},
         {"gather",
          {"f32[9,4]", "s32[n,2]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "slice_sizes = (1, 4), start_index_map = [0]",
          "index vectors and 'start_index_map' differ in length: 2 and 1"},
         {"gather",
          {"f32[9,4]", "s32[n,1]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "slice_sizes = (2, 4), start_index_map = [0]",
          "collapsed dimension 0 has slice size 2"},
         {"gather",
          {"f32[9,4]", "s32[n,1]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "slice_sizes = (1, 5), start_index_map = [0]",
          "slice size 5 of dimension 1 exceeds f32[9,4]"},
         {"scatter",
          {"f32[9,d]", "s32[n,1]", "f32[n,d]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "scatter_dims_to_operand_dims = [0], reducer = \"max\"",
          "f32[9,d]"},
         {"scatter",
          {"f32[9,d]", "s32[n,1]", "f32[n,d]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "scatter_dims_to_operand_dims = [0], reducer = \"avg\"",
          "unknown reducer 'avg'"},
         {"scatter",
          {"f32[9,4]", "s32[3,1]", "f32[2,4]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "scatter_dims_to_operand_dims = [0], reducer = \"add\"",
          "updates' dimension 0 and the indices differ: 2 and 3"},
         {"scatter",
          {"f32[9,4]", "s32[3,1]", "s32[3,4]"},
          "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
          "scatter_dims_to_operand_dims = [0], reducer = \"add\"",
          "updates s32[3,4] for f32[9,4]"}});
}

TEST(Infer, UpdateRows) {
  const std::string add =
      "graph @f(%x: f32[], %u: f32[]) -> (f32[]) { %2: f32[] = add(%x, %u) return %2 }";
  const auto types = [&](const std::vector<std::string>& operands) {
    return InferTypes("update_rows", operands, "", add);
  };
  EXPECT_EQ(types({"f32[9,d]", "s32[n]", "f32[n,d]"}), "f32[9,d]");
  EXPECT_EQ(types({"f32[r]", "s64[n]", "f32[]"}), "f32[r]");
  EXPECT_THAT(types({"f32[9,4]", "s32[3]", "f32[2,4]"}), HasSubstr("operand 2 has other rows"));
  EXPECT_THAT(types({"f32[9,4]", "s32[3]", "s32[3,4]"}), HasSubstr("region 0, parameter 1"));
  EXPECT_THAT(types({"f32[9,4]", "s32[3,1]", "f32[3,4]"}), HasSubstr("a list of integers"));
  EXPECT_THAT(types({"f32[9,4]", "f32[3]", "f32[3,4]"}), HasSubstr("a list of integers"));
  EXPECT_THAT(types({"f32[9,4,2]", "s32[3]", "f32[3,4,2]"}), HasSubstr("rows of f32[9,4,2]"));
  EXPECT_THAT(types({"f32[9,4]", "s32[3]"}), HasSubstr("region 0 takes 2 values, gets 1"));
  EXPECT_THAT(InferTypes("update_rows", {"f32[9]", "s32[3]"}, "", ""),
              HasSubstr("needs 1 regions, has 0"));
}

TEST(Infer, Reduction) {
  Check({{"reduce", {"f32[n,m,3]"}, "dimensions = [0, 2], reducer = \"add\"", "f32[m]"},
         {"reduce", {"f32[n]"}, "dimensions = [0]", "takes as many initial values as operands"},
         {"reduce", {"f32[n]"}, "dimensions = [1], reducer = \"add\"", "dimensions below 1"},
         {"reduce", {"f32[n]"}, "dimensions = [0], reducer = \"or\"", "not defined for f32"},
         {"reduce", {"bool[n]"}, "dimensions = [0], reducer = \"add\"", "not defined for bool"},
         {"reduce_window",
          {"f32[b,n]"},
          "window = [1, 3], strides = [1, 2], reducer = \"max\"",
          "f32[b,((n + 1) floordiv 2) - 1]"},
         {"reduce_window",
          {"f32[3]"},
          "window = [5], reducer = \"max\"",
          "dimension 0: a window of 5 does not fit the padded size 3"},
         {"reduce_window", {"f32[3]"}, "window = [0], reducer = \"max\"", "must be at least 1"},
         {"select_and_scatter",
          {"f32[4]", "f32[3]"},
          "window = [2], strides = [2]",
          "windows and source differ: f32[2] and f32[3]"},
         {"cumulative", {"f32[4]"}, "dimension = 0, reducer = \"add\"", "f32[4]"},
         {"cumulative", {"f32[4]"}, "dimension = 0", "unknown reducer ''"}});
  EXPECT_THAT(InferTypes("reduce", {"f32[n]", "f32[]"}, "dimensions = [0]",
                         "graph @f(%a: f32[]) -> (f32[]) { return %a }"),
              HasSubstr("region 0 takes 1 values, gets 2"));
  EXPECT_THAT(InferTypes("reduce", {"f32[n]", "f32[]"}, "dimensions = [0]",
                         "graph @f(%a: f32[], %b: s32[]) -> (f32[]) { return %a }"),
              HasSubstr("region 0, parameter 1: f32[] and s32[]"));
}

TEST(Infer, Contraction) {
  Check({{"dot_general",
          {"f32[b,n,4]", "f32[b,4,m]"},
          "lhs_batch = [0], rhs_batch = [0], lhs_contracting = [2], rhs_contracting = [1]",
          "f32[b,n,m]"},
         {"dot_general", {"f32[n]", "f32[m]"}, "", "f32[n,m]"},
         {"dot_general",
          {"f32[3,4]", "f32[5,6]"},
          "lhs_contracting = [1], rhs_contracting = [0]",
          "dot_general: contracting sizes differ, lhs[1] = 4 and rhs[0] = 5"},
         {"dot_general",
          {"f32[3,4]", "f32[4]"},
          "lhs_contracting = [1]",
          "contracting dimensions differ in number: 1 and 0"},
         {"dot_general",
          {"f32[3]", "f32[3]"},
          "lhs_contracting = [0], rhs_contracting = [0], lhs_batch = [0], rhs_batch = [0]",
          "both batch and contracting"},
         {"dot_general", {"bf16[3]", "bf16[4]"}, "dtype = f32", "f32[3,4]"},
         {"dot_general", {"s8[3]", "s8[4]"}, "dtype = s32", "s32[3,4]"},
         {"dot_general", {"f32[3]", "s8[4]"}, "dtype = f32", "f32[3,4]"},
         {"dot_general", {"f32[3]", "s8[4]"}, "", "not defined"},
         {"dot_general", {"f32[3]", "s8[4]"}, "dtype = s32", "are not summed in"},
         {"dot_general", {"s8[3]", "f32[4]"}, "dtype = f32", "not defined"},
         {"dot_general",
          {"s8[3]", "s8[4]"},
          "dtype = f32",
          "dot_general: products of s8 are not summed in f32"},
         {"dot_general", {"f32[3]", "f16[3]"}, "", "not defined for f32[3] and f16[3]"},
         {"convolution",
          {"f32[b,h,w,4]", "f32[3,3,4,8]"},
          "input_layout = \"b01f\", kernel_layout = \"01io\", output_layout = \"b01f\", "
          "strides = [2, 1], low = [1, 1], high = [1, 1]",
          "f32[b,((h + 1) floordiv 2),w,8]"},
         {"convolution",
          {"f32[1,8,8,4]", "f32[3,3,5,8]"},
          "input_layout = \"b01f\", kernel_layout = \"01io\", output_layout = \"b01f\"",
          "input features of f32[1,8,8,4] are not feature_group_count times"},
         {"convolution",
          {"f32[1,8,8,4]", "f32[3,3,4,8]"},
          "input_layout = \"b01b\", kernel_layout = \"01io\", output_layout = \"b01f\"",
          "'input_layout' must be made of 'b', 'f' and 2 digits, got 'b01b'"},
         {"convolution",
          {"f32[1,8,8,4]", "f32[3,3,4,8]"},
          "input_layout = \"b01f\", kernel_layout = \"01io\", output_layout = \"b01f\", "
          "strides = [0, 1]",
          "convolution: 'strides' must be at least 1"},
         {"convolution",
          {"f32[1,8,8,4]", "f32[3,3,2,3]"},
          "input_layout = \"b01f\", kernel_layout = \"01io\", output_layout = \"b01f\", "
          "feature_group_count = 2",
          "output features 3 do not divide by 2 groups"},
         {"convolution",
          {"f32[1,2,2,4]", "f32[3,9,4,3]"},
          "input_layout = \"b01f\", kernel_layout = \"01io\", output_layout = \"b01f\"",
          "a window of 9 does not fit the padded size 2"}});
}

TEST(Infer, OrderAndRandom) {
  Check({{"sort", {"f32[n,2]", "s32[n,2]"}, "dimension = 0", "f32[n,2] s32[n,2]"},
         {"sort", {"f32[3]", "s32[4]"}, "dimension = 0", "operands differ in their sizes"},
         {"top_k", {"f32[n,9]"}, "k = 3", "f32[n,3] s32[n,3]"},
         {"top_k", {"f32[n,2]"}, "k = 3", "k must be 0 to 2, got 3"},
         {"top_k", {"f32[]"}, "k = 0", "not defined for f32[]"},
         {"compact", {"bool[n]", "f32[n,4]"}, "", "f32[n,4] s64[]"},
         {"compact", {"bool[3]", "f32[4]"}, "", "mask and rows differ"},
         {"compact", {"s8[3]", "f32[3]"}, "", "the mask must be bool"},
         {"compact", {"bool[]", "f32[]"}, "", "not defined for bool[] and f32[]"},
         {"nonzero", {"bool[n,m]"}, "", "s64[m*n,2] s64[]"},
         {"nonzero", {"bool[]"}, "", "s64[1,0] s64[]"},
         {"unique", {"f32[n]"}, "dtype = s64", "f32[n] s64[n] s64[n] s64[]"},
         {"unique", {"f32[n,2]"}, "dtype = s32", "f32[n,2] s32[n] s32[n] s64[]"},
         {"unique", {"f32[]"}, "dtype = s64", "not defined for f32[]"},
         {"is_member", {"s8[n]", "s8[m]"}, "", "bool[n]"},
         {"is_member", {"s8[n]", "s16[m]"}, "", "not defined for s8[n] and s16[m]"},
         {"non_max_suppression",
          {"f32[n,4]", "f32[n]", "s32[]", "f32[]", "f32[]", "f32[]"},
          "shape = (9)",
          "s32[9] f32[9] s64[]"},
         {"non_max_suppression",
          {"f32[n,5]", "f32[n]", "s32[]", "f32[]", "f32[]", "f32[]"},
          "shape = (n)",
          "a box has four numbers"},
         {"unique", {"f32[n]"}, "dtype = f32", "with numbers of type f32"}});
}

TEST(Infer, Spectrum) {
  Check({{"fft", {"f32[n,8]", "f32[n,8]"}, "dimension = 1, inverse = true", "f32[n,8] f32[n,8]"},
         {"fft", {"f32[8]", "f32[9]"}, "dimension = 0", "the parts differ"},
         {"fft", {"f16[8]", "f16[8]"}, "dimension = 0", "not defined for f16[8]"},
         {"fft", {"f32[8]", "f32[8]"}, "dimension = 1", "'dimension' must be"},
         {"real_fft", {"f64[8,n]"}, "dimension = 0", "f64[5,n] f64[5,n]"},
         {"real_fft", {"f32[9]"}, "dimension = 0", "f32[5] f32[5]"},
         {"inverse_real_fft", {"f32[5]", "f32[5]"}, "dimension = 0, shape = (9)", "f32[9]"},
         {"inverse_real_fft",
          {"f32[5]", "f32[5]"},
          "dimension = 0, shape = (7)",
          "there must be n / 2 + 1 numbers"},
         {"inverse_real_fft",
          {"f32[5]", "f32[5]"},
          "dimension = 0, shape = (8, 1)",
          "shape must have one dimension"}});
}

TEST(Infer, Matrix) {
  Check({{"cholesky", {"f32[n,4,4]"}, "", "f32[n,4,4] bool[n]"},
         {"cholesky", {"f32[4,3]"}, "", "the matrix must be square"},
         {"cholesky", {"s32[4,4]"}, "", "not defined for s32[4,4]"},
         {"cholesky", {"f32[4]"}, "", "not defined for f32[4]"},
         {"triangular_solve", {"f64[4,4]", "f64[4,k]"}, "lower = true", "f64[4,k] bool[]"},
         {"solve", {"f32[2,4,4]", "f32[2,4,1]"}, "", "f32[2,4,1] bool[2]"},
         {"solve", {"f32[2,4,4]", "f32[3,4,1]"}, "", "numbers of matrices differ"},
         {"solve", {"f32[4,4]", "f32[3,1]"}, "", "rows differ"},
         {"solve", {"f32[4,4]", "f64[4,1]"}, "", "not defined for f32[4,4] and f64[4,1]"},
         {"qr", {"f32[7,4]"}, "full = false", "f32[7,4] f32[4,4] bool[]"},
         {"qr", {"f32[4,7]"}, "full = false", "f32[4,4] f32[4,7] bool[]"},
         {"qr", {"f32[7,4]"}, "full = true", "f32[7,7] f32[7,4] bool[]"},
         {"eigh", {"f32[b,4,4]"}, "vectors = true", "f32[b,4] f32[b,4,4] bool[b]"},
         {"eigh", {"f32[4,4]"}, "vectors = false", "f32[4] bool[]"},
         {"svd", {"f32[4,7]"}, "vectors = true", "f32[4] f32[4,4] f32[7,4] bool[]"},
         {"svd", {"f32[4,7]"}, "full = true, vectors = true", "f32[4] f32[4,4] f32[7,7] bool[]"},
         {"svd", {"f32[b,4,7]"}, "", "f32[b,4] bool[b]"},
         {"tridiagonal_solve", {"f32[3,n]", "f32[n,2]"}, "pivots = true", "f32[n,2] bool[]"},
         {"tridiagonal_solve", {"f32[2,9]", "f32[9,2]"}, "", "there must be three diagonals"}});
}

TEST(Infer, Structure) {
  const char identity[] = "graph @f(%x: f32[n]) -> (f32[n]) { return %x }";
  EXPECT_EQ(InferTypes("call", {"f32[n]"}, "", identity), "f32[n]");
  EXPECT_EQ(InferTypes("fusion", {"f32[n]"}, "kind = loop", identity), "f32[n]");
  EXPECT_THAT(InferTypes("fusion", {"f32[n]"}, "", identity), HasSubstr("needs attribute 'kind'"));
  EXPECT_THAT(InferTypes("fusion", {"f32[n]"}, "kind = \"loop\"", identity),
              HasSubstr("'kind' must be a kind of fusions"));
  EXPECT_THAT(InferTypes("call", {"f32[n,2]"}, "", identity),
              HasSubstr("region 0, parameter 0: f32[n,2] and f32[n]"));
  EXPECT_THAT(InferTypes("call", {"f32[n]"}), HasSubstr("needs 1 regions, has 0"));
  EXPECT_EQ(InferTypes("size_value", {}, "sizes = (n, 3)"), "s64[2]");
  EXPECT_THAT(InferTypes("size_value", {}, ""), HasSubstr("needs attribute 'sizes'"));
  EXPECT_THAT(InferTypes("while", {"f32[n]"}, "", std::string(identity) + identity),
              HasSubstr("region 0, output 0: bool[] and f32[n]"));
  EXPECT_THAT(InferTypes("conditional", {"f32[]"}, "", identity),
              HasSubstr("must be bool[] or s32[]"));
  EXPECT_THAT(InferTypes("conditional", {"bool[]", "f32[n]"}, "", identity),
              HasSubstr("needs 2 regions, has 1"));
}

TEST(Verify, NamesWhatIsWrong) {
  auto message = [](const char* text) {
    return std::string(ops::VerifyGraph(*ParseOrDie(text)).message());
  };
  EXPECT_EQ(message("graph @g(%x: f32[2]) -> (f32[3]) { %1: f32[3] = neg(%x) \"a/b\" return %1 }"),
            "neg 'a/b': result 0 is f32[3], should be f32[2]");
  EXPECT_EQ(message("graph @g(%x: f32[2]) -> () { %1:2 : (f32[2], f32[2]) = neg(%x) return }"),
            "neg: has 2 results, should have 1");
  EXPECT_EQ(message("graph @g(%x: f32[-1]) -> () { return }"),
            "parameter 'x': negative size in f32[-1]");
  EXPECT_THAT(message(R"(graph @g(%x: f32[2]) -> () {
      %1: f32[2] = call(%x) graph @f(%0: f32[2]) -> (f32[2]) {
        %1: f32[2] = add(%0)
        return %1
      }
      return })"),
              HasSubstr("in call, region 0: add: takes 2 operands, has 1"));
  // A size known by a guard only is not provably wrong.
  EXPECT_EQ(message("graph @g(%x: f32[n]) -> (f32[m]) { %1: f32[m] = neg(%x) return %1 }"), "");
}

TEST(Verify, FindsOrderThatIsWrong) {
  auto graph = ParseOrDie("graph @g(%x: f32[2]) -> (f32[2]) { %1: f32[2] = neg(%x) return %1 }");
  const ir::Value last = graph->outputs()[0];
  graph->Append(ir::Op::kNeg, {last}, {}, {last.shape()}, /*before=*/last.node);
  EXPECT_THAT(std::string(ops::VerifyGraph(*graph).message()), HasSubstr("not defined before it"));
  graph->SortTopologically();
  EXPECT_TRUE(ops::VerifyGraph(*graph).ok());
}

TEST(Reducers, IdentitiesAreNeutral) {
  EXPECT_EQ(ToText(ops::ReducerIdentity("add", ir::DType::kBF16)), "bf16[]{0}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("mul", ir::DType::kS8)), "s8[]{1}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("max", ir::DType::kF16)), "f16[]{-inf}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("min", ir::DType::kU16)), "u16[]{65535}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("and", ir::DType::kBool)), "bool[]{true}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("and", ir::DType::kS32)), "s32[]{-1}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("and", ir::DType::kU64)), "u64[]{18446744073709551615}");
  EXPECT_EQ(ToText(ops::ReducerIdentity("or", ir::DType::kU8)), "u8[]{0}");
  EXPECT_FALSE(ops::IsReducer("replace"));
}

}  // namespace
}  // namespace tektite::testing
