// What logits are of scores, in the ways in which programs write masks.
#include "jit/ops/logit_form.h"

#include <functional>

#include "gtest/gtest.h"
#include "jit/ops/builder.h"

namespace tektite::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Shape;
using ir::Value;

const Dims kSpace = {2, 3, 20, 30};

Value Full(FuncBuilder& b, double v) { return b.Full(DType::kF32, v, kSpace); }
Value Row(FuncBuilder& b) { return b.Iota(DType::kS32, kSpace, 2); }
Value Key(FuncBuilder& b) { return b.Iota(DType::kS32, kSpace, 3); }
Value Plus(FuncBuilder& b, Value x, double v) { return b.Add(x, b.Full(DType::kS32, v, kSpace)); }
Value OneOrZero(FuncBuilder& b, Value v) { return b.Convert(v, DType::kF32); }

LogitForms FormsOf(const std::function<Value(FuncBuilder&, Value)>& logits) {
  FuncBuilder b;
  Value q = b.Parameter(Shape(DType::kF32, Dims{2, 3, 20, 8}));
  Value k = b.Parameter(Shape(DType::kF32, Dims{2, 3, 30, 8}));
  Value v = b.Parameter(Shape(DType::kF32, Dims{2, 3, 30, 8}));
  Value x = logits(b, b.DotGeneral(q, k, {{0, 1}, {0, 1}, {3}, {3}, {}, {}}));
  Value e = b.Exp(b.Sub(x, b.ReduceKeep(x, {3}, "max")));
  Value p = b.Div(e, b.ReduceKeep(e, {3}, "add"));
  Value o = b.DotGeneral(p, v, {{0, 1}, {0, 1}, {3}, {2}, {}, {}});
  const auto attention = FindAttention(o.node);
  EXPECT_TRUE(attention.has_value());
  return attention.has_value() ? FindLogitForms(*attention) : LogitForms();
}

TEST(LogitForm, ScaleAndBias) {
  const LogitForms forms = FormsOf([](FuncBuilder& b, Value s) {
    return b.Add(b.Mul(s, Full(b, 0.5)), b.Parameter(Shape(DType::kF32, Dims{20, 30})));
  });
  EXPECT_FALSE(forms.causal);
  EXPECT_TRUE(forms.seen.is_known && forms.seen.reads_score && forms.seen.bias);
  EXPECT_EQ(forms.seen.factor, 0.5);
  EXPECT_EQ(forms.seen.addend, 0);
}

TEST(LogitForm, WorkThatIsNone) {
  EXPECT_FALSE(FormsOf([](FuncBuilder& b, Value s) { return b.Tanh(s); }).seen.is_known);
  EXPECT_FALSE(FormsOf([](FuncBuilder& b, Value s) { return b.Mul(s, s); }).seen.is_known);
}

struct Mask {
  const char* name;
  std::function<Value(FuncBuilder&, Value)> logits;
  int64_t offset;
  double factor, addend;  // of what is late
  bool reads_score;
};

TEST(LogitForm, CausalMasks) {
  const Mask masks[] = {
      {"selected",
       [](FuncBuilder& b, Value s) {
         return b.Select(b.Compare(Row(b), Key(b), "ge"), s, Full(b, -1e9));
       },
       0, 0, -1e9, false},
      {"selected where late",
       [](FuncBuilder& b, Value s) {
         return b.Select(b.Compare(Key(b), Plus(b, Row(b), 4), "gt"), Full(b, -1e9), s);
       },
       4, 0, -1e9, false},
      {"strictly before",
       [](FuncBuilder& b, Value s) {
         return b.Select(b.Compare(Key(b), Row(b), "lt"), s, Full(b, -5));
       },
       -1, 0, -5, false},
      {"rows behind the first keys",
       [](FuncBuilder& b, Value s) {
         return b.Select(b.Compare(Row(b), Plus(b, Key(b), -10), "ge"), s, Full(b, -5));
       },
       10, 0, -5, false},
      {"at once",
       [](FuncBuilder& b, Value s) {
         return b.Select(b.Compare(b.Sub(Key(b), Row(b)), b.Full(DType::kS32, 3, kSpace), "ge"),
                         Full(b, -5), s);
       },
       2, 0, -5, false},
      {"added",
       [](FuncBuilder& b, Value s) {
         const Value late = b.Not(b.Compare(Row(b), Key(b), "ge"));
         return b.Add(s, b.Select(late, Full(b, -1e9), Full(b, 0)));
       },
       0, 1, -1e9, true},
      {"as numbers",
       [](FuncBuilder& b, Value s) {
         const Value seen = OneOrZero(b, b.Compare(Row(b), Key(b), "ge"));
         return b.Add(s, b.Mul(b.Sub(Full(b, 1), seen), Full(b, -1e4)));
       },
       0, 1, -1e4, true},
      {"multiplied and added",
       [](FuncBuilder& b, Value s) {
         const Value seen = OneOrZero(b, b.Compare(Row(b), Key(b), "ge"));
         return b.Sub(b.Mul(s, seen), b.Mul(b.Sub(Full(b, 1), seen), Full(b, 1e4)));
       },
       0, 0, -1e4, true},
      {"beside another mask",
       [](FuncBuilder& b, Value s) {
         const Value kept = b.Parameter(Shape(DType::kBool, kSpace));
         const Value seen = b.Compare(Row(b), Key(b), "ge");
         return b.Select(b.Binary(ir::Op::kAnd, kept, seen), s, Full(b, -1e9));
       },
       0, 0, -1e9, false},
  };
  for (const Mask& mask : masks) {
    SCOPED_TRACE(mask.name);
    const LogitForms forms = FormsOf(mask.logits);
    EXPECT_TRUE(forms.causal);
    EXPECT_EQ(forms.offset, Dim(mask.offset));
    EXPECT_EQ(forms.late.factor, mask.factor);
    EXPECT_EQ(forms.late.addend, mask.addend);
    EXPECT_EQ(forms.late.reads_score, mask.reads_score);
  }
}

TEST(LogitForm, OtherMasksAreNotCausal) {
  const auto is_causal = [](const std::function<Value(FuncBuilder&)>& mask) {
    return FormsOf([&](FuncBuilder& b, Value s) { return b.Select(mask(b), s, Full(b, -1e9)); })
        .causal;
  };
  EXPECT_FALSE(is_causal([](FuncBuilder& b) { return b.Compare(Row(b), Key(b), "eq"); }));
  EXPECT_FALSE(
      is_causal([](FuncBuilder& b) { return b.Compare(b.Add(Row(b), Row(b)), Key(b), "ge"); }));
  EXPECT_FALSE(is_causal(
      [](FuncBuilder& b) { return b.Compare(b.Iota(DType::kS32, kSpace, 1), Key(b), "ge"); }));
  EXPECT_FALSE(is_causal([](FuncBuilder& b) { return b.Parameter(Shape(DType::kBool, kSpace)); }));
  // A band: which of the two it is for a key is open.
  EXPECT_FALSE(is_causal([](FuncBuilder& b) {
    return b.Binary(ir::Op::kOr, b.Compare(Row(b), Key(b), "ge"),
                    b.Compare(Row(b), Plus(b, Key(b), -5), "ge"));
  }));
}

}  // namespace
}  // namespace tektite::ops
