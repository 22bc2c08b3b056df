#include "jit/ir/dim.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/ir/dim_expr.h"
#include "jit/ir/symbols.h"

namespace tektite::ir {

struct DimAlgebra {
  using Poly = std::map<std::string, DimTerm>;

  static std::pair<int64_t, Poly> Open(const Dim& d) {
    Poly poly;
    if (d.is_constant()) return {d.value_, poly};
    for (const DimTerm& t : d.expr_->terms) poly.emplace(t.key, t);
    return {d.expr_->constant, poly};
  }

  static Dim Close(int64_t constant, const Poly& poly) {
    auto expr = std::make_shared<DimExpr>();
    expr->constant = constant;
    for (const auto& [key, term] : poly) {
      if (term.coefficient == 0) continue;
      int64_t c = term.coefficient;
      const char* joint = expr->text.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
      uint64_t magnitude = c < 0 ? -static_cast<uint64_t>(c) : static_cast<uint64_t>(c);
      absl::StrAppend(&expr->text, joint);
      if (magnitude != 1) absl::StrAppend(&expr->text, magnitude, "*");
      absl::StrAppend(&expr->text, key);
      expr->terms.push_back(term);
    }
    if (expr->terms.empty()) return Dim(constant);
    if (constant > 0) absl::StrAppend(&expr->text, " + ", constant);
    if (constant < 0) absl::StrAppend(&expr->text, " - ", -static_cast<uint64_t>(constant));
    Dim d;
    d.expr_ = std::move(expr);
    return d;
  }

  static Dim FromAtom(DimAtom atom) {
    DimTerm term{1, {}, atom.text};
    term.atoms.push_back(std::make_shared<const DimAtom>(std::move(atom)));
    Poly poly;
    poly.emplace(term.key, term);
    return Close(0, poly);
  }

