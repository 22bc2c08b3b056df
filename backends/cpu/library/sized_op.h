// An op whose sizes are all known, as plain numbers: what a library kernel is made of.
//
//   const SizedOp op(words);                     // numbers that LibraryWords makes of the IR's op
//   op.operand_shape(0).sizes()                  // {3, 128}
//
// The words are the op, the values of kAttrs, and of the operands and then of the results their
// number, and of each its type, its rank and its sizes.
// Why: the kernels of a library made ahead of time run where there is no IR.  So this header and
// the kernels need nothing that must be linked but the C++ library.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_SIZED_OP_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_SIZED_OP_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "jit/base/saturating.h"
#include "jit/ir/attributes.h"
#include "jit/ir/dtype.h"
#include "jit/ir/op.h"

namespace tektite::cpu {

// What does not fit 64 bits saturates.
inline int64_t ProductOf(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size == 0) return 0;
    product = SaturatingMul(product, size);
  }
  return product;
}

inline std::vector<int64_t> StridesOf(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = SaturatingMul(strides[d], sizes[d]);
  return strides;
}

class SizedShape {
 public:
  SizedShape(ir::DType dtype, std::vector<int64_t> sizes)
      : dtype_(dtype), sizes_(std::move(sizes)) {}

  ir::DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(sizes_.size()); }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t num_elements() const { return ProductOf(sizes_); }
  int64_t num_bytes() const { return SaturatingMul(num_elements(), ir::DTypeBytes(dtype_)); }

 private:
  ir::DType dtype_;
  std::vector<int64_t> sizes_;
};

class SizedOp {
 public:
  // All that a library kernel asks for; a bool is 0 or 1, a type its number.
  static constexpr std::array<ir::Attr, 11> kAttrs = {
      ir::Attr::dimension, ir::Attr::k,      ir::Attr::descending,  ir::Attr::heap,
      ir::Attr::inverse,   ir::Attr::lower,  ir::Attr::transpose_a, ir::Attr::vectors,
      ir::Attr::full,      ir::Attr::pivots, ir::Attr::dtype};

  explicit SizedOp(const int64_t* words) : op_(static_cast<ir::Op>(*words++)) {
    for (int64_t& value : values_) value = *words++;
    for (std::vector<SizedShape>* shapes : {&operands_, &results_}) {
      for (int64_t count = *words++; count > 0; --count) {
        const auto dtype = static_cast<ir::DType>(*words++);
        const int64_t rank = *words++;
        shapes->emplace_back(dtype, std::vector<int64_t>(words, words + rank));
        words += rank;
      }
    }
  }

  ir::Op op() const { return op_; }
  int64_t Int(ir::Attr attr) const {
    return values_[std::find(kAttrs.begin(), kAttrs.end(), attr) - kAttrs.begin()];
  }
  bool Bool(ir::Attr attr) const { return Int(attr) != 0; }
  int num_operands() const { return static_cast<int>(operands_.size()); }
  int num_results() const { return static_cast<int>(results_.size()); }
  const SizedShape& operand_shape(int i) const { return operands_[i]; }
  const SizedShape& shape(int i = 0) const { return results_[i]; }
  const std::vector<SizedShape>& operand_shapes() const { return operands_; }
  const std::vector<SizedShape>& shapes() const { return results_; }

 private:
  ir::Op op_;
  std::array<int64_t, kAttrs.size()> values_{};
  std::vector<SizedShape> operands_, results_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_SIZED_OP_H_
