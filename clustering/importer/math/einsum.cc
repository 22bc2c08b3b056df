// Einsum: labels sorted into batch, contracted and free ones give a dot_general and a transpose.
//
//   "bqhd,bkhd->bhqk"   batch b, h; contracted d; free q and k
//   "...ij,jk->...ik"   the ellipsis stands for labels of its own, which broadcast
//
// Limits: one or two operands, as TensorFlow; no label twice in one operand or in the result.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "clustering/importer/import_table.h"
#include "jit/base/lists.h"

namespace tektite::importer {
namespace {

// Letters are themselves; 0x80 and up are an ellipsis' dimensions, counted from the right, so that
// shorter ellipses line up as broadcasting wants them.
using Labels = std::vector<int>;
constexpr int kEllipsis = 0x80;

struct Operand {
  Value value;
  Labels labels;
};

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

absl::StatusOr<Labels> ParseTerm(const NodeImport& op, absl::string_view term, int ellipsis_rank) {
  Labels labels;
  bool ellipsis_seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "..." && !ellipsis_seen) {
      for (int k = ellipsis_rank; k > 0; --k) labels.push_back(kEllipsis + k - 1);
      ellipsis_seen = true;
      i += 2;
    } else if (!absl::ascii_isalpha(term[i])) {
      return op.Refuse("equation term '", term, "'");
    } else if (Contains(labels, term[i])) {
      return op.Refuse("label '", std::string(1, term[i]), "' twice in '", term, "'");
    } else {
      labels.push_back(term[i]);
    }
  }
  return labels;
}

int EllipsisRank(absl::string_view term, int rank) {
  bool has = term.find("...") != absl::string_view::npos;
  return has ? rank - static_cast<int>(term.size() - 3) : 0;
}

absl::StatusOr<Equation> ParseEquation(const NodeImport& op) {
  std::string text(op.attrs().String("equation"));
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() != 2) return op.Refuse("equation '", text, "'");
  std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (static_cast<int>(terms.size()) != op.num_inputs()) return op.Refuse("equation '", text, "'");
  Equation equation;
  int longest = 0;
  for (int i = 0; i < op.num_inputs(); ++i) {
    int ellipsis = EllipsisRank(terms[i], op.InputRank(i));
    if (ellipsis < 0) return op.Refuse("'", terms[i], "' for rank ", op.InputRank(i));
    TEKTITE_ASSIGN_OR_RETURN(Labels labels, ParseTerm(op, terms[i], ellipsis));
    if (static_cast<int>(labels.size()) != op.InputRank(i)) {
      return op.Refuse("'", terms[i], "' for rank ", op.InputRank(i));
    }
    longest = std::max(longest, ellipsis);
    equation.inputs.push_back(labels);
  }
  TEKTITE_ASSIGN_OR_RETURN(equation.output, ParseTerm(op, sides[1], longest));
  return equation;
}

// Sums over the labels that stand nowhere else.
Operand SumAbsent(FuncBuilder& b, const Operand& x, const Labels& elsewhere) {
  std::vector<int64_t> axes;
  Operand result;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (Contains(elsewhere, x.labels[i])) {
      result.labels.push_back(x.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  result.value = axes.empty() ? x.value : b.Reduce(x.value, axes, "add");
  return result;
}

Labels Joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// An ellipsis dimension of size 1 that broadcasts against the other operand is left out: the other
// one provides it.
Operand DropStretched(FuncBuilder& b, const Operand& x, const Operand& other) {
  Operand result;
  Dims dims;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const Dim& d = x.value.shape().dim(static_cast<int>(i));
    if (x.labels[i] >= kEllipsis && d == Dim(1) && Contains(other.labels, x.labels[i])) continue;
    result.labels.push_back(x.labels[i]);
    dims.push_back(d);
  }
  result.value = b.Reshape(x.value, dims);
  return result;
}

int64_t PlaceOf(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

Operand Contract(FuncBuilder& b, const Operand& lhs, const Operand& rhs, const Labels& output) {
  ops::DotDims dims;
  Operand result;
  Labels lhs_free, rhs_free;
  for (size_t i = 0; i < lhs.labels.size(); ++i) {
    int label = lhs.labels[i];
    if (!Contains(rhs.labels, label)) {
      lhs_free.push_back(label);
      continue;
    }
    bool batch = Contains(output, label);
    (batch ? dims.lhs_batch : dims.lhs_contracting).push_back(static_cast<int64_t>(i));
    (batch ? dims.rhs_batch : dims.rhs_contracting).push_back(PlaceOf(rhs.labels, label));
    if (batch) result.labels.push_back(label);
  }
  for (int label : rhs.labels) {
    if (!Contains(lhs.labels, label)) rhs_free.push_back(label);
  }
  result.labels = Joined(Joined(result.labels, lhs_free), rhs_free);
  result.value = b.DotGeneral(lhs.value, rhs.value, dims);
  return result;
}

// Whether rhs x lhs has the result's labels in their final order, and lhs x rhs has not.
bool ShouldSwap(const Operand& lhs, const Operand& rhs, const Labels& output) {
  Labels batch, free;
  for (int label : rhs.labels) {
    if (Contains(lhs.labels, label) && Contains(output, label)) batch.push_back(label);
    if (!Contains(lhs.labels, label)) free.push_back(label);
  }
  for (int label : lhs.labels) {
    if (!Contains(rhs.labels, label)) free.push_back(label);
  }
  return Joined(batch, free) == output && !free.empty() && Contains(rhs.labels, free.front()) &&
         Contains(lhs.labels, free.back());
}

absl::StatusOr<Value> Arrange(NodeImport& op, const Operand& x, const Labels& output) {
  if (x.labels == output) return x.value;
  std::vector<int64_t> permutation;
  for (int label : output) {
    if (!Contains(x.labels, label)) return op.Refuse("a result label that no operand has");
    permutation.push_back(PlaceOf(x.labels, label));
  }
  return op.b().Transpose(x.value, permutation);
}

}  // namespace

absl::Status ImportEinsum(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.num_inputs() < 1 || op.num_inputs() > 2) return op.Refuse(op.num_inputs(), " operands");
  TEKTITE_ASSIGN_OR_RETURN(Equation equation, ParseEquation(op));
  Operand result{op.Input(0), equation.inputs[0]};
  if (!result.value) return op.Return(Value());
  if (op.num_inputs() == 1) {
    result = SumAbsent(b, result, equation.output);
  } else {
    Operand rhs{op.Input(1), equation.inputs[1]};
    if (!rhs.value) return op.Return(Value());
    Operand lhs = SumAbsent(b, result, Joined(equation.output, rhs.labels));
    rhs = SumAbsent(b, rhs, Joined(equation.output, lhs.labels));
    Operand lhs_kept = DropStretched(b, lhs, rhs);
    Operand rhs_kept = DropStretched(b, rhs, lhs_kept);
    if (!lhs_kept.value || !rhs_kept.value) return op.Return(Value());
    result = ShouldSwap(lhs_kept, rhs_kept, equation.output)
                 ? Contract(b, rhs_kept, lhs_kept, equation.output)
                 : Contract(b, lhs_kept, rhs_kept, equation.output);
  }
  if (!result.value) return op.Return(Value());
  TEKTITE_ASSIGN_OR_RETURN(Value y, Arrange(op, result, equation.output));
  return op.Return(y);
}

}  // namespace tektite::importer
