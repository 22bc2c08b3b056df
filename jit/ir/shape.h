// The type of one tensor value: element type and dimensions, row-major.
// Example:
//   Shape s(DType::kF32, {Dim::Symbol("n"), 768});  // prints "f32[n,768]"
#ifndef TEKTITE_JIT_IR_SHAPE_H_
#define TEKTITE_JIT_IR_SHAPE_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "jit/base/saturating.h"
#include "jit/ir/dim.h"
#include "jit/ir/dtype.h"

namespace tektite::ir {

class Shape {
 public:
  Shape() = default;
  Shape(DType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) {}
  Shape(DType dtype, absl::Span<const int64_t> dims)
      : dtype_(dtype), dims_(dims.begin(), dims.end()) {}
  Shape(DType dtype, std::initializer_list<Dim> dims) : dtype_(dtype), dims_(dims) {}

  DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  // A scalar has no dimensions, yet what builds on a step that failed asks its shape for one (see
  // Value::shape): the answer is 1, and the builder's error is what counts.
  const Dim& dim(int i) const { return dims_.empty() ? DimOfScalar() : dims_[i]; }
  const Dims& dims() const { return dims_; }
  void set_dim(int i, Dim d) {
    if (!dims_.empty()) dims_[i] = std::move(d);
  }

  bool is_static() const;
  // The three below are for static shapes; what does not fit 64 bits saturates.
  std::vector<int64_t> sizes() const;
  int64_t num_elements() const;
  int64_t num_bytes() const { return SaturatingMul(num_elements(), DTypeBytes(dtype_)); }

  Dim NumElements() const;  // symbolic product
  Shape WithDType(DType dtype) const { return Shape(dtype, dims_); }
  Shape Substitute(const SymbolMap& symbols) const;

  std::string ToString() const;  // "f32[n,768]"

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.dtype_ == b.dtype_ && a.dims_ == b.dims_;
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  static const Dim& DimOfScalar();

  DType dtype_ = DType::kF32;
  Dims dims_;
};

// Elements between neighbours in each dimension of a row-major array.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes);
Dims RowMajorStrides(const Dims& sizes);
int64_t Product(absl::Span<const int64_t> sizes);
Dim Product(const Dims& sizes);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_SHAPE_H_
