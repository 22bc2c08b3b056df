// Updates of variables by the rules of optimizers, as reads, arithmetic and assignments.
//
// A rule's first inputs are the variables that it updates, the others scalars (a learning rate, a
// decay) and the gradient, which has the variables' shape.  Each rule is TensorFlow's formula in
// TensorFlow's order; 16-bit floats are computed in f32 and rounded once for each variable.
//
// The same rules serve gradients of some rows (ResourceSparseApply*): there they go over these rows
// one after the other, so that the second of two equal indices finds what the first has left
// (row_updates.h).  Such an op has the dense one's inputs, with the indices behind the gradient.
#include <initializer_list>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/row_updates.h"

namespace tektite::importer {
namespace {

// A value in a formula.  Scalars stretch to tensors, and numbers take the other side's type.
class Term {
 public:
  Term(FuncBuilder* b, Value v) : b_(b), v_(v) {}
  Value value() const { return v_; }
  Term Like(double x) const { return {b_, v_ ? b_->FullLike(v_, x) : v_}; }
  Term Of(Op op) const { return {b_, b_->Unary(op, v_)}; }
  friend Term operator+(Term x, Term y) { return {x.b_, x.b_->Add(x.v_, y.v_)}; }
  friend Term operator-(Term x, Term y) { return {x.b_, x.b_->Sub(x.v_, y.v_)}; }
  friend Term operator*(Term x, Term y) { return {x.b_, x.b_->Mul(x.v_, y.v_)}; }
  friend Term operator/(Term x, Term y) { return {x.b_, x.b_->Div(x.v_, y.v_)}; }
  friend Term operator-(double x, Term y) { return y.Like(x) - y; }
  friend Term operator+(double x, Term y) { return y.Like(x) + y; }
  friend Term operator*(double x, Term y) { return y.Like(x) * y; }
  friend Term Power(Term x, Term y) { return {x.b_, x.b_->BinaryImplicit(Op::kPow, x.v_, y.v_)}; }
  friend Term Above(Term x, Term y) { return {x.b_, x.b_->CompareImplicit(x.v_, y.v_, "gt")}; }
  friend Term Equal(Term x, Term y) { return {x.b_, x.b_->CompareImplicit(x.v_, y.v_, "eq")}; }
  friend Term Choose(Term which, Term x, Term y) {
    return {x.b_, x.b_->SelectImplicit(which.v_, x.v_, y.v_)};
  }

