#include "clustering/importer/contents/known_broadcast.h"

#include <algorithm>

#include "clustering/importer/contents/contents.h"

namespace tektite::importer {

absl::StatusOr<KnownBroadcast> KnownBroadcast::Of(const NodeImport& op, int count) {
  KnownBroadcast x;
  for (int k = 0; k < count; ++k) {
    const Shape& shape = op.InputShape(k);
    const int64_t known =
        static_cast<int64_t>(KnownElements(op, k).size());  // none if it is missing
    if (!shape.is_static() || shape.num_elements() != known) return NotShapeArithmetic();
    x.sizes_.resize(std::max<size_t>(x.sizes_.size(), op.InputRank(k)), 1);
  }
  const size_t rank = x.sizes_.size();
  for (int k = 0; k < count; ++k) {
    const std::vector<int64_t> sizes = op.InputShape(k).sizes();
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t& size = x.sizes_[rank - sizes.size() + i];
      if (size != 1 && sizes[i] != 1 && size != sizes[i]) return NotShapeArithmetic();
      if (size == 1) size = sizes[i];
    }
  }
  for (const int64_t size : x.sizes_) {
    x.dims_.push_back(Dim(size));
    x.size_ *= size;
    if (x.size_ > kMaxContents) return NotShapeArithmetic();
  }
  for (int k = 0; k < count; ++k) {
    const std::vector<int64_t> sizes = op.InputShape(k).sizes();
    std::vector<int64_t> strides = ir::RowMajorStrides(sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1) strides[i] = 0;
    }
    strides.insert(strides.begin(), rank - sizes.size(), 0);
    x.operands_.push_back({&KnownElements(op, k), std::move(strides)});
  }
  return x;
}

const Dim& KnownBroadcast::Element(int operand, int64_t i) const {
  int64_t at = 0;
  for (size_t d = sizes_.size(); d-- > 0; i /= sizes_[d]) {
    at += i % sizes_[d] * operands_[operand].strides[d];
  }
  return (*operands_[operand].elements)[at];
}

}  // namespace tektite::importer
