#include "tests/gpu/fake_cudnn/fake_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/gpu/fake_driver/fake_driver.h"

extern "C" const tektite::testing::FakeDriver* fake_driver_controls();

namespace tektite::gpu::fake {
namespace {

using Sizes = std::vector<int64_t>;

// Goes through the operations, each of which reads what the one before has made.
class Reader {
 public:
  explicit Reader(const std::vector<DnnDescriptor>& operations) : operations_(operations) {}

  bool AtEnd() const { return next_ == operations_.size(); }
  bool Product(Tensor* a, Tensor* b, Tensor* c) {
    const DnnDescriptorObject* const operation = Take(kDnnProductOperation);
    if (operation == nullptr ||
        operation->Get<DnnDescriptor>(kDnnProductOperationKind)->Get<int>(kDnnProductType) !=
            kDnnF32) {
      return false;
    }
    *a = Tensor::Of(*operation->Get<DnnDescriptor>(kDnnProductOperationA));
    *b = Tensor::Of(*operation->Get<DnnDescriptor>(kDnnProductOperationB));
    *c = Tensor::Of(*operation->Get<DnnDescriptor>(kDnnProductOperationC));
    return true;
  }
  // Of `x`; its other operands, if any.
  bool Pointwise(int mode, const Tensor& x, Tensor* y, Tensor* b = nullptr, Tensor* t = nullptr,
                 int64_t axis = 0) {
    if (!IsNext(mode)) return false;
    const DnnDescriptorObject& operation = *Take(kDnnPointwiseOperation);
    const auto& kind = *operation.Get<DnnDescriptor>(kDnnPointwiseOperationKind);
    if (operation.Has(kDnnPointwiseOperationB) != (b != nullptr) ||
        operation.Has(kDnnPointwiseOperationT) != (t != nullptr) ||
        kind.Get<int64_t>(kDnnPointwiseAxis) != axis ||
        kind.Get<int>(kDnnPointwiseType) != kDnnF32) {
      return false;
    }
    *y = Tensor::Of(*operation.Get<DnnDescriptor>(kDnnPointwiseOperationY));
    if (b != nullptr) *b = Tensor::Of(*operation.Get<DnnDescriptor>(kDnnPointwiseOperationB));
    if (t != nullptr) *t = Tensor::Of(*operation.Get<DnnDescriptor>(kDnnPointwiseOperationT));
    return y->is_virtual && y->sizes.size() == 4 &&
           Tensor::Of(*operation.Get<DnnDescriptor>(kDnnPointwiseOperationX)).id == x.id;
  }
  bool OfRows(int reduction, const Tensor& x, Tensor* y) {
    const DnnDescriptorObject* const operation = Take(kDnnReductionOperation);
    if (operation == nullptr) return false;
    const auto& kind = *operation->Get<DnnDescriptor>(kDnnReductionOperationKind);
    *y = Tensor::Of(*operation->Get<DnnDescriptor>(kDnnReductionOperationY));
    Sizes rows = x.sizes;
    rows.back() = 1;
    return kind.Get<int>(kDnnReductionOperator) == reduction &&
           kind.Get<int>(kDnnReductionType) == kDnnF32 && y->is_virtual && y->sizes == rows &&
           Tensor::Of(*operation->Get<DnnDescriptor>(kDnnReductionOperationX)).id == x.id;
  }
  bool IsNext(int mode) const {
    return !AtEnd() && operations_[next_]->kind == kDnnPointwiseOperation &&
           operations_[next_]
                   ->Get<DnnDescriptor>(kDnnPointwiseOperationKind)
                   ->Get<int>(kDnnPointwiseMode) == mode;
  }

 private:
  const DnnDescriptorObject* Take(int kind) {
    if (AtEnd() || operations_[next_]->kind != kind) return nullptr;
    return operations_[next_++];
  }

