// Parts of arrays that begin at any element.  They are read where they lie (jit/ir/part.h), but
// GPUs read vectors, and what they copy in the background, at multiples of 16 bytes alone.
#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/conformance/attention/attention_case.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

// In elements: multiples of 16 bytes in all types, in some, in none.
constexpr int64_t kOffsets[] = {0, 16, 8, 4, 21};
constexpr DType kDTypes[] = {DType::kF16, DType::kF32, DType::kU8};

// `x`, of one row, from element `offset` on.
Value PartOf(FuncBuilder& b, Value x, int64_t offset, const Ints& sizes) {
  const ir::Shape shape = Of(x.dtype(), sizes);
  return b.Reshape(b.SliceDim(x, 1, offset, shape.NumElements() + offset), shape.dims());
}

// Of an argument with other elements on both sides.
Value PartOfParameter(FuncBuilder& b, DType dtype, int64_t offset, const Ints& sizes) {
  const int64_t end = offset + Of(dtype, sizes).NumElements().value();
  return PartOf(b, b.Parameter(Of(dtype, {1, end + 3})), offset, sizes);
}

Value Rows(FuncBuilder& b, Value x, Value indices) {
  return b.AddOne(Op::kGather, {x, indices},
                  {{Attr::offset_dims, Ints{1}},
                   {Attr::collapsed_slice_dims, Ints{0}},
                   {Attr::start_index_map, Ints{0}},
                   {Attr::index_vector_dim, int64_t{1}},
                   {Attr::slice_sizes, Dims{Dim(1), x.shape().dim(1)}}});
}

Tolerance ToleranceOf(DType dtype) {
  return dtype == DType::kF16 ? Tolerance::Ulps(2) : Tolerance::Relative(1e-6);
}

class PartsTest : public ConformanceTest {
 protected:
  // `make` reads a part; with every offset, in one kernel for each op and in few.
  void CheckParts(DType dtype, const std::function<Value(FuncBuilder&, int64_t offset)>& make,
                  const Tolerance& tolerance, CompileOptions options = {}) {
    for (int64_t offset : kOffsets) {
      for (const bool fuse : {true, false}) {
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " from ", offset, fuse ? ", fused" : ""));
        FuncBuilder b;
        b.Return({make(b, offset)});
        options.fuse = fuse;
        options.symbolic = false;
        Check(b, tolerance, options);
        if (HasFailure()) return;
      }
    }
  }
};

TEST_P(PartsTest, OfArguments) {
  for (DType dtype : kDTypes) {
    const Tolerance tolerance = ToleranceOf(dtype);
    for (int64_t length : {21, 64}) {
      CheckParts(
          dtype,
          [&](FuncBuilder& b, int64_t offset) {
            Value x = PartOfParameter(b, dtype, offset, {length});
            return b.Add(x, x);
          },
          tolerance);
    }
    CheckParts(
        dtype,
        [&](FuncBuilder& b, int64_t offset) {
          Value x = PartOfParameter(b, dtype, offset, {4, 64});
          return b.Sub(x, b.ReduceKeep(x, {1}, "max"));
        },
        tolerance);
    for (int64_t dimension : {0, 1}) {
      CheckParts(
          dtype,
          [&](FuncBuilder& b, int64_t offset) {
            return b.Reduce(PartOfParameter(b, dtype, offset, {8, 64}), {dimension}, "max");
          },
          tolerance);
    }
    CheckParts(
        dtype,
        [&](FuncBuilder& b, int64_t offset) {
          Value x = PartOfParameter(b, dtype, offset, {8, 64});
          return Rows(b, x, b.Parameter(Of(DType::kS32, {5, 1})));
        },
        tolerance);
    if (HasFailure()) return;
  }
}

// The halves of a row, as gates of a recurrent layer are, and as a loop over time reads its rows.
TEST_P(PartsTest, OfProducts) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    CheckParts(
        dtype,
        [&](FuncBuilder& b, int64_t offset) {
          const int64_t half = offset == 0 ? 16 : offset;
          Value x = b.Parameter(Of(dtype, {1, 16})), w = b.Parameter(Of(dtype, {16, 2 * half}));
          Value z = b.MatMul(x, w);
          return b.Mul(b.Tanh(PartOf(b, z, 0, {1, half})), PartOf(b, z, half, {1, half}));
        },
        Tolerance::Relative(2e-3));
  }
}

TEST_P(PartsTest, AsOperandsOfProducts) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    for (const bool warpgroups : {false, true}) {
      for (const bool is_lhs : {false, true}) {
        for (int64_t rows : {2, 64}) {
          CompileOptions options;
          options.warpgroups = warpgroups;
          options.rounds_f32 = false;
          CheckParts(
              dtype,
              [&](FuncBuilder& b, int64_t offset) {
                const Ints lhs = {rows, 64}, rhs = {64, 72};
                Value part = PartOfParameter(b, dtype, offset, is_lhs ? lhs : rhs);
                Value other = b.Parameter(Of(dtype, is_lhs ? rhs : lhs));
                return is_lhs ? b.MatMul(part, other) : b.MatMul(other, part);
              },
              ToleranceOf(dtype), options);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(PartsTest, AsOperandsOfAttention) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    for (const bool warpgroups : {false, true}) {
      CompileOptions options;
      options.warpgroups = warpgroups;
      CheckParts(
          dtype,
          [&](FuncBuilder& b, int64_t offset) {
            const Ints sizes = {1, 32, 1, 64};
            return Attend(b, {PartOfParameter(b, dtype, offset, sizes),
                              PartOfParameter(b, dtype, offset, sizes),
                              PartOfParameter(b, dtype, offset, sizes)});
          },
          NarrowRounding(dtype), options);
      if (HasFailure()) return;
    }
  }
}

// A part of an array of unknown size, at a place that is known, and slices at places that are not.
TEST_P(PartsTest, OfUnknownSizes) {
  const Dim n = Dim::Symbol("n");
  for (DType dtype : kDTypes) {
    FuncBuilder b;
    Value x = b.Parameter(ir::Shape(dtype, {n, 21}));
    Value row = b.SliceDim(x, 0, 1, 2), last = b.SliceDim(x, 0, n - 1, n);
    Value rows = b.Reshape(b.SliceDim(x, 0, 1, n), {(n - 1) * 21});
    b.Return({b.Add(row, row), b.Add(last, last), b.Add(rows, rows)});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    CompileOptions options;
    options.must_be_symbolic = true;
    CheckSizes(**graph, {{{"n", 2}}, {{"n", 65}}, {{"n", 9}}}, {}, options);
  }
}

TEST_P(PartsTest, ValuesOfSizes) {
  const Dim n = Dim::Symbol("n");
  FuncBuilder b;
  Value x = b.Parameter(ir::Shape(DType::kF32, {n}));
  Value one = b.SizeValue({n}), four = b.SizeValue({n, n + 1, n + 2, n + 3});
  b.Return({b.Neg(x), b.Add(one, one), b.Add(four, four)});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizesOfCalls(**graph, {{{"n", 2}}, {{"n", 65}}}, {}, {});
}

INSTANTIATE_TEST_SUITE_P(Targets, PartsTest, ::testing::ValuesIn(ConformanceTargets()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tektite::testing
