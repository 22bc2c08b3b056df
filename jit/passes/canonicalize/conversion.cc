// Rules of convert and bitcast.
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

// Significant bits and exponent range of a type, enough to say that one contains another.
struct Extent {
  int bits;          // of an integer's magnitude, or of a float's significand
  int max_exponent;  // 2^max_exponent is beyond the largest value
  bool is_signed;
};

Extent ExtentOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {1, 1, false};
    case DType::kF16:
      return {11, 16, true};
    case DType::kBF16:
      return {8, 128, true};
    case DType::kF32:
      return {24, 128, true};
    case DType::kF64:
      return {53, 1024, true};
    default: {
      const int bits = 8 * ir::DTypeBytes(dtype) - (ir::IsSigned(dtype) ? 1 : 0);
      return {bits, bits, ir::IsSigned(dtype)};
    }
  }
}

// Every value of `from` is one of `to`.  Bool takes nothing in: converting to it asks "not zero".
bool Holds(DType to, DType from) {
  if (to == from) return true;
  if (to == DType::kBool || (ir::IsFloat(from) && !ir::IsFloat(to))) return false;
  const Extent inner = ExtentOf(from), outer = ExtentOf(to);
  // Of the 16-bit floats neither contains the other: f16 has more bits, bf16 more range.
  return outer.bits >= inner.bits && outer.max_exponent >= inner.max_exponent &&
         (outer.is_signed || !inner.is_signed);
}

}  // namespace

// convert(%x: f32), dtype=f32  ->  %x        also bitcast
Value ConvertToSameType(Node* node, FuncBuilder& b) {
  return node->operand(0).dtype() == node->shape().dtype() ? node->operand(0) : Value();
}

// convert(convert(%x: f16), dtype=f32), dtype=f16  ->  %x
// convert(convert(%x: s8), dtype=s32), dtype=s64  ->  convert(%x), dtype=s64
// where the type between holds every value of the first.  A float's way to an integer is kept,
// since results outside the integer's range depend on the types.
Value ConvertOfConvert(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kConvert);
  if (!inner) return {};
  const DType first = inner->operand(0).dtype(), between = inner->shape().dtype(),
              last = node->shape().dtype();
  if (!Holds(between, first)) return {};
  const bool has_float = ir::IsFloat(first) || ir::IsFloat(between);
  if (has_float && !ir::IsFloat(last) && last != DType::kBool && !Holds(last, first)) return {};
  return b.Convert(inner->operand(0), last);
}

// bitcast(bitcast(%x), dtype=s32), dtype=f32  ->  bitcast(%x), dtype=f32
Value BitcastOfBitcast(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kBitcast);
  return inner ? b.Bitcast(inner->operand(0), node->shape().dtype()) : Value();
}

}  // namespace tektite::passes::rules