  const std::vector<DnnDescriptor>& operations_;
  size_t next_ = 0;
};

bool IsScalar(const Tensor& tensor, int type) {
  return tensor.is_value && tensor.type == type && tensor.sizes == Sizes{1, 1, 1, 1};
}

}  // namespace

bool Attention::Of(const std::vector<DnnDescriptor>& operations, Attention* attention) {
  Attention& a = *attention;
  Reader reader(operations);
  Tensor logits, next;
  if (!reader.Product(&a.query, &a.key, &logits) || !logits.is_virtual ||
      !reader.Pointwise(kDnnMulMode, logits, &next, &a.scale) || !IsScalar(a.scale, kDnnF32)) {
    return false;
  }
  const Sizes space = logits.sizes;
  logits = next;
  a.is_causal = reader.IsNext(kDnnIndexMode);
  if (a.is_causal) {
    Tensor row, key, other, seen;
    if (!reader.Pointwise(kDnnIndexMode, logits, &row, nullptr, nullptr, 2)) return false;
    a.has_offset = reader.IsNext(kDnnAddMode);
    if (a.has_offset) {
      if (!reader.Pointwise(kDnnAddMode, row, &next, &a.offset) || !IsScalar(a.offset, kDnnS32)) {
        return false;
      }
      row = next;
    }
    if (!reader.Pointwise(kDnnIndexMode, logits, &key, nullptr, nullptr, 3) ||
        !reader.Pointwise(kDnnNotLessMode, row, &seen, &other) || other.id != key.id ||
        row.type != kDnnS32 || key.type != kDnnS32 || seen.type != kDnnBoolean ||
        !reader.Pointwise(kDnnSelectMode, logits, &next, &a.nothing, &other) ||
        other.id != seen.id || !IsScalar(a.nothing, kDnnF32)) {
      return false;
    }
    logits = next;
  }
  Tensor largest, shifted, weights, sum, log, statistics, quotients, other;
  if (!reader.OfRows(kDnnMaxReduction, logits, &largest) ||
      !reader.Pointwise(kDnnSubMode, logits, &shifted, &other) || other.id != largest.id ||
      !reader.Pointwise(kDnnExpMode, shifted, &weights) ||
      !reader.OfRows(kDnnAddReduction, weights, &sum) ||
      !reader.Pointwise(kDnnLogMode, sum, &log) ||
      !reader.Pointwise(kDnnAddMode, largest, &statistics, &other) || other.id != log.id ||
      !reader.Pointwise(kDnnDivMode, weights, &quotients, &other) || other.id != sum.id ||
      !reader.Product(&next, &a.value, &a.result) || next.id != quotients.id || !reader.AtEnd()) {
    return false;
  }
  const Sizes &q = a.query.sizes, &k = a.key.sizes, &v = a.value.sizes, &o = a.result.sizes;
  const int type = a.query.type;
  for (const Tensor* tensor : {&a.query, &a.value, &a.result}) {
    if (tensor->sizes.size() != 4 || tensor->strides[3] != 1 || tensor->type != type) return false;
  }
  return (type == kDnnF16 || type == kDnnBF16) && a.key.type == type && k.size() == 4 &&
         a.key.strides[2] == 1 && quotients.type == type && logits.type == kDnnF32 &&
         q[3] % 8 == 0 && v[3] % 8 == 0 && q[3] == k[2] && k[3] == v[2] && o[2] == q[2] &&
         o[3] == v[3] && space == Sizes{q[0], q[1], q[2], k[3]};
}

bool Attention::TakeValues(const std::map<int64_t, uint64_t>& addresses) {
  const auto take = [&](const Tensor& tensor, auto* value) {
    const auto it = addresses.find(tensor.id);
    if (it == addresses.end() || it->second == 0) return false;
    std::memcpy(value, reinterpret_cast<const void*>(it->second), sizeof(*value));
    return true;
  };
  return take(scale, &scale_value) && (!is_causal || take(nothing, &nothing_value)) &&
         (!has_offset || take(offset, &offset_value));
}

bool Attention::IsPassed(int64_t id) const {
  return id == scale.id || (is_causal && id == nothing.id) || (has_offset && id == offset.id);
}

int Attention::Run(const std::map<int64_t, uint64_t>& addresses) const {
  const auto& driver = *fake_driver_controls();
  bool is_there = true;
  const auto reach = [&](const Tensor& tensor) -> void* {
    const auto it = addresses.find(tensor.id);
    void* const at = it == addresses.end() ? nullptr : driver.reach(it->second, tensor.bytes());
    is_there = is_there && at != nullptr;
    return at;
  };
  const void* const q = reach(query);
  const void* const k = reach(key);
  const void* const v = reach(value);
  void* const out = reach(result);
  if (!is_there) return kCuIllegalAddress;
  const int64_t keys = key.sizes[3], width = key.sizes[2], columns = value.sizes[3];
  std::vector<float> logits(static_cast<size_t>(keys));
  for (int64_t batch = 0; batch < query.sizes[0]; ++batch) {
    for (int64_t head = 0; head < query.sizes[1]; ++head) {
      for (int64_t row = 0; row < query.sizes[2]; ++row) {
        for (int64_t j = 0; j < keys; ++j) {
          float sum = 0;
          for (int64_t i = 0; i < width; ++i) {
            sum += Load(q, Offset(query, {batch, head, row, i}), query.type) *
                   Load(k, Offset(key, {batch, head, i, j}), key.type);
          }
          float& logit = logits[static_cast<size_t>(j)];
          logit = sum * scale_value;
          if (is_causal && j > row + offset_value) logit = nothing_value;
        }
        float largest = logits[0];
        for (float logit : logits) largest = logit > largest || std::isnan(logit) ? logit : largest;
        float sum = 0;
        for (float& logit : logits) {
          logit = std::exp(logit - largest);
          sum += logit;
        }
        for (int64_t column = 0; column < columns; ++column) {
          float total = 0;
          for (int64_t j = 0; j < keys; ++j) {
            total += logits[static_cast<size_t>(j)] / sum *
                     Load(v, Offset(value, {batch, head, j, column}), value.type);
          }
          Store(out, Offset(result, {batch, head, row, column}), total, result.type);
        }
      }
    }
  }
  return kCuSuccess;
}

}  // namespace tektite::gpu::fake
