// Rules of comparison and choice: and, or, xor, not, compare, select, clamp.
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

bool IsBool(Value value) { return value.dtype() == DType::kBool; }
bool IsTrue(Value value) { return IsBool(value) && IsSplat(value, 1); }
bool IsFalse(Value value) { return IsBool(value) && IsSplat(value, 0); }

// All bits set: true, or -1.
bool IsAllOnes(Value value) {
  if (IsBool(value)) return IsTrue(value);
  return ir::IsSigned(value.dtype()) && IsSplat(value, -1);
}

// The direction that holds exactly where `direction` does not, if there is one: with NaN neither lt
// nor ge holds.
absl::string_view Opposite(absl::string_view direction, DType dtype) {
  if (direction == "eq") return "ne";
  if (direction == "ne") return "eq";
  if (ir::IsFloat(dtype)) return "";
  if (direction == "lt") return "ge";
  if (direction == "le") return "gt";
  if (direction == "gt") return "le";
  return "lt";
}

absl::string_view Swapped(absl::string_view direction) {
  if (direction == "lt") return "gt";
  if (direction == "le") return "ge";
  if (direction == "gt") return "lt";
  if (direction == "ge") return "le";
  return direction;
}

}  // namespace

// and(%x, true)  ->  %x
// and(%x, false)  ->  false
Value AndOfConstant(Node* node, FuncBuilder& b) {
  if (IsAllOnes(node->operand(1))) return node->operand(0);
  return IsSplat(node->operand(1), 0) ? node->operand(1) : Value();
}

// or(%x, false)  ->  %x
// or(%x, true)  ->  true
Value OrOfConstant(Node* node, FuncBuilder& b) {
  if (IsSplat(node->operand(1), 0)) return node->operand(0);
  return IsAllOnes(node->operand(1)) ? node->operand(1) : Value();
}

// xor(%x, 0)  ->  %x
// xor(%x, true)  ->  not(%x)
// xor(%x, %x)  ->  0
Value XorOfConstant(Node* node, FuncBuilder& b) {
  if (IsSplat(node->operand(1), 0)) return node->operand(0);
  if (IsAllOnes(node->operand(1))) return b.Not(node->operand(0));
  return node->operand(0) == node->operand(1) ? ZeroLike(b, node->result()) : Value();
}

// not(not(%x))  ->  %x
Value NotOfNot(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kNot);
  return inner ? inner->operand(0) : Value();
}

// not(compare(%x, %y), direction=eq)  ->  compare(%x, %y), direction=ne
// Orders turn round for integers only: with NaN neither lt nor ge holds.
Value NotOfCompare(Node* node, FuncBuilder& b) {
  Node* compare = OnlyProducer(node->operand(0), Op::kCompare);
  if (!compare) return {};
  absl::string_view opposite =
      Opposite(compare->String(Attr::direction), compare->operand(0).dtype());
  if (opposite.empty()) return {};
  return b.Compare(compare->operand(0), compare->operand(1), opposite);
}

// compare(1, %x), direction=lt  ->  compare(%x, 1), direction=gt
Value CompareConstantToTheRight(Node* node, FuncBuilder& b) {
  if (!SplatOf(node->operand(0)) || SplatOf(node->operand(1))) return {};
  return b.Compare(node->operand(1), node->operand(0), Swapped(node->String(Attr::direction)));
}

// compare(%x, %x), direction=le  ->  true        not with floats: NaN
Value CompareOfSelf(Node* node, FuncBuilder& b) {
  if (node->operand(0) != node->operand(1) || ir::IsFloat(node->operand(0).dtype())) return {};
  const std::string& direction = node->String(Attr::direction);
  const bool holds = direction == "eq" || direction == "le" || direction == "ge";
  return SplatTo(b, Literal::Scalar<bool>(holds), node->shape().dims());
}

// compare(%x: bool, true), direction=eq  ->  %x
// compare(%x: bool, false), direction=eq  ->  not(%x)
Value CompareOfBool(Node* node, FuncBuilder& b) {
  Value x = node->operand(0), y = node->operand(1);
  const std::string& direction = node->String(Attr::direction);
  if (!IsBool(x) || (direction != "eq" && direction != "ne") || !(IsTrue(y) || IsFalse(y))) {
    return {};
  }
  return IsTrue(y) == (direction == "eq") ? x : b.Not(x);
}

// compare(convert(%x: bool -> f32), 0), direction=ne  ->  %x
// A comparison of 0 or 1 is one of the bool; eq with 0 and ne, eq with 1 as well.
Value CompareOfConvertedBool(Node* node, FuncBuilder& b) {
  Node* convert = Producer(node->operand(0), Op::kConvert);
  const std::string& direction = node->String(Attr::direction);
  if (!convert || !IsBool(convert->operand(0)) || (direction != "eq" && direction != "ne")) {
    return {};
  }
  const bool zero = IsSplat(node->operand(1), 0), one = IsSplat(node->operand(1), 1);
  if (!zero && !one) return {};
  Value x = convert->operand(0);
  return one == (direction == "eq") ? x : b.Not(x);
}

// select(true, %x, %y)  ->  %x
// select(%c, %x, %x)  ->  %x
Value SelectOfConstant(Node* node, FuncBuilder& b) {
  if (IsTrue(node->operand(0))) return node->operand(1);
  if (IsFalse(node->operand(0))) return node->operand(2);
  return node->operand(1) == node->operand(2) ? node->operand(1) : Value();
}

// select(not(%c), %x, %y)  ->  select(%c, %y, %x)
Value SelectOfNot(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kNot);
  return inner ? b.Select(inner->operand(0), node->operand(2), node->operand(1)) : Value();
}

// select(%c, true, false)  ->  %c
// select(%c, false, true)  ->  not(%c)
Value SelectOfBools(Node* node, FuncBuilder& b) {
  Value on_true = node->operand(1), on_false = node->operand(2);
  if (IsTrue(on_true) && IsFalse(on_false)) return node->operand(0);
  if (IsFalse(on_true) && IsTrue(on_false)) return b.Not(node->operand(0));
  return {};
}

}  // namespace tektite::passes::rules
