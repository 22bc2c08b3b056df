#include "jit/ir/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tektite::ir {

const Dim& Shape::DimOfScalar() {
  static const Dim& one = *new Dim(1);
  return one;
}

bool Shape::is_static() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.is_constant(); });
}

std::vector<int64_t> Shape::sizes() const {
  std::vector<int64_t> sizes;
  sizes.reserve(dims_.size());
  for (const Dim& d : dims_) sizes.push_back(d.value());
  return sizes;
}

int64_t Shape::num_elements() const {
  int64_t n = 1;
  for (const Dim& d : dims_) n = SaturatingMul(n, d.value());
  return n;
}

Dim Shape::NumElements() const { return Product(dims_); }

Shape Shape::Substitute(const SymbolMap& symbols) const {
  Shape result = *this;
  for (Dim& d : result.dims_) d = d.Substitute(symbols);
  return result;
}

std::string Shape::ToString() const {
  std::string text = absl::StrCat(DTypeName(dtype_), "[");
  for (const Dim& d : dims_) {
    if (text.back() != '[') text += ',';
    if (d.is_constant()) {
      absl::StrAppend(&text, d.value());
    } else {
      text += d.ToString();
    }
  }
  return text += ']';
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = SaturatingMul(stride, sizes[i]);
  }
  return strides;
}

Dims RowMajorStrides(const Dims& sizes) {
  Dims strides(sizes.size());
  Dim stride(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * sizes[i];
  }
  return strides;
}

Dim Product(const Dims& sizes) {
  Dim n(1);
  for (const Dim& d : sizes) n = n * d;
  return n;
}

int64_t Product(absl::Span<const int64_t> sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n = SaturatingMul(n, s);
  return n;
}

}  // namespace tektite::ir
