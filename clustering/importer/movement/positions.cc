#include "clustering/importer/movement/positions.h"

#include <utility>
#include <vector>

#include "jit/base/wrapping.h"

namespace tektite::importer {
namespace {

using ir::Attr;

constexpr int kMostSteps = 256;  // of one walk; programs take a few

// known + factor * element + ...  Factors wrap as the integers of a graph do.
struct Sum {
  struct Term {
    Value tensor;
    int64_t element = 0;
    int64_t factor = 1;
  };
  Dim known;
  std::vector<Term> terms;  // each element once, no factor is 0

  void Add(const Sum& other, int64_t factor) {
    known = known + other.known * Dim(factor);
    for (const Term& term : other.terms)
      AddTerm({term.tensor, term.element, WrappingMul(term.factor, factor)});
  }
  void AddTerm(const Term& added) {
    for (auto it = terms.begin(); it != terms.end(); ++it) {
      if (it->tensor != added.tensor || it->element != added.element) continue;
      it->factor = WrappingAdd(it->factor, added.factor);
      if (it->factor == 0) terms.erase(it);
      return;
    }
    if (added.factor != 0) terms.push_back(added);
  }
};

int64_t Count(Value tensor) { return tensor.shape().NumElements().value_or(-1); }

struct Part {
  Value tensor;
  int64_t element = 0;
};

// The operand that an element comes from, and its number there, where the op only moves elements.
std::optional<Part> Origin(Value tensor, int64_t element) {
  const ir::Node& node = *tensor.node;
  switch (node.op()) {
    case Op::kReshape:
      return Part{node.operand(0), element};
    case Op::kBroadcastInDim: {
      const Value from = node.operand(0);
      if (Count(from) == 1) return Part{from, 0};
      if (from.shape().dims() == tensor.shape().dims()) return Part{from, element};
      return std::nullopt;
    }
    case Op::kSlice: {
      if (tensor.shape().rank() != 1) return std::nullopt;
      const Dim& start = node.attrs().GetDims(Attr::starts)[0];
      const std::vector<int64_t>& strides = node.attrs().Ints(Attr::strides);
      if (!start.is_constant()) return std::nullopt;
      return Part{node.operand(0), start.value() + element * (strides.empty() ? 1 : strides[0])};
    }
    case Op::kConcatenate: {
      const int64_t dimension = node.Int(Attr::dimension);
      const int64_t columns = static_cast<int64_t>(node.operands().size());
      // Columns side by side, as a table of paddings is made.
      if (dimension == 1 && tensor.shape().rank() == 2 && tensor.shape().dim(1) == Dim(columns)) {
        return Part{node.operand(static_cast<int>(element % columns)), element / columns};
      }
      if (dimension != 0) return std::nullopt;
      for (const Value part : node.operands()) {
        const int64_t count = Count(part);
        if (count < 0) return std::nullopt;
        if (element < count) return Part{part, element};
        element -= count;
      }
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

class Walk {
 public:
  Sum Of(Value tensor, int64_t element) {
    Sum itself;
    itself.terms = {{tensor, element, 1}};
    if (--steps_left_ < 0) return itself;
    if (const std::optional<Part> part = Origin(tensor, element)) {
      return Of(part->tensor, part->element);
    }
    const ir::Node& node = *tensor.node;
    Sum sum;
    switch (node.op()) {
      case Op::kConstant: {
        const Literal& literal = node.attrs().GetLiteral(Attr::value);
        const int64_t count = literal.num_elements();
        if (count == 1) element = 0;
        if (element >= count) return itself;
        sum.known = Dim(literal.AsInt(element));
        return sum;
      }
      case Op::kSizeValue:
        sum.known = node.attrs().GetDims(Attr::sizes)[element];
        return sum;
      case Op::kConvert: {
        const Sum before = Of(node.operand(0), element);
        const DType from = node.operand(0).dtype();
        const bool is_wider = from == DType::kS32 && tensor.dtype() == DType::kS64;
        return is_wider || before.terms.empty() ? before : itself;
      }
      case Op::kNeg:
        sum.Add(Of(node.operand(0), element), -1);
        return sum;
      case Op::kAdd:
      case Op::kSub:
        sum = Of(node.operand(0), element);
        sum.Add(Of(node.operand(1), element), node.op() == Op::kAdd ? 1 : -1);
        return sum;
      case Op::kMul: {
        Sum a = Of(node.operand(0), element), b = Of(node.operand(1), element);
        if (!b.terms.empty()) std::swap(a, b);
        if (!b.terms.empty() || !b.known.is_constant()) return itself;
        sum.Add(a, b.known.value());
        return sum;
      }
      default:
        return itself;
    }
  }

 private:
  int steps_left_ = kMostSteps;
};

// An element of an input; nothing where the input is no integer tensor or has no such element.
std::optional<Sum> SumOf(NodeImport& op, int input, int64_t element) {
  if (const std::optional<Dims>& contents = op.InputInfo(input).contents) {
    if (element >= static_cast<int64_t>(contents->size())) return std::nullopt;
    Sum sum;
    sum.known = (*contents)[element];
    return sum;
  }
  const Value tensor = op.Input(input);
  if (!tensor || !ir::IsInteger(tensor.dtype())) return std::nullopt;
  const int64_t count = Count(tensor);
  if (count >= 0 && element >= count) return std::nullopt;
  return Walk().Of(tensor, element);
}

// Of the arguments around that count a loop's turns the bounds are known.
std::optional<ValueRange> RangeOf(const NodeImport& op, const Sum& sum) {
  if (op.scope().arguments == nullptr) return std::nullopt;
  ValueRange range{sum.known, sum.known + Dim(1)};
  for (const Sum::Term& term : sum.terms) {
    const TensorInfo* found = nullptr;
    for (const TensorInfo& info : *op.scope().arguments) {
      if (info.range && info.value == term.tensor) found = &info;
    }
    if (found == nullptr || term.tensor.shape().rank() != 0) return std::nullopt;
    const Dim least = found->range->first, most = found->range->behind - Dim(1);
    const Dim factor(term.factor);
    range.first = range.first + (term.factor > 0 ? least : most) * factor;
    range.behind = range.behind + (term.factor > 0 ? most : least) * factor;
  }
  return range;
}

// An element by itself, found where it comes from.
Value Scalar(FuncBuilder& b, Value tensor, int64_t element) {
  std::optional<Part> part = Part{tensor, element};
  while (const std::optional<Part> before = Origin(part->tensor, part->element)) part = before;
  tensor = part->tensor;
  if (tensor.shape().rank() == 0) return tensor;
  const Dim first(part->element);
  tensor = b.Reshape(tensor, {tensor.shape().NumElements()});
  return b.Reshape(b.SliceDim(tensor, 0, first, first + Dim(1)), {});
}

}  // namespace

std::optional<Dim> KnownSum(NodeImport& op, absl::Span<const ElementTerm> terms) {
  Sum sum;
  for (const ElementTerm& term : terms) {
    const std::optional<Sum> element = SumOf(op, term.input, term.element);
    if (!element) return std::nullopt;
    sum.Add(*element, term.factor);
  }
  return sum.terms.empty() ? std::optional<Dim>(sum.known) : std::nullopt;
}

absl::StatusOr<Position> PositionOf(NodeImport& op, int input, int64_t element) {
  const std::optional<Sum> sum = SumOf(op, input, element);
  if (!sum) return op.Refuse("input ", input, " has no element ", element);
  Position position;
  if (sum->terms.empty()) {
    position.known = sum->known;
    return position;
  }
  position.value = op.b().Convert(Scalar(op.b(), op.Input(input), element), DType::kS64);
  position.range = RangeOf(op, *sum);
  return position;
}

bool IsKnown(const NodeImport& op, int input) { return op.RequireContents(input).ok(); }

Value ValueOf(NodeImport& op, const Position& position) {
  return position.known ? op.DimValue(*position.known, DType::kS64) : position.value;
}

}  // namespace tektite::importer