 private:
  FuncBuilder* b_;
  Value v_;
};

Term Abs(Term x) { return x.Of(Op::kAbs); }
Term Sign(Term x) { return 0 + x.Of(Op::kSign); }  // 0 of -0
Term Sqrt(Term x) { return x.Of(Op::kSqrt); }
Term Rsqrt(Term x) { return x.Of(Op::kRsqrt); }
Term Square(Term x) { return x * x; }
// The first one beside what is no number.
Term Greater(Term x, Term y) { return Choose(Above(y, x), y, x); }

// What a rule makes of its inputs: the variables' new values, in their order; fewer leave the last
// variables as they are.
using Terms = std::vector<Term>;
using Step = Terms (*)(const NodeImport& op, const Terms& in);

struct Rule {
  int variables;
  int gradient;  // the input that has the variables' shape
  Step step;
};

Terms GradientDescent(const NodeImport&, const Terms& in) { return {in[0] - in[2] * in[1]}; }

Terms Momentum(const NodeImport& op, const Terms& in) {
  const Term &lr = in[2], &grad = in[3], &momentum = in[4];
  const Term accum = in[1] * momentum + grad;
  if (op.attrs().Bool("use_nesterov", false)) {
    return {in[0] - (grad * lr + accum * momentum * lr), accum};
  }
  return {in[0] - accum * lr, accum};
}

Terms KerasMomentum(const NodeImport& op, const Terms& in) {
  const Term &lr = in[2], &grad = in[3], &momentum = in[4];
  const Term accum = in[1] * momentum - grad * lr;
  if (op.attrs().Bool("use_nesterov", false)) {
    return {in[0] + (accum * momentum - grad * lr), accum};
  }
  return {in[0] + accum, accum};
}

Terms Adam(const NodeImport& op, const Terms& in) {
  const Term &beta1 = in[6], &beta2 = in[7], &epsilon = in[8], &grad = in[9];
  const Term rate = in[5] * Sqrt(1 - in[4]) / (1 - in[3]);
  const Term m = in[1] + (grad - in[1]) * (1 - beta1);
  const Term v = in[2] + (Square(grad) - in[2]) * (1 - beta2);
  const bool nesterov = op.attrs().Bool("use_nesterov", false);
  const Term step = nesterov ? (grad * (1 - beta1) + beta1 * m) * rate : m * rate;
  return {in[0] - step / (Sqrt(v) + epsilon), m, v};
}

Terms AdaMax(const NodeImport&, const Terms& in) {
  const Term &beta1 = in[5], &beta2 = in[6], &epsilon = in[7], &grad = in[8];
  const Term m = in[1] + (grad - in[1]) * (1 - beta1);
  const Term v = Greater(beta2 * in[2], Abs(grad));
  return {in[0] - in[4] / (1 - in[3]) * (m / (v + epsilon)), m, v};
}

Terms Adadelta(const NodeImport&, const Terms& in) {
  const Term &lr = in[3], &rho = in[4], &epsilon = in[5], &grad = in[6];
  const Term accum = in[1] * rho + Square(grad) * (1 - rho);
  const Term update = Sqrt(in[2] + epsilon) * Rsqrt(accum + epsilon) * grad;
  return {in[0] - update * lr, accum, in[2] * rho + Square(update) * (1 - rho)};
}

Terms Adagrad(const NodeImport& op, const Terms& in) {
  const Term& grad = in[3];
  const Term accum = op.attrs().Bool("update_slots", true) ? in[1] + Square(grad) : in[1];
  return {in[0] - grad * in[2] * Rsqrt(accum), accum};
}

Terms AdagradV2(const NodeImport& op, const Terms& in) {
  const Term& grad = in[4];
  const Term accum = op.attrs().Bool("update_slots", true) ? in[1] + Square(grad) : in[1];
  return {in[0] - grad * in[2] / (Sqrt(accum) + in[3]), accum};
}

Terms AdagradDA(const NodeImport&, const Terms& in) {
  const Term &grad = in[3], &lr = in[4], &l1 = in[5], &l2 = in[6], &steps = in[7];
  const Term sum = in[1] + grad, squares = in[2] + Square(grad);
  const Term shrunk = Sign(sum) * Greater(Abs(sum) - l1 * steps, sum.Like(0));
  const Term top = Choose(Above(l1, l1.Like(0)), shrunk, sum);
  return {-1 * lr * top / (l2 * steps * lr + Sqrt(squares)), sum, squares};
}

constexpr absl::string_view kSparse = "ResourceSparseApply";

bool IsSparse(const NodeImport& op) { return absl::StartsWith(op.op(), kSparse); }

// TensorFlow's dense kernels move an average towards the new value, those of rows weigh the two:
// only with these does an infinite average stay so.
Term Average(const NodeImport& op, const Term& average, const Term& value, const Term& rho) {
  return IsSparse(op) ? average * rho + value * (1 - rho) : average + (value - average) * (1 - rho);
}

Terms RmsProp(const NodeImport& op, const Terms& in) {
  const Term &lr = in[3], &rho = in[4], &momentum = in[5], &epsilon = in[6], &grad = in[7];
  const Term ms = Average(op, in[1], Square(grad), rho);
  const Term mom = in[2] * momentum + (grad * lr) / Sqrt(ms + epsilon);
  return {in[0] - mom, ms, mom};
}

Terms CenteredRmsProp(const NodeImport& op, const Terms& in) {
  const Term &lr = in[4], &rho = in[5], &momentum = in[6], &epsilon = in[7], &grad = in[8];
  const Term ms = Average(op, in[2], Square(grad), rho);
  const Term mg = Average(op, in[1], grad, rho);
  const Term mom = in[3] * momentum + (grad * lr) / Sqrt((ms - Square(mg)) + epsilon);
  return {in[0] - mom, mg, ms, mom};
}

// H. B. McMahan et al., "Ad click prediction: a view from the trenches" (2013).  The power is
// nearly always a constant -1/2, which is a root: input `power` of the dense op.
Terms FtrlStep(const NodeImport& op, const Terms& in, const Term& shrunk_grad, int power) {
  const Term &grad = in[3], &lr = in[4], &l1 = in[5], &l2 = in[6];
  const Term accum = in[1] + Square(grad);
  const std::optional<Literal>& known = op.InputInfo(power + IsSparse(op)).literal;
  const bool is_root = known && known->num_elements() == 1 && known->AsDouble(0) == -0.5;
  const auto root = [&](const Term& x) {
    if (is_root) return Sqrt(x);
    const Term& exponent = in[power];
    return Choose(Equal(exponent, exponent.Like(-0.5)), Sqrt(x), Power(x, -1 * exponent));
  };
  const bool multiplies = op.attrs().Bool("multiply_linear_by_lr", false);
  const Term growth = root(accum) - root(in[1]);
  const Term linear = multiplies ? in[2] + (shrunk_grad * lr - growth * in[0])
                                 : in[2] + (shrunk_grad - growth / lr * in[0]);
  const Term bound = multiplies ? l1 * lr : l1;
  const Term bottom = multiplies ? root(accum) + 2 * l2 * lr : root(accum) / lr + 2 * l2;
  if (IsSparse(op)) {  // whose weights NaN reaches
    const Term low = -1 * bound;
    const Term bounded =
        Choose(Above(linear, bound), bound, Choose(Above(low, linear), low, linear));
    return {(bounded - linear) / bottom, accum, linear};
  }
  const Term top = bound * Sign(linear) - linear;
  return {Choose(Above(Abs(linear), bound), top / bottom, linear.Like(0)), accum, linear};
}

Terms Ftrl(const NodeImport& op, const Terms& in) { return FtrlStep(op, in, in[3], 7); }

Terms FtrlV2(const NodeImport& op, const Terms& in) {
  return FtrlStep(op, in, in[3] + 2 * in[7] * in[0], 8);
}

// Both of I. Bello et al., "Neural optimizer search with reinforcement learning" (2017).
Terms AddSign(const NodeImport&, const Terms& in) {
  const Term &lr = in[2], &alpha = in[3], &decay = in[4], &beta = in[5], &grad = in[6];
  const Term m = in[1] * beta + grad * (1 - beta);
  return {in[0] - lr * (alpha + decay * (Sign(grad) * Sign(m))) * grad, m};
}

Terms PowerSign(const NodeImport&, const Terms& in) {
  const Term &lr = in[2], &base = in[3], &decay = in[4], &beta = in[5], &grad = in[6];
  const Term m = in[1] * beta + grad * (1 - beta);
  return {in[0] - lr * (base * decay * (Sign(grad) * Sign(m))).Of(Op::kExp) * grad, m};
}

// The least value of a step's square distance and both penalties.
Term Shrink(const Term& x, const Term& lr, const Term& l1, const Term& l2) {
  const Term nearer = Sign(x) * Greater(Abs(x) - lr * l1, x.Like(0));
  return Choose(Above(l1, l1.Like(0)), nearer, x) / (1 + l2 * lr);
}

Terms ProximalGradientDescent(const NodeImport&, const Terms& in) {
  return {Shrink(in[0] - in[4] * in[1], in[1], in[2], in[3])};
}

Terms ProximalAdagrad(const NodeImport&, const Terms& in) {
  const Term& grad = in[5];
  const Term accum = in[1] + Square(grad);
  const Term lr = in[2] * Rsqrt(accum);
  return {Shrink(in[0] - grad * lr, lr, in[3], in[4]), accum};
}

const absl::flat_hash_map<absl::string_view, Rule>& Rules() {
  static const auto& rules = *new absl::flat_hash_map<absl::string_view, Rule>({
      {"ResourceApplyAdaMax", {3, 8, AdaMax}},
      {"ResourceApplyAdadelta", {3, 6, Adadelta}},
      {"ResourceApplyAdagrad", {2, 3, Adagrad}},
      {"ResourceApplyAdagradDA", {3, 3, AdagradDA}},
      {"ResourceApplyAdagradV2", {2, 4, AdagradV2}},
      {"ResourceApplyAdam", {3, 9, Adam}},
      {"ResourceApplyAddSign", {2, 6, AddSign}},
      {"ResourceApplyCenteredRMSProp", {4, 8, CenteredRmsProp}},
      {"ResourceApplyFtrl", {3, 3, Ftrl}},
      {"ResourceApplyFtrlV2", {3, 3, FtrlV2}},
      {"ResourceApplyGradientDescent", {1, 2, GradientDescent}},
      {"ResourceApplyKerasMomentum", {2, 3, KerasMomentum}},
      {"ResourceApplyMomentum", {2, 3, Momentum}},
      {"ResourceApplyPowerSign", {2, 6, PowerSign}},
      {"ResourceApplyProximalAdagrad", {2, 5, ProximalAdagrad}},
      {"ResourceApplyProximalGradientDescent", {1, 4, ProximalGradientDescent}},
      {"ResourceApplyRMSProp", {3, 7, RmsProp}},
  });
  return rules;
}

}  // namespace

absl::Status ImportOptimizer(NodeImport& op) {
  FuncBuilder& b = op.b();
  const auto rule = Rules().find(op.op());
  if (rule == Rules().end()) return op.Refuse("no such rule");
  const auto& [variables, gradient, step] = rule->second;
  if (op.num_inputs() <= gradient) return op.Refuse("too few inputs");
  TEKTITE_ASSIGN_OR_RETURN(const Value variable, op.Variable(0));
  const Shape shape = variable.shape();
  const DType dtype = shape.dtype();
  if (!ir::IsFloat(dtype)) return op.Refuse(ir::DTypeName(dtype));
  const DType wide = AccumulatorType(dtype);
  Terms in;
  for (int i = 0; i < op.num_inputs(); ++i) {
    Value v;
    if (i < variables) {
      TEKTITE_ASSIGN_OR_RETURN(v, op.Variable(i));
    } else {
      v = op.Input(i);
      if (!v) return op.Refuse(b.status().message());
    }
    // Otherwise the host has an error to raise.
    const bool is_tensor = i < variables || i == gradient;
    if (is_tensor ? v.shape() != shape : v.shape().rank() != 0) {
      return op.Refuse("input ", i, " is ", v.shape().ToString());
    }
    in.push_back(Term(&b, b.Convert(v, wide)));
  }
  const Terms updated = step(op, in);
  for (size_t i = 0; i < updated.size(); ++i) {
    Value content = b.Convert(updated[i].value(), dtype);
    if (!b.status().ok()) return op.Refuse(b.status().message());
    TEKTITE_RETURN_IF_ERROR(op.SetVariable(static_cast<int>(i), content));
  }
  return absl::OkStatus();
}

absl::Status ImportSparseOptimizer(NodeImport& op) {
  const auto found =
      Rules().find(absl::StrCat("ResourceApply", absl::StripPrefix(op.op(), kSparse)));
  if (found == Rules().end()) return op.Refuse("no such rule");
  const Rule& rule = found->second;
  const int indices = rule.gradient + 1;
  if (op.num_inputs() <= indices) return op.Refuse("too few inputs");
  std::vector<Value> variables, others;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (i == indices) continue;
    Value v;
    if (i < rule.variables) {
      TEKTITE_ASSIGN_OR_RETURN(v, op.Variable(i));
    } else {
      v = op.Input(i);
      if (!v) return op.Refuse(op.b().status().message());
    }
    // Otherwise the host has an error to raise.
    if (i >= rule.variables && (v.shape().rank() == 0) == (i == rule.gradient)) {
      return op.Refuse("input ", i, " is ", v.shape().ToString());
    }
    (i < rule.variables ? variables : others).push_back(v);
  }
  const DType dtype = variables[0].dtype();
  if (!ir::IsFloat(dtype)) return op.Refuse(ir::DTypeName(dtype));
  const RowRule step = [&](FuncBuilder& b, const std::vector<Value>& elements) {
    Terms in;
    for (const Value v : elements) in.push_back(Term(&b, b.Convert(v, AccumulatorType(dtype))));
    std::vector<Value> updated;
    for (const Term& term : rule.step(op, in)) updated.push_back(b.Convert(term.value(), dtype));
    return updated;
  };
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> updated,
                           UpdateRows(op, variables, indices, rule.gradient, others, step));
  for (size_t i = 0; i < updated.size(); ++i) {
    TEKTITE_RETURN_IF_ERROR(op.SetVariable(static_cast<int>(i), updated[i]));
  }
  return absl::OkStatus();
}

}  // namespace tektite::importer
