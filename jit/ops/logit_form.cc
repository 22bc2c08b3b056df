#include "jit/ops/logit_form.h"

#include "jit/ops/names.h"

#include <map>
#include <optional>
#include <utility>

namespace tektite::ops {
namespace {

// An integer that is a row's number, a key's, or a constant, with a constant added.
struct Place {
  int rows = 0, keys = 0;
  Dim addend = Dim(0);
};

// The one value of a constant, seen through broadcasts.
std::optional<double> Uniform(Value v) {
  while (v.node->op() == Op::kBroadcastInDim || v.node->op() == Op::kReshape) {
    v = v.node->operand(0);
  }
  if (v.node->op() != Op::kConstant) return std::nullopt;
  const ir::Literal& literal = v.node->attrs().GetLiteral(Attr::value);
  if (literal.num_elements() == 0 || !literal.IsSplat()) return std::nullopt;
  return literal.AsDouble(0);
}

class Forms {
 public:
  explicit Forms(const Attention& a) : scores_(*a.scores), rank_(a.logits.shape().rank()) {
    // Several dimensions of rows have no one number.
    has_rows_ = a.batch_dims + 2 == rank_;
  }

  // Of logits at keys that are late, or seen.
  LogitForm At(Value v, bool is_late) {
    is_late_ = is_late;
    known_.clear();
    return Of(v);
  }
  bool found() const { return found_; }
  const Dim& offset() const { return offset_; }

 private:
  static LogitForm Constant(double value) {
    LogitForm form;
    form.is_known = true;
    form.addend = value;
    return form;
  }
  static bool IsConstant(const LogitForm& form) {
    return form.is_known && !form.reads_score && !form.bias;
  }

  LogitForm Of(Value v) {
    const auto it = known_.find(v.node);
    if (it != known_.end()) return it->second;
    const LogitForm form = Compute(v);
    known_[v.node] = form;
    return form;
  }

  LogitForm Compute(Value v) {
    const Node& node = *v.node;
    if (&node == &scores_) {
      LogitForm form;
      form.is_known = form.reads_score = true;
      form.factor = 1;
      return form;
    }
    if (const auto uniform = Uniform(v)) return Constant(*uniform);
    switch (node.op()) {
      case Op::kConvert:
        return Of(node.operand(0));
      case Op::kCompare:
        return OfComparison(node);
      case Op::kNot: {
        LogitForm form = Of(node.operand(0));
        form.addend = form.addend == 0 ? 1 : 0;
        form.is_known = IsConstant(form);
        return form;
      }
      case Op::kAnd:
      case Op::kOr:
        return OfLogic(Of(node.operand(0)), Of(node.operand(1)), node.op() == Op::kAnd ? 0 : 1);
      case Op::kSelect: {
        const LogitForm which = Of(node.operand(0));
        if (!IsConstant(which)) return {};
        return Of(node.operand(which.addend != 0 ? 1 : 2));
      }
      case Op::kAdd:
        return Sum(Of(node.operand(0)), Of(node.operand(1)), 1);
      case Op::kSub:
        return Sum(Of(node.operand(0)), Of(node.operand(1)), -1);
      case Op::kMul:
        return Product(Of(node.operand(0)), Of(node.operand(1)));
      case Op::kDiv: {
        LogitForm by = Of(node.operand(1));
        if (!IsConstant(by) || by.addend == 0) return {};
        by.addend = 1 / by.addend;
        return Product(Of(node.operand(0)), by);
      }
      case Op::kBroadcastInDim:
      case Op::kParameter: {
        LogitForm form;
        form.is_known = true;
        form.bias = v;
        return form;
      }
      default:
        return {};
    }
  }

  // Truth values: `strong` decides alone.
  static LogitForm OfLogic(const LogitForm& x, const LogitForm& y, double strong) {
    for (const LogitForm* one : {&x, &y}) {
      if (IsConstant(*one) && (one->addend != 0) == (strong != 0)) return Constant(strong);
    }
    return IsConstant(x) && IsConstant(y) ? Constant(1 - strong) : LogitForm();
  }