  static std::string Wrapped(const Dim& d) {
    std::string text = d.ToString();
    bool simple = std::all_of(text.begin(), text.end(),
                              [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
    return simple ? text : absl::StrCat("(", text, ")");
  }

  static Dim Function(char function, const Dim& a, const Dim& b) {
    DimAtom atom;
    atom.function = function;
    atom.a = a;
    atom.b = b;
    switch (function) {
      case '/':
        atom.text = absl::StrCat("(", Wrapped(a), " floordiv ", Wrapped(b), ")");
        break;
      case '%':
        atom.text = absl::StrCat("(", Wrapped(a), " mod ", Wrapped(b), ")");
        break;
      case '>':
        atom.text = absl::StrCat("max(", a.ToString(), ", ", b.ToString(), ")");
        break;
      default:
        atom.text = absl::StrCat("min(", a.ToString(), ", ", b.ToString(), ")");
        break;
    }
    return FromAtom(std::move(atom));
  }

  static Dim Apply(char function, const Dim& a, const Dim& b) {
    switch (function) {
      case '/':
        return FloorDiv(a, b);
      case '%':
        return Mod(a, b);
      case '>':
        return Max(a, b);
      default:
        return Min(a, b);
    }
  }

  // `d` as k * quotient + rest, where no term of the rest is a multiple of k and its constant is 0
  // to k - 1: equal values have one form, (n - 1) floordiv 2 + 1 is (n + 1) floordiv 2.
  struct Division {
    Dim quotient, rest;
  };
  static Division Divide(const Dim& d, int64_t k) {
    auto [constant, rest] = Open(d);
    const bool fits = !IsSaturated(constant) && std::none_of(rest.begin(), rest.end(), [](auto& t) {
      return IsSaturated(t.second.coefficient);
    });
    if (!fits) return {Dim(kMostInt64), Dim(kMostInt64)};
    Poly quotient;
    for (auto it = rest.begin(); it != rest.end();) {
      if (it->second.coefficient % k != 0) {
        ++it;
        continue;
      }
      DimTerm term = it->second;
      term.coefficient /= k;
      quotient.emplace(it->first, term);
      it = rest.erase(it);
    }
    return {Close(DivideFloor(constant, k), quotient), Close(ModuloFloor(constant, k), rest)};
  }

  static Dim Substitute(const Dim& d, const SymbolMap& symbols) {
    if (d.is_constant()) return d;
    Dim sum(d.expr_->constant);
    for (const DimTerm& term : d.expr_->terms) {
      Dim product(term.coefficient);
      for (const auto& atom : term.atoms) {
        auto it = symbols.find(atom->text);
        if (it != symbols.end()) {
          product = product * it->second;
        } else if (atom->function == 0) {
          product = product * Dim::Symbol(atom->text);
        } else {
          product = product * Apply(atom->function, Substitute(atom->a, symbols),
                                    Substitute(atom->b, symbols));
        }
      }
      sum = sum + product;
    }
    return sum;
  }

  // Whatever the symbols are, as long as they are not negative.
  static bool NeverNegative(const Dim& d, int depth = 0) {
    if (d.is_constant()) return d.value_ >= 0;
    if (IsNeverNegativeAsItStands(d)) return true;
    if (depth == kMostCases) return false;
    // One of max(a, b) and min(a, b) after the other: d is at least as large as with a, and with b.
    for (const DimTerm& term : d.expr_->terms) {
      if (term.atoms.size() != 1 || (term.coefficient != 1 && term.coefficient != -1)) continue;
      const DimAtom& atom = *term.atoms[0];
      if (atom.function != '>' && atom.function != '<') continue;
      const Dim sign(term.coefficient), rest = d - sign * Function(atom.function, atom.a, atom.b);
      const bool a = NeverNegative(rest + sign * atom.a, depth + 1);
      const bool is_either = (atom.function == '>') == (term.coefficient > 0);
      if (a == is_either) return a;
      return NeverNegative(rest + sign * atom.b, depth + 1);
    }
    return false;
  }

  static bool IsNeverNegativeAsItStands(const Dim& d) {
    if (d.expr_->constant < 0) return false;
    for (const DimTerm& term : d.expr_->terms) {
      if (term.coefficient < 0) return false;
      for (const auto& atom : term.atoms) {
        if (!NeverNegative(*atom)) return false;
      }
    }
    return true;
  }

  static constexpr int kMostCases = 4;

  static bool NeverNegative(const DimAtom& atom) {
    switch (atom.function) {
      case 0:
        return true;
      case '/':
      case '<':
        return NeverNegative(atom.a) && NeverNegative(atom.b);
      case '%':  // has the divisor's sign
        return NeverNegative(atom.b);
      default:
        return NeverNegative(atom.a) || NeverNegative(atom.b);
    }
  }

  static void Collect(const Dim& d, std::set<std::string>* symbols) {
    if (d.is_constant()) return;
    for (const DimTerm& term : d.expr_->terms) {
      for (const auto& atom : term.atoms) {
        if (atom->function == 0) {
          symbols->insert(atom->text);
        } else {
          Collect(atom->a, symbols);
          Collect(atom->b, symbols);
        }
      }
    }
  }
};

namespace {

// Recursive descent over sums of products; depth is bounded by kMaxDepth.
class DimParser {
 public:
  explicit DimParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Dim> ParseAll() {
    TEKTITE_ASSIGN_OR_RETURN(Dim d, Sum(0));
    Skip();
    if (!text_.empty()) return Error("unexpected text");
    return d;
  }

 private:
  static constexpr int kMaxDepth = 64;
  static constexpr size_t kMaxText = 8192;

  absl::Status Error(absl::string_view what) const {
    return InvalidArgument("dimension: ", what, " at '", text_.substr(0, 20), "'");
  }
  void Skip() { text_ = absl::StripLeadingAsciiWhitespace(text_); }
  bool Eat(absl::string_view token) {
    Skip();
    if (!absl::StartsWith(text_, token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  absl::StatusOr<Dim> Sum(int depth) {
    if (depth > kMaxDepth) return Error("nested too deeply");
    TEKTITE_ASSIGN_OR_RETURN(Dim sum, Product(depth));
    while (true) {
      if (Eat("+")) {
        TEKTITE_ASSIGN_OR_RETURN(Dim d, Product(depth));
        sum = sum + d;
      } else if (Eat("-")) {
        TEKTITE_ASSIGN_OR_RETURN(Dim d, Product(depth));
        sum = sum - d;
      } else {
        return sum;
      }
    }
  }

  absl::StatusOr<Dim> Product(int depth) {
    TEKTITE_ASSIGN_OR_RETURN(Dim product, Atom(depth));
    while (true) {
      bool multiply = Eat("*"), divide = !multiply && Eat("floordiv");
      bool modulo = !multiply && !divide && Eat("mod");
      if (!multiply && !divide && !modulo) return product;
      TEKTITE_ASSIGN_OR_RETURN(Dim d, Atom(depth));
      product = multiply ? product * d : divide ? FloorDiv(product, d) : Mod(product, d);
      // A product of n sums has 2^n terms.
      if (product.ToString().size() > kMaxText) return Error("expression too large");
    }
  }

  absl::StatusOr<Dim> Atom(int depth) {
    if (depth > kMaxDepth) return Error("nested too deeply");
    if (Eat("-")) {
      TEKTITE_ASSIGN_OR_RETURN(Dim d, Product(depth + 1));
      return Dim(0) - d;
    }
    if (Eat("(")) {
      TEKTITE_ASSIGN_OR_RETURN(Dim d, Sum(depth + 1));
      if (!Eat(")")) return Error("expected ')'");
      return d;
    }
    bool max = Eat("max("), min = !max && Eat("min(");
    if (max || min) {
      TEKTITE_ASSIGN_OR_RETURN(Dim a, Sum(depth + 1));
      if (!Eat(",")) return Error("expected ','");
      TEKTITE_ASSIGN_OR_RETURN(Dim b, Sum(depth + 1));
      if (!Eat(")")) return Error("expected ')'");
      return max ? Max(a, b) : Min(a, b);
    }
    Skip();
    size_t n = 0;
    while (n < text_.size() && (absl::ascii_isalnum(text_[n]) || text_[n] == '_')) ++n;
    if (n == 0) return Error("expected a number or a symbol");
    absl::string_view word = text_.substr(0, n);
    if (absl::ascii_isdigit(word[0])) {
      int64_t value;
      if (!absl::SimpleAtoi(word, &value)) return Error("number out of range");
      text_.remove_prefix(n);
      return Dim(value);
    }
    text_.remove_prefix(n);
    return Dim::Symbol(word);
  }

  absl::string_view text_;
};

}  // namespace

Dim Dim::Symbol(absl::string_view name) {
  DimAtom atom;
  atom.text = std::string(name);
  return DimAlgebra::FromAtom(std::move(atom));
}

std::string Dim::ToString() const { return is_constant() ? absl::StrCat(value_) : expr_->text; }

absl::StatusOr<Dim> Dim::Parse(absl::string_view text) { return DimParser(text).ParseAll(); }

Dim Dim::Substitute(const SymbolMap& symbols) const {
  return DimAlgebra::Substitute(*this, symbols);
}

void Dim::CollectSymbols(std::set<std::string>* symbols) const {
  DimAlgebra::Collect(*this, symbols);
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) {
    return a.is_constant() && b.is_constant() && a.value_ == b.value_;
  }
  return a.expr_ == b.expr_ || a.expr_->text == b.expr_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(SaturatingAdd(a.value_, b.value_));
  auto [constant, poly] = DimAlgebra::Open(a);
  auto [other_constant, other] = DimAlgebra::Open(b);
  for (const auto& [key, term] : other) {
    auto [it, fresh] = poly.emplace(key, term);
    if (!fresh) {
      it->second.coefficient = SaturatingAdd(it->second.coefficient, term.coefficient);
    }
  }
  return DimAlgebra::Close(SaturatingAdd(constant, other_constant), poly);
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(SaturatingSub(a.value_, b.value_));
  return a + b * Dim(-1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(SaturatingMul(a.value_, b.value_));
  auto [a_constant, a_poly] = DimAlgebra::Open(a);
  auto [b_constant, b_poly] = DimAlgebra::Open(b);
  DimAlgebra::Poly result;
  auto add = [&result](DimTerm term) {
    auto [it, fresh] = result.emplace(term.key, term);
    if (!fresh) {
      it->second.coefficient = SaturatingAdd(it->second.coefficient, term.coefficient);
    }
  };
  for (const auto& [key, term] : a_poly) {
    DimTerm scaled = term;
    scaled.coefficient = SaturatingMul(scaled.coefficient, b_constant);
    add(scaled);
    for (const auto& [other_key, other] : b_poly) {
      DimTerm product{SaturatingMul(term.coefficient, other.coefficient), term.atoms, ""};
      product.atoms.insert(product.atoms.end(), other.atoms.begin(), other.atoms.end());
      std::sort(product.atoms.begin(), product.atoms.end(),
                [](const auto& x, const auto& y) { return x->text < y->text; });
      for (const auto& atom : product.atoms) {
        absl::StrAppend(&product.key, product.key.empty() ? "" : "*", atom->text);
      }
      add(product);
    }
  }
  for (const auto& [key, term] : b_poly) {
    DimTerm scaled = term;
    scaled.coefficient = SaturatingMul(scaled.coefficient, a_constant);
    add(scaled);
  }
  return DimAlgebra::Close(SaturatingMul(a_constant, b_constant), result);
}

Dim FloorDiv(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(DivideFloor(a.value(), b.value()));
  if (a == b) return Dim(1);  // a dimension used as a divisor is never zero where it matters
  if (!b.is_constant() || b.value() <= 0) return DimAlgebra::Function('/', a, b);
  const DimAlgebra::Division division = DimAlgebra::Divide(a, b.value());
  if (division.rest.is_constant()) return division.quotient;
  return division.quotient + DimAlgebra::Function('/', division.rest, b);
}

Dim CeilDiv(const Dim& a, const Dim& b) { return FloorDiv(a + b - Dim(1), b); }

Dim Mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    return Dim(ModuloFloor(a.value(), b.value()));
  }
  if (!b.is_constant() || b.value() <= 0) return DimAlgebra::Function('%', a, b);
  const Dim rest = DimAlgebra::Divide(a, b.value()).rest;
  return rest.is_constant() ? rest : DimAlgebra::Function('%', rest, b);
}

bool IsAtom(const Dim& d) {
  const DimExpr* expr = DimExpr::Of(d);
  return expr != nullptr && expr->constant == 0 && expr->terms.size() == 1 &&
         expr->terms[0].coefficient == 1 && expr->terms[0].atoms.size() == 1;
}

bool NeverLess(const Dim& a, const Dim& b) { return DimAlgebra::NeverNegative(a - b); }

Dim Max(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(std::max(a.value(), b.value()));
  if (NeverLess(a, b)) return a;
  if (NeverLess(b, a)) return b;
  return b < a ? Max(b, a) : DimAlgebra::Function('>', a, b);
}

Dim Min(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(std::min(a.value(), b.value()));
  if (NeverLess(a, b)) return b;
  if (NeverLess(b, a)) return a;
  return b < a ? Min(b, a) : DimAlgebra::Function('<', a, b);
}

}  // namespace tektite::ir
