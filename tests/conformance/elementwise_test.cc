// Every elementwise op alone, on every type it takes, with the values that are special.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"
#include "tests/ops/random_graph.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Op;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;

const DType kTypes[] = {DType::kBool, DType::kS8,  DType::kS16, DType::kS32, DType::kS64,
                        DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                        DType::kBF16, DType::kF32, DType::kF64};

// Their last bits differ between implementations.
bool IsMath(Op op) {
  switch (op) {
    case Op::kAbs:
    case Op::kCeil:
    case Op::kFloor:
    case Op::kIsFinite:
    case Op::kNeg:
    case Op::kNot:
    case Op::kPopcnt:
    case Op::kRoundAway:
    case Op::kRoundEven:
    case Op::kSign:
    case Op::kSqrt:
      return false;
    case Op::kAtan2:
    case Op::kPow:
      return true;
    default:
      return ir::GetOpInfo(op).family == ir::OpFamily::unary;
  }
}

CompileOptions Alone() {
  CompileOptions options;
  options.fuse = false;
  return options;
}

// Builds op(parameters...) in a graph of its own; null where the type is not the op's.
std::unique_ptr<ir::Graph> OneOp(Op op, const std::vector<DType>& operands, ir::Attributes attrs,
                                 const ir::Dims& dims) {
  FuncBuilder b(ir::OpName(op));
  std::vector<Value> values;
  for (DType dtype : operands) values.push_back(b.Parameter(Shape(dtype, dims)));
  Value v = b.AddOne(op, values, std::move(attrs));
  b.Return({v});
  auto graph = b.Build();
  return graph.ok() ? *std::move(graph) : nullptr;
}

class Elementwise : public ConformanceTest {
 protected:
  void CheckOp(Op op, const std::vector<DType>& operands, ir::Attributes attrs = {},
               const ir::Dims& dims = {Dim(5), Dim(57)}) {
    auto graph = OneOp(op, operands, std::move(attrs), dims);
    if (graph == nullptr) return;
    ++checked_;
    Tolerance tolerance;
    const DType result = graph->outputs()[0].dtype();
    if (IsMath(op) && ir::IsFloat(result)) {
      tolerance = Tolerance::Ulps(ir::DTypeBytes(result) == 2 ? 1 : 4.5);
    }
    Check(*graph, RandomInputs(*graph, 3, /*special=*/true), tolerance, Alone());
  }
  int checked_ = 0;
};

TEST_P(Elementwise, UnaryOps) {
  for (int i = 0; i < ir::kNumOps; ++i) {
    const ir::OpInfo& info = ir::GetOpInfo(static_cast<Op>(i));
    if (info.family != ir::OpFamily::unary) continue;
    for (DType dtype : kTypes) CheckOp(info.op, {dtype});
  }
  EXPECT_GT(checked_, 120);
}

TEST_P(Elementwise, BinaryOps) {
  for (int i = 0; i < ir::kNumOps; ++i) {
    const ir::OpInfo& info = ir::GetOpInfo(static_cast<Op>(i));
    if (info.family != ir::OpFamily::binary || info.op == Op::kCompare) continue;
    for (DType dtype : kTypes) CheckOp(info.op, {dtype, dtype});
  }
  EXPECT_GT(checked_, 120);
}

TEST_P(Elementwise, CompareSelectClamp) {
  for (DType dtype : kTypes) {
    for (const char* direction : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      CheckOp(Op::kCompare, {dtype, dtype}, {{Attr::direction, std::string(direction)}});
    }
    CheckOp(Op::kSelect, {DType::kBool, dtype, dtype});
    CheckOp(Op::kClamp, {dtype, dtype, dtype});
  }
}

TEST_P(Elementwise, Conversions) {
  for (DType from : kTypes) {
    for (DType to : kTypes) {
      CheckOp(Op::kConvert, {from}, {{Attr::dtype, to}});
      if (ir::DTypeBytes(from) == ir::DTypeBytes(to)) {
        CheckOp(Op::kBitcast, {from}, {{Attr::dtype, to}});
      }
    }
  }
}

TEST_P(Elementwise, EverySizeAroundVectors) {
  for (int64_t n = 0; n <= 35; ++n) {
    const DType dtype = n % 3 == 0 ? DType::kBF16 : n % 3 == 1 ? DType::kF32 : DType::kF64;
    FuncBuilder b;
    Value x = b.Parameter(Shape(dtype, {Dim(3), Dim(n)}));
    Value small = b.Parameter(Shape(DType::kS8, {Dim(3), Dim(n)}));
    Value row = b.Parameter(Shape(dtype, {Dim(n)}));
    Value column = b.Parameter(Shape(dtype, {Dim(3), Dim(1)}));
    Value v = b.Add(b.Mul(x, row), column);
    Value mask = b.CompareImplicit(v, b.Convert(small, dtype), "lt");
    b.Return({b.Select(mask, v, x), mask, b.Convert(v, DType::kS16)});
    Check(b);
  }
}

TEST_P(Elementwise, ScalarsAndSizesOfOne) {
  FuncBuilder b;
  Value s = b.Parameter(Shape(DType::kF32, ir::Dims{}));
  Value x = b.Parameter(Shape(DType::kF32, {Dim(1), Dim(1), Dim(7), Dim(1)}));
  Value y = b.Parameter(Shape(DType::kF32, {Dim(4), Dim(1), Dim(1), Dim(3)}));
  b.Return({b.Add(s, s), b.Mul(x, y), b.Sub(x, s), b.Neg(y)});
  Check(b);
}

// One instruction may do both: numbers at the ends of each type, half way, and of no integer.
TEST_P(Elementwise, RoundedFloatsBecomeIntegers) {
  FuncBuilder b;
  const Value x = b.Parameter(Shape(DType::kF32, {Dim(37)}));
  std::vector<Value> results;
  for (const Op rounding : {Op::kFloor, Op::kRoundEven, Op::kCeil}) {
    for (const DType to : {DType::kS32, DType::kU8, DType::kS8}) {
      results.push_back(b.Convert(b.Unary(rounding, x), to));
    }
  }
  b.Return(results);
  const auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<float> values = {
      -0.0f,   0.5f,          1.5f,          -0.5f,         -1.5f,         254.5f,    255.5f,
      -128.5f, -129,          127.5f,        2147483520.0f, 2147483648.0f, 3e38f,     -3e38f,
      1e-30f,  -2147483648.f, -2147483904.f, 16777215.5f,   INFINITY,      -INFINITY, NAN};
  values.resize(37, -2.25f);
  Check(**graph, {ir::Literal::FromVector<float>({37}, values)});
}

TEST_P(Elementwise, NoElements) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {Dim(0), Dim(3)}));
  Value y = b.Parameter(Shape(DType::kF32, {Dim(3)}));
  b.Return({b.Add(x, y), b.Exp(x), b.Concatenate({x, x}, 0)});
  Check(b);
}

TEST_P(Elementwise, LongRowsAndManyResults) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {Dim(100003)}));
  Value y = b.Parameter(Shape(DType::kF32, {Dim(100003)}));
  Value sum = b.Add(x, y);
  b.Return({sum, b.Mul(sum, x), b.Compare(sum, y, "gt")});
  Check(b);
}

INSTANTIATE_TEST_SUITE_P(, Elementwise, ::testing::ValuesIn(ConformanceTargets()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tektite::testing