  static LogitForm Sum(LogitForm x, const LogitForm& y, double sign) {
    if (!x.is_known || !y.is_known || (x.bias && y.bias) || (y.bias && sign < 0)) return {};
    x.factor += sign * y.factor;
    x.addend += sign * y.addend;
    x.reads_score |= y.reads_score;
    if (y.bias) x.bias = y.bias;
    return x;
  }

  static LogitForm Product(LogitForm x, LogitForm y) {
    if (IsConstant(x)) std::swap(x, y);
    if (!x.is_known || !IsConstant(y) || (x.bias && y.addend != 1)) return {};
    x.factor *= y.addend;
    x.addend *= y.addend;
    return x;
  }

  std::optional<Place> PlaceOf(Value v) const {
    if (!ir::IsInteger(v.dtype())) return std::nullopt;
    if (const auto uniform = Uniform(v)) {
      Place place;
      place.addend = Dim(static_cast<int64_t>(*uniform));
      return place;
    }
    const Node& node = *v.node;
    switch (node.op()) {
      case Op::kConvert:
        return PlaceOf(node.operand(0));
      case Op::kIota:
        return OfDimension(static_cast<int>(node.Int(Attr::dimension)));
      case Op::kBroadcastInDim: {
        // Of an iota of fewer dimensions.
        const Node& source = *node.operand(0).node;
        if (source.op() != Op::kIota) return std::nullopt;
        const auto dimension = static_cast<size_t>(source.Int(Attr::dimension));
        return OfDimension(static_cast<int>(node.Ints(Attr::dimensions)[dimension]));
      }
      case Op::kAdd:
      case Op::kSub: {
        const auto x = PlaceOf(node.operand(0)), y = PlaceOf(node.operand(1));
        if (!x.has_value() || !y.has_value()) return std::nullopt;
        const int sign = node.op() == Op::kAdd ? 1 : -1;
        return Place{x->rows + sign * y->rows, x->keys + sign * y->keys,
                     x->addend + Dim(sign) * y->addend};
      }
      default:
        return std::nullopt;
    }
  }
  std::optional<Place> OfDimension(int dimension) const {
    Place place;
    if (dimension == rank_ - 1) {
      place.keys = 1;
    } else if (dimension == rank_ - 2 && has_rows_) {
      place.rows = 1;
    } else {
      return std::nullopt;
    }
    return place;
  }

  // Whether a key is late, or seen, where that is what is compared; the first offset counts.
  LogitForm OfComparison(const Node& node) {
    if (node.operand(0).shape().rank() != rank_) return {};
    const auto x = PlaceOf(node.operand(0)), y = PlaceOf(node.operand(1));
    if (!x.has_value() || !y.has_value()) return {};
    // x ? y as key - row ? bound, or row - key ? -bound.
    const int keys = x->keys - y->keys, rows = x->rows - y->rows;
    if (keys != -rows || (keys != 1 && keys != -1)) return {};
    std::string direction = node.String(Attr::direction);
    Dim bound = y->addend - x->addend;
    if (keys < 0) {
      bound = Dim(0) - bound;
      direction[0] = direction[0] == 'l' ? 'g' : direction[0] == 'g' ? 'l' : direction[0];
    }
    bool says_late;
    Dim offset;
    if (direction == "gt" || direction == "le") {  // key - row > bound: late
      offset = bound;
      says_late = direction == "gt";
    } else if (direction == "ge" || direction == "lt") {
      offset = bound - Dim(1);
      says_late = direction == "ge";
    } else {
      return {};
    }
    if (found_ && offset_ != offset) return {};
    found_ = true;
    offset_ = offset;
    return Constant(says_late == is_late_ ? 1 : 0);
  }

  const Node& scores_;
  const int rank_;
  bool has_rows_ = false;
  bool is_late_ = false;
  std::map<const Node*, LogitForm> known_;
  bool found_ = false;
  Dim offset_;
};

}  // namespace

LogitForms FindLogitForms(const Attention& attention) {
  Forms forms(attention);
  LogitForms result;
  result.seen = forms.At(attention.logits, /*is_late=*/false);
  result.late = forms.At(attention.logits, /*is_late=*/true);
  result.causal = forms.found() && result.late.is_known;
  result.offset = forms.offset();
  return result;
}

}  // namespace tektite::ops
