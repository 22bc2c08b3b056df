// The meaning of each op of the tensor IR: result shapes and well-formedness, by op family.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::vector<Shape> shapes,
//                            ops::InferShapes(Op::kDotGeneral, {lhs, rhs}, attrs, {}));
//   TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(graph));
//
// Shape inference works on symbolic dimensions: sizes that must agree are accepted when they are
// provably equal or not provably different (then the caller may record a guard).  One file per
// family: unary.cc, binary.cc, movement.cc, ...
#ifndef TEKTITE_JIT_OPS_OPS_H_
#define TEKTITE_JIT_OPS_OPS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ir/graph.h"

namespace tektite::ops {

// Result shapes, or an InvalidArgument that names the op and the fact
// ("dot_general: contracting sizes differ, lhs[1] = 4 and rhs[0] = 5").
absl::StatusOr<std::vector<ir::Shape>> InferShapes(ir::Op op, absl::Span<const ir::Shape> operands,
                                                   const ir::Attributes& attrs,
                                                   absl::Span<const ir::Graph* const> regions = {});

// Operand count, attributes, and that the result shapes are those InferShapes returns (or provably
// compatible ones).
absl::Status VerifyNode(const ir::Node& node);
// Every node, order of definition and use, use lists, outputs, regions.
absl::Status VerifyGraph(const ir::Graph& graph);

// The difference of the sizes is a constant other than 0.
bool ProvablyDifferent(const ir::Dim& a, const ir::Dim& b);

// ---- attribute groups that several rooms read ----

struct DotDims {
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  std::vector<int64_t> lhs_free, rhs_free;  // the rest, in order
};
// Result dimensions of dot_general: batch, lhs_free, rhs_free.
DotDims GetDotDims(const ir::Node& dot);
// The same, the contracting pairs in the order in which the left-hand side stores them: so kernels
// and packed weights run through k.
DotDims GetDotDimsInOrder(const ir::Node& dot);

// Convolution: layouts are strings over 'b' batch, 'f' feature, 'i'/'o' kernel input/output
// feature, and '0','1','2' spatial dimensions, as "b01f", "01io".
struct ConvDims {
  int spatial = 0;
  int input_batch = 0, input_feature = 0;
  int kernel_input = 0, kernel_output = 0;
  int output_batch = 0, output_feature = 0;
  std::vector<int> input_spatial, kernel_spatial, output_spatial;  // dimension numbers
  std::vector<int64_t> strides, low, high, lhs_dilation, rhs_dilation;
  int64_t feature_groups = 1, batch_groups = 1;
};
absl::StatusOr<ConvDims> GetConvDims(int rank, const ir::Attributes& attrs);

// A transposed convolution, one whose input is spread out by lhs_dilation, is done by phases, the
// dilations' product of them, where these are at most so many: each is a kernel of its own.
inline constexpr int64_t kMostPhases = 16;

// reduce_window over every dimension of the operand.
struct WindowDims {
  std::vector<int64_t> window, strides, low, high, lhs_dilation, window_dilation;
};
WindowDims GetWindowDims(int rank, const ir::Attributes& attrs);

// Names of `reducer` attributes: "add", "mul", "max", "min", "and", "or"; scatter also "replace".
bool IsReducer(absl::string_view name);
// The op a reducer name stands for (kAdd, ...).
ir::Op ReducerOp(absl::string_view name);
// Its identity element in `dtype`.
ir::Literal ReducerIdentity(absl::string_view name, ir::DType dtype);

// The first dot_general or convolution of a fusion's region; null if there is none.
ir::Node* FindContraction(const ir::Graph& region);
// The parameter of the region that an operand of its contraction is read from, through what unpacks
// panels; -1 where it is computed.
int ParameterIndex(ir::Value operand);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_OPS_H_
