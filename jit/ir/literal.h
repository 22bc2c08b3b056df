// A constant array: element type, sizes, row-major bytes.
//
//   Literal one = Literal::Scalar<float>(1.0f);
//   Literal perm = Literal::FromVector<int32_t>({3}, {0, 2, 1});
//
// Copies share the bytes, so that a frozen model's weights exist once.
#ifndef TEKTITE_JIT_IR_LITERAL_H_
#define TEKTITE_JIT_IR_LITERAL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/ir/shape.h"

namespace tektite::ir {

class Literal {
 public:
  Literal() = default;
  // `bytes` has exactly the array's size and stays alive as long as any copy; data must be aligned
  // for the element type.
  Literal(DType dtype, std::vector<int64_t> sizes, std::shared_ptr<const void> bytes)
      : dtype_(dtype), sizes_(std::move(sizes)), bytes_(std::move(bytes)) {}
  // Uninitialized storage, 64-byte aligned, to be filled through mutable_data() before it is
  // shared.
  static Literal Allocate(DType dtype, std::vector<int64_t> sizes);
  static Literal CopyOf(DType dtype, std::vector<int64_t> sizes, const void* data);

  template <typename T>
  static Literal FromVector(std::vector<int64_t> sizes, const std::vector<T>& values) {
    Literal literal = Allocate(DTypeOf<T>(), std::move(sizes));
    for (size_t i = 0; i < values.size(); ++i) literal.mutable_data<T>()[i] = values[i];
    return literal;
  }
  template <typename T>
  static Literal Scalar(T value) {
    return FromVector<T>({}, {value});
  }
  // `value` converted to `dtype`.
  static Literal ScalarOf(DType dtype, double value);
  // Zero, one, or the identity of max / min (-inf, or the smallest / largest integer).
  static Literal LowestOf(DType dtype);
  static Literal HighestOf(DType dtype);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int rank() const { return static_cast<int>(sizes_.size()); }
  int64_t num_elements() const { return Product(sizes_); }
  int64_t num_bytes() const { return num_elements() * DTypeBytes(dtype_); }
  Shape shape() const { return Shape(dtype_, absl::MakeConstSpan(sizes_)); }

  const void* raw() const { return bytes_.get(); }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(bytes_.get());
  }
  template <typename T>
  T* mutable_data() {
    return const_cast<T*>(data<T>());
  }

  // Element `i` (row-major) as double or int64; exact up to 2^53 for the former.
  double AsDouble(int64_t i) const;
  int64_t AsInt(int64_t i) const;
  std::vector<int64_t> AsInts() const;
  // Every element equals `value` (false for NaN and for an empty array).
  bool IsAll(double value) const;
  // All elements have the same bits (true for one element, false for none).
  bool IsSplat() const;
  Literal Reshaped(std::vector<int64_t> sizes) const { return Literal(dtype_, sizes, bytes_); }

  // "f32[2]{1, 2.5}"; above 64 elements the bytes as hexadecimal: "f32[100]{#0000803f...}".
  std::string ToString() const;
  // ToString with the contents of large arrays as a fingerprint, for keys and for people.
  std::string ToShortString() const;

  friend bool operator==(const Literal& a, const Literal& b);  // same bits

 private:
  DType dtype_ = DType::kF32;
  std::vector<int64_t> sizes_ = {0};
  std::shared_ptr<const void> bytes_;
};

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_LITERAL_H_
