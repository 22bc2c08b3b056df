// The helpers that the families' shape inference functions share; private to jit/ops.
//
// A family's function returns result shapes or a status whose message lacks the op's name:
// InferShapes and VerifyNode put it in front.
#ifndef TEKTITE_JIT_OPS_INFER_H_
#define TEKTITE_JIT_OPS_INFER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/base/status.h"
#include "jit/ir/graph.h"
#include "jit/ops/ops.h"

namespace tektite::ops {

using Shapes = std::vector<ir::Shape>;

struct InferContext {
  ir::Op op;
  absl::Span<const ir::Shape> operands;
  const ir::Attributes& attrs;
  absl::Span<const ir::Graph* const> regions;
  // Receives the sizes that were taken to be equal without proof; may be null.
  std::vector<ir::Guard>* assumed = nullptr;

  int num_operands() const { return static_cast<int>(operands.size()); }
  const ir::Shape& operand(int i) const { return operands[i]; }

  // The one size that `a` and `b` both are; an error that says `what` if they provably differ.
  absl::StatusOr<ir::Dim> Same(const ir::Dim& a, const ir::Dim& b, const std::string& what) const;
  // The same for whole shapes; element types must be equal.
  absl::StatusOr<ir::Shape> SameShape(const ir::Shape& a, const ir::Shape& b,
                                      const std::string& what) const;
  // All operands have one shape.
  absl::StatusOr<ir::Shape> SameOperands() const;

  // Attributes with their type checked.
  absl::Status Require(ir::Attr attr) const;
  absl::StatusOr<std::vector<int64_t>> Ints(ir::Attr attr) const;
  // With one value per dimension, or `otherwise` for each when the attribute is absent or empty.
  absl::StatusOr<std::vector<int64_t>> IntsPerDim(ir::Attr attr, int rank, int64_t otherwise,
                                                  int64_t at_least = INT64_MIN) const;
  // Distinct dimension numbers below `rank`.
  absl::StatusOr<std::vector<int64_t>> DimNumbers(ir::Attr attr, int rank) const;
  absl::StatusOr<int64_t> DimNumber(ir::Attr attr, int rank) const;
  absl::StatusOr<ir::Dims> GetDims(ir::Attr attr) const;
  // Dims whose constants are not negative.
  absl::StatusOr<ir::Dims> GetSizes(ir::Attr attr) const;
  absl::StatusOr<ir::DType> GetDType(ir::Attr attr) const;
  // A reducer's name that fits the element type.
  absl::Status CheckReducer(ir::DType dtype) const;
  // A scalar of an integer type.
  absl::Status CheckIndex(int operand) const;
  absl::Status CheckRegions(int count) const;
  // Region `region` takes values of these shapes.
  absl::Status CheckRegionParameters(int region, absl::Span<const ir::Shape> shapes) const;
  // ... and returns values of these.
  absl::Status CheckRegionOutputs(int region, absl::Span<const ir::Shape> shapes) const;
};

bool IsNumber(ir::DType dtype);  // anything but bool
Shapes One(ir::Shape shape);

// Size after `dilation - 1` holes between neighbours: 0 stays 0.
ir::Dim Dilated(const ir::Dim& size, int64_t dilation);
// Number of windows of `window` (dilated) that fit a padded size; an error when it would be
// negative.
absl::StatusOr<ir::Dim> WindowCount(const ir::Dim& size, const ir::Dim& window, int64_t stride,
                                    int64_t low, int64_t high, int64_t lhs_dilation,
                                    int64_t window_dilation, int dimension);

absl::StatusOr<Shapes> InferUnary(const InferContext& c);
absl::StatusOr<Shapes> InferBinary(const InferContext& c);
absl::StatusOr<Shapes> InferTernary(const InferContext& c);
absl::StatusOr<Shapes> InferConvert(const InferContext& c);
absl::StatusOr<Shapes> InferMovement(const InferContext& c);
absl::StatusOr<Shapes> InferIndexed(const InferContext& c);
absl::StatusOr<Shapes> InferReduction(const InferContext& c);
absl::StatusOr<Shapes> InferContraction(const InferContext& c);
absl::StatusOr<Shapes> InferOrder(const InferContext& c);
absl::StatusOr<Shapes> InferSelection(const InferContext& c);
absl::StatusOr<Shapes> InferSpectrum(const InferContext& c);
absl::StatusOr<Shapes> InferMatrix(const InferContext& c);
absl::StatusOr<Shapes> InferStructure(const InferContext& c);

// The most elements that a static shape's sizes may multiply to, zeros left out, so that offsets,
// strides and costs made of them fit 64 bits.
inline constexpr int64_t kMostElements = int64_t{1} << 56;
// ResourceExhausted for a shape that has more.
absl::Status CheckCountable(const ir::Shape& shape);

// Operand count and family in one; the message lacks the op's name.
absl::StatusOr<Shapes> Infer(const InferContext& c);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_INFER_H_
