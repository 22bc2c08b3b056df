#include "jit/passes/quantization/byte_values.h"

#include <cmath>

#include "jit/ops/ops.h"
#include "jit/passes/names.h"
#include "jit/passes/narrow_types.h"
#include "jit/passes/quantization/constant_steps.h"

namespace tektite::passes {
namespace {

constexpr float kMostU8 = 255, kLeastS8 = -128, kMostS8 = 127;
constexpr int kExponentOfByte = 8;

bool IsRounded(Value v) {
  const Op op = v.node->op();
  return op == Op::kFloor || op == Op::kRoundEven || op == Op::kRoundAway;
}

// The step that `v` repeats: a scalar, or a vector along one dimension.
bool ReadStep(Value v, ByteForm* form) {
  if (v.node->op() != Op::kBroadcastInDim) return false;
  const Value from = v.node->operand(0);
  if (from.shape().rank() > 1) return false;
  form->step = from;
  form->axis = from.shape().rank() == 0 ? -1 : static_cast<int>(v.node->Ints(Attr::dimensions)[0]);
  return true;
}

// value = numbers * step
std::optional<ByteForm> StepsOfProduct(Value v) {
  if (v.dtype() != DType::kF32 || v.node->op() != Op::kMul) return std::nullopt;
  for (const int i : {0, 1}) {
    ByteForm form;
    form.base = v;
    form.numbers = v.node->operand(i);
    if (IsRounded(form.numbers) && ReadStep(v.node->operand(1 - i), &form)) return form;
  }
  return std::nullopt;
}

bool IsZero(Value v) {
  while (v.node->op() == Op::kBroadcastInDim) v = v.node->operand(0);
  if (v.node->op() != Op::kConstant) return false;
  const ir::Literal& literal = v.node->attrs().GetLiteral(Attr::value);
  return literal.num_elements() == 1 && literal.AsDouble(0) == 0;
}

// The same, or 0 where a range was never measured: a step of 0 then.
std::optional<ByteForm> StepsOf(ir::Graph& graph, Value v) {
  if (v.node->op() != Op::kSelect || !IsZero(v.node->operand(1))) return StepsOfProduct(v);
  const Value unset = v.node->operand(0);
  std::optional<ByteForm> form = StepsOfProduct(v.node->operand(2));
  if (!form || unset.node->op() != Op::kBroadcastInDim ||
      unset.node->operand_shape(0).dims() != form->step.shape().dims() ||
      (form->axis >= 0 && unset.node->Ints(Attr::dimensions)[0] != form->axis)) {
    return std::nullopt;
  }
  FuncBuilder b(&graph, v.node);
  form->base = v;
  form->step = b.Select(unset.node->operand(0), b.FullLike(form->step, 0), form->step);
  return form;
}

Value BelowMovements(Value v) {
  while (IsMoved(*v.node)) v = v.node->operand(0);
  return v;
}

// Where dimension `axis` of the operand is in the result; -1: it is in none of its own.
int AxisBehind(const Node& movement, int axis) {
  if (movement.op() == Op::kTranspose) {
    const std::vector<int64_t>& permutation = movement.Ints(Attr::permutation);
    for (size_t i = 0; i < permutation.size(); ++i) {
      if (permutation[i] == axis) return static_cast<int>(i);
    }
    return -1;
  }
  const ir::Shape &from = movement.operand_shape(0), &to = movement.shape();
  const bool is_last = axis == from.rank() - 1 && to.rank() > 0;
  return is_last && from.dim(axis) == to.dim(to.rank() - 1) ? to.rank() - 1 : -1;
}

// The dimension of `v` that has the steps of the base's `axis`.
int AxisOf(Value v, Value base, int axis) {
  if (v == base) return axis;
  const int inner = AxisOf(v.node->operand(0), base, axis);
  return inner < 0 ? inner : AxisBehind(*v.node, inner);
}

}  // namespace

std::optional<ByteForm> ByteValues::Rows(Value v) {
  const Value base = BelowMovements(v);
  if (const auto it = rows_.find(base); it != rows_.end()) return it->second;
  std::optional<ByteForm>& form = rows_[base];
  form = StepsOf(graph_, base);
  if (!form || form->axis >= 0) return form = std::nullopt;
  const ScalarRange range = ranges_.Of(form->numbers);
  const Bound &low = range.low, &high = range.high;
  if (low.number && high.number) {
    const float least = *low.number, most = *high.number;
    if (least >= 0 && most <= kMostU8) {
      form->dtype = DType::kU8;
    } else if (least >= kLeastS8 && most <= kMostS8) {
      form->dtype = DType::kS8;
    } else if (most - least <= kMostU8) {
      form->dtype = DType::kU8;
      form->zero = low;
    } else {
      form = std::nullopt;
    }
    return form;
  }
  form->dtype = DType::kU8;
  if (range.clamped_at_zero) {
    form->at_least.push_back({low, 0.0f});
    form->at_most.push_back({high, kMostU8});
    return form;
  }
  FuncBuilder b(&graph_, form->numbers.node);
  form->zero = low;
  form->at_most.push_back({ScalarRanges::Apply(b, Op::kSub, high, low), kMostU8});
  return form;
}

std::optional<ByteForm> ByteValues::ConstantWeights(Value v, int columns) {
  const auto found = FindSteps(v.node->attrs().GetLiteral(Attr::value), columns);
  if (!found) return std::nullopt;
  ByteForm form;
  form.base = v;
  form.axis = columns;
  FuncBuilder b(&graph_, v.node);
  form.step = b.Constant(found->steps);
  made_[v] = b.Constant(found->bytes);
  return form;
}

std::optional<ByteForm> ByteValues::Weights(Value v, int columns) {
  if (v.node->op() == Op::kConstant) return ConstantWeights(v, columns);
  const Value base = BelowMovements(v);
  std::optional<ByteForm> form = StepsOf(graph_, base);
  if (!form || !stable_.contains(v.node)) return std::nullopt;
  if (form->axis >= 0) {
    form->axis = AxisOf(v, base, form->axis);
    if (form->axis != columns) return std::nullopt;
  }
  const ScalarRange range = ranges_.Of(form->numbers);
  const auto exceeds = [](const Bound& bound, float least, float most) {
    return bound.number && std::isfinite(*bound.number) &&
           !(*bound.number >= least && *bound.number <= most);
  };
  if (exceeds(range.low, kLeastS8, kMostS8) || exceeds(range.high, kLeastS8, kMostS8)) {
    return std::nullopt;
  }
  return form;
}

Value ByteValues::MakeBase(const ByteForm& form) {
  FuncBuilder b(&graph_, form.base.node);
  b.set_name(form.base.node->name());
  const bool is_weights = stable_.contains(form.base.node);
  if (is_weights) {  // their ranges are a matter of each
    const Value numbers = form.numbers;
    magnitudes_.Check(b, b.Binary(Op::kAnd, b.Compare(numbers, b.FullLike(numbers, kLeastS8), "ge"),
                                  b.Compare(numbers, b.FullLike(numbers, kMostS8), "le")));
    return b.Convert(numbers, form.dtype);
  }
  magnitudes_.Of(form.numbers);  // is no NaN
  const auto check = [&](const std::pair<Bound, float>& limit, const char* direction) {
    const Value scalar = ScalarRanges::InGraph(b, limit.first);
    magnitudes_.Check(b, b.Compare(scalar, b.Scalar(DType::kF32, limit.second), direction));
  };
  for (const auto& limit : form.at_least) check(limit, "ge");
  for (const auto& limit : form.at_most) check(limit, "le");
  Value numbers = form.numbers;
  if (form.zero) {
    const Value zero = ScalarRanges::InGraph(b, *form.zero);
    numbers = b.Sub(numbers, b.BroadcastTo(zero, numbers.shape().dims()));
    magnitudes_.Of(zero);
  } else {
    magnitudes_.Assume(form.numbers, kExponentOfByte);
  }
  const Value bytes = b.Convert(numbers, form.dtype);
  rows_made_.push_back({form, bytes});
  return bytes;
}

Value ByteValues::Make(Value v, const ByteForm& form) {
  if (const auto it = made_.find(v); it != made_.end()) return it->second;
  Value made;
  if (v == form.base) {
    made = MakeBase(form);
  } else {
    const Value from = Make(v.node->operand(0), form);
    FuncBuilder b(&graph_, v.node);
    made = v.node->op() == Op::kReshape ? b.Reshape(from, v.shape().dims())
                                        : b.Transpose(from, v.node->Ints(Attr::permutation));
  }
  return made_[v] = made;
}

void ByteValues::ReadBytesElsewhere() {
  for (const auto& [form, bytes] : rows_made_) {
    if (form.base.node->IsDead()) continue;
    FuncBuilder b(&graph_, form.base.node);
    b.set_name(form.base.node->name());
    const auto spread = [&](Value scalar) {
      return b.BroadcastTo(scalar, form.base.shape().dims());
    };
    Value numbers = b.Convert(bytes, DType::kF32);
    if (form.zero) numbers = b.Add(numbers, spread(ScalarRanges::InGraph(b, *form.zero)));
    graph_.ReplaceAllUses(form.base, b.Mul(numbers, spread(form.step)));
  }
}

}  // namespace tektite::passes
