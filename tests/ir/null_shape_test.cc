#include "jit/ir/shape.h"

#include <gtest/gtest.h>

#include "jit/ir/graph.h"

namespace tektite::ir {
namespace {

// A step after one that failed asks for dimensions of what is not there.
TEST(Shape, OfANullValueAnswersOneForAnyDimension) {
  const Value none;
  for (const int i : {-1, 0, 1, 7}) EXPECT_EQ(none.shape().dim(i), Dim(1)) << i;
  EXPECT_EQ(none.shape().rank(), 0);
  EXPECT_EQ(none.shape().ToString(), "f32[]");
}

TEST(Shape, OfAScalarHasNoDimensionToSet) {
  Shape shape;
  shape.set_dim(0, Dim(5));
  shape.set_dim(3, Dim(5));
  EXPECT_EQ(shape, Shape());
  shape = Shape(DType::kF32, {2, 3});
  shape.set_dim(1, Dim(5));
  EXPECT_EQ(shape.ToString(), "f32[2,5]");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape(DType::kF64, {2, 3}).num_bytes(), 48);
  EXPECT_EQ(Shape(DType::kS8, {}).num_elements(), 1);
  EXPECT_EQ(Shape(DType::kF64, {1 << 30, 1 << 30, 1 << 30}).num_bytes(), INT64_MAX);
  EXPECT_EQ(Shape(DType::kF32, {Dim::Symbol("n"), 3}).NumElements().ToString(), "3*n");
}

}  // namespace
}  // namespace tektite::ir
