#include "jit/passes/quantization/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "jit/base/status.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"
#include "jit/passes/narrow_types.h"

namespace tektite::passes {
namespace {

// What is checked: the product of two steps, a sum of bytes and a scale stays below kMost.
constexpr int kChecked = 24;
// Far enough from f32's largest number for roundings on the way.
constexpr int kMost = 120;
// Of constants with NaN or infinities.
constexpr int kUnbounded = 2 * kMost;
// Terms of any sum.
constexpr int kTerms = 31;

int ExponentOf(double v) { return v == 0 ? -kMost : static_cast<int>(std::ceil(std::log2(v))); }

// Every window has an element: padding is smaller than windows.
bool WindowsHaveElements(const Node& node) {
  const ops::WindowDims dims = ops::GetWindowDims(node.shape().rank(), node.attrs());
  for (size_t i = 0; i < dims.window.size(); ++i) {
    if (dims.low[i] >= dims.window[i] || dims.high[i] >= dims.window[i] ||
        dims.lhs_dilation[i] != 1 || dims.window_dilation[i] != 1) {
      return false;
    }
  }
  return true;
}

// select(x > c, x, c) of a number c that no x of so many bits reaches, as max pooling has it for
// windows of NaN: x.
bool KeepsAll(const Node& select, int exponent) {
  const Node& condition = *select.operand(0).node;
  Value c = select.operand(2);
  if (condition.op() != Op::kCompare || condition.String(Attr::direction) != "gt" ||
      condition.operand(0) != select.operand(1) || condition.operand(1) != c) {
    return false;
  }
  while (c.node->op() == Op::kBroadcastInDim) c = c.node->operand(0);
  if (c.node->op() != Op::kConstant) return false;
  const ir::Literal& literal = c.node->attrs().GetLiteral(Attr::value);
  return literal.num_elements() == 1 && exponent <= kMost &&
         literal.AsDouble(0) < -std::ldexp(1.0, exponent);
}

// The first one that computes; null: there is none.
Node* NodeBehind(const ir::Graph& graph, const Node* place) {
  bool is_behind = false;
  for (const auto& node : graph.nodes()) {
    if (is_behind && node->op() != Op::kParameter) return node.get();
    is_behind |= node.get() == place;
  }
  return nullptr;
}

}  // namespace

void Magnitudes::Check(FuncBuilder& b, Value condition) {
  std::vector<int64_t> all(condition.shape().rank());
  std::iota(all.begin(), all.end(), 0);
  checks_.push_back(all.empty() ? condition : b.Reduce(condition, all, "and"));
}

absl::Status Magnitudes::AddTo(PassContext& context) {
  if (checks_.empty()) return absl::OkStatus();
  FuncBuilder b(&graph_, nullptr);
  Value all = checks_[0];
  for (size_t i = 1; i < checks_.size(); ++i) all = b.Binary(Op::kAnd, all, checks_[i]);
  TEKTITE_RETURN_IF_ERROR(b.status());
  std::vector<Value> outputs(graph_.outputs().begin(), graph_.outputs().end());
  outputs.insert(outputs.end() - context.num_updates, all);
  graph_.SetOutputs(std::move(outputs));
  ++context.added_checks;
  return absl::OkStatus();
}

int Magnitudes::Checked(Value v) {
  FuncBuilder b(&graph_, NodeBehind(graph_, v.node));
  const Value size = b.Abs(v);
  Check(b, b.Compare(size, b.FullLike(size, std::ldexp(1.0, kChecked)), "le"));
  return kChecked;
}

std::optional<int> Magnitudes::OfConstant(const ir::Literal& literal) const {
  double most = 0;
  for (int64_t i = 0; i < literal.num_elements(); ++i) {
    const double size = std::abs(literal.AsDouble(i));
    if (!std::isfinite(size)) return std::nullopt;
    most = std::max(most, size);
  }
  return ExponentOf(most);
}

int Magnitudes::Of(Value v) {
  const auto it = known_.find(v);
  if (it != known_.end()) return it->second;
  std::optional<int> exponent;
  if (v.node->op() == Op::kConstant) {  // what is made of one that is too large is checked
    return known_[v] = OfConstant(v.node->attrs().GetLiteral(Attr::value)).value_or(kUnbounded);
  }
  if (!stable_.contains(v.node) || v.node->op() == Op::kBroadcastInDim) {
    exponent = ByRule(v);
  }
  const int result = exponent && *exponent <= kMost ? *exponent : Checked(v);
  known_[v] = result;
  return result;
}

// The divisor is a number, or its reciprocal is checked.
std::optional<int> Magnitudes::OfQuotient(Node& node) {
  Value divisor = node.operand(1);
  while (divisor.node->op() == Op::kBroadcastInDim) divisor = divisor.node->operand(0);
  if (!stable_.contains(divisor.node)) return std::nullopt;
  if (divisor.node->op() == Op::kConstant) {
    const ir::Literal& literal = divisor.node->attrs().GetLiteral(Attr::value);
    double least = std::ldexp(1.0, kMost);
    for (int64_t i = 0; i < literal.num_elements(); ++i) {
      least = std::min(least, std::abs(literal.AsDouble(i)));
    }
    if (!(least > 0)) return std::nullopt;
    return Of(node.operand(0)) - static_cast<int>(std::floor(std::log2(least)));
  }
  FuncBuilder b(&graph_, &node);
  const Value size = b.Abs(divisor);
  Check(b, b.Compare(size, b.FullLike(size, std::ldexp(1.0, -kChecked)), "ge"));
  return Of(node.operand(0)) + kChecked;
}

std::optional<int> Magnitudes::ByRule(Value v) {
  Node& node = *v.node;
  const auto of = [&](int i) { return Of(node.operand(i)); };
  switch (node.op()) {
    case Op::kConvert: {
      const DType from = node.operand(0).dtype();
      if (ir::IsFloat(from)) return from == DType::kF32 ? std::optional<int>(of(0)) : std::nullopt;
      return from == DType::kBool ? 1 : 8 * ir::DTypeBytes(from);
    }
    case Op::kAbs:
    case Op::kNeg:
    case Op::kBroadcastInDim:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kReverse:
      return of(0);
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kRoundAway:
      return std::max(of(0), 0) + 1;
    case Op::kTanh:
    case Op::kLogistic:
    case Op::kErf:
      of(0);  // is no NaN
      return 0;
    case Op::kMax:
    case Op::kMin:
    case Op::kPad:
    case Op::kConcatenate: {
      int most = of(0);
      for (int i = 1; i < node.num_operands(); ++i) most = std::max(most, of(i));
      return most;
    }
    case Op::kClamp:
      return std::max({of(0), of(1), of(2)});
    case Op::kSelect:
      return KeepsAll(node, of(1)) ? of(1) : std::max(of(1), of(2));
    case Op::kAdd:
    case Op::kSub:
      return std::max(of(0), of(1)) + 1;
    case Op::kMul:
      return of(0) + of(1);
    case Op::kDiv:
      return OfQuotient(node);
    case Op::kReduce:
    case Op::kReduceWindow:
      if (node.op() == Op::kReduceWindow && node.String(Attr::reducer) == "max" &&
          WindowsHaveElements(node)) {
        return of(0);
      }
      if (node.String(Attr::reducer) != "add") return std::nullopt;
      return of(0) + kTerms;
    case Op::kDotGeneral:
    case Op::kConvolution: {
      const std::optional<int64_t> terms = TermsOf(node);
      if (!terms) return std::nullopt;
      return of(0) + of(1) + ExponentOf(static_cast<double>(std::max<int64_t>(*terms, 1)));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tektite::passes
