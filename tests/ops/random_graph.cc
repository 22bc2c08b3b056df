#include "tests/ops/random_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <type_traits>

#include "jit/ops/builder.h"

namespace tektite::testing {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Shape;
using ir::Value;
using Ints = std::vector<int64_t>;

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options) : random_(seed), o_(options) {}

  std::unique_ptr<ir::Graph> Run() {
    for (int i = 0; i < o_.parameters; ++i) {
      Dims dims;
      for (int64_t d = Pick(4); d > 0; --d) dims.push_back(Size());
      values_.push_back(b_.Parameter(Shape(Of(o_.dtypes), dims)));
    }
    for (int i = 0; i < o_.nodes; ++i) {
      Value v = Grow();
      if (v && v.shape().num_elements() <= o_.max_elements) values_.push_back(v);
    }
    std::vector<Value> outputs = {values_.back()};
    if (Pick(2) == 0) outputs.push_back(Any());
    b_.Return(outputs);
    auto graph = b_.Build();
    // Whatever is made here is valid: a failure is a defect of the builder or of this file.
    if (!graph.ok()) throw std::logic_error(graph.status().ToString());
    (*graph)->EraseDead();
    return *std::move(graph);
  }

 private:
  int64_t Pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <typename T>
  const T& Of(const std::vector<T>& list) {
    return list[Pick(list.size())];
  }
  int64_t Size() {
    const int64_t kind = Pick(8);
    if (kind == 0 && o_.zero_sizes) return 0;
    return kind < 3 ? 1 : 1 + Pick(o_.max_size);
  }
  // Later values more often, so that chains get long.
  Value Any() {
    const int64_t n = values_.size();
    return values_[n - 1 - std::min(Pick(n), Pick(n))];
  }
  Value WithRank(int rank) {
    for (int tries = 0; tries < 8; ++tries) {
      if (Value v = Any(); v.shape().rank() >= rank) return v;
    }
    return Value();
  }
  // In a type and shape that go with x.
  Value Like(Value v, Value x) {
    v = b_.Convert(v, x.dtype());
    const Dims& want = x.shape().dims();
    const Dims have = v.shape().dims();
    bool fits = have.size() <= want.size();
    for (size_t i = 0; fits && i < have.size(); ++i) {
      const Dim& w = want[want.size() - have.size() + i];
      fits = have[i] == w || have[i] == Dim(1);
    }
    if (fits) return b_.BroadcastTo(v, want);
    // Nothing in common: one element of it, or a constant when it has none.
    if (v.shape().num_elements() == 0) return b_.FullLike(x, 1);
    Value flat = b_.Reshape(v, {v.shape().NumElements()});
    return b_.BroadcastTo(b_.Reshape(b_.SliceDim(flat, 0, 0, 1), Dims()), want);
  }

  Value Grow() {
    const int64_t kind = Pick(14);
    if (kind < 2) return Unary(Any());
    if (kind < 5) return Binary(Any(), Any());
    if (kind == 5) return b_.Convert(Any(), Of(o_.dtypes));
    if (kind == 6) {
      Value x = Any(), y = Like(Any(), x);
      return b_.Select(b_.Compare(x, y, Of<const char*>({"eq", "ne", "lt", "le", "gt", "ge"})), x,
                       y);
    }
    if (kind < 9) return o_.reductions ? Reduction() : Value();
    if (kind == 9) return o_.contractions ? Contraction() : Value();
    return o_.movement ? Movement() : Value();
  }

  Value Unary(Value x) {
    if (x.dtype() == DType::kBool) return b_.Not(x);
    if (!ir::IsFloat(x.dtype())) {
      return b_.Unary(Of<Op>({Op::kAbs, Op::kNeg, Op::kSign, Op::kNot, Op::kPopcnt}), x);
    }
    std::vector<Op> choices = {Op::kAbs,   Op::kNeg,  Op::kSign,      Op::kSqrt,
                               Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kRoundAway};
    if (o_.transcendental) {
      choices.insert(choices.end(), {Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kLogistic,
                                     Op::kRsqrt, Op::kSin, Op::kLog1p, Op::kExpm1, Op::kAtan});
    }
    return b_.Unary(Of(choices), x);
  }

  Value Binary(Value x, Value y) {
    y = Like(y, x);
    if (x.dtype() == DType::kBool) return b_.Binary(Of<Op>({Op::kAnd, Op::kOr, Op::kXor}), x, y);
    std::vector<Op> choices = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMax, Op::kMin};
    if (ir::IsInteger(x.dtype())) {
      choices.insert(choices.end(), {Op::kRem, Op::kAnd, Op::kOr, Op::kXor, Op::kShiftLeft,
                                     Op::kShiftRightArithmetic, Op::kShiftRightLogical});
    }
    return b_.Binary(Of(choices), x, y);
  }

  const char* Reducer(DType dtype) {
    if (dtype == DType::kBool) return Of<const char*>({"and", "or"});
    return Of<const char*>({"add", "max", "min", "mul"});
  }

  Value Reduction() {
    Value x = WithRank(1);
    if (!x) return x;
    const int rank = x.shape().rank();
    const char* reducer = Reducer(x.dtype());
    switch (Pick(6)) {
      case 0: {
        return b_.Cumulative(x, static_cast<int>(Pick(rank)), reducer, Pick(2) == 0, Pick(2) == 0);
      }
      case 1: {
        ops::WindowDims w;
        for (const Dim& d : x.shape().dims()) {
          w.low.push_back(Pick(2));
          w.high.push_back(Pick(2));
          // At most one more than there is: no window fits then, which is no error.
          w.window.push_back(
              1 + Pick(1 + std::min<int64_t>(2, d.value() + w.low.back() + w.high.back())));
          w.strides.push_back(1 + Pick(2));
        }
        return b_.ReduceWindow(x, reducer, w);
      }
      default: {
        Ints dimensions;
        for (int i = 0; i < rank; ++i) {
          if (Pick(2) == 0) dimensions.push_back(i);
        }
        return Pick(2) == 0 ? b_.Reduce(x, dimensions, reducer)
                            : b_.ReduceKeep(x, dimensions, reducer);
      }
    }
  }

  // [.., k] times [k, m], made from any two values.
  Value Contraction() {
    Value x = WithRank(1);
    if (!x || x.dtype() == DType::kBool) return Value();
    const int rank = x.shape().rank();
    const Dim k = x.shape().dim(rank - 1);
    Value w = Like(Any(), b_.Full(x.dtype(), 0, Dims{k, Dim(Size())}));
    ops::DotDims dims;
    dims.lhs_contracting = {rank - 1};
    dims.rhs_contracting = {0};
    if (Pick(2) == 0) {
      w = b_.Transpose(w, {1, 0});
      dims.rhs_contracting = {1};
    }
    return b_.DotGeneral(x, w, dims);
  }

  Value Movement() {
    Value x = WithRank(1);
    if (!x) return x;
    const int rank = x.shape().rank();
    const int d = static_cast<int>(Pick(rank));
    const int64_t size = x.shape().dim(d).value();
    switch (Pick(8)) {
      case 0: {
        Ints permutation(rank);
        std::iota(permutation.begin(), permutation.end(), 0);
        for (int i = rank - 1; i > 0; --i) std::swap(permutation[i], permutation[Pick(i + 1)]);
        return b_.Transpose(x, permutation);
      }
      case 1: {
        const int64_t start = Pick(size + 1), limit = start + Pick(size - start + 1);
        return b_.SliceDim(x, d, start, limit, 1 + Pick(3));
      }
      case 2: {
        Value y = Like(Any(), x);
        return b_.Concatenate({x, y, x}, d);
      }
      case 3: {
        Ints low(rank), high(rank), interior(rank);
        for (int i = 0; i < rank; ++i) {
          low[i] = Pick(3) - (x.shape().dim(i).value() > 1 ? 1 : 0);
          high[i] = Pick(2);
          interior[i] = Pick(4) == 0;
        }
        return b_.Pad(x, b_.Scalar(x.dtype(), 1), low, high, interior);
      }
      case 4:
        return b_.Reverse(x, {d});
      case 5: {
        // Flattens, adds or drops dimensions of size 1.
        Dims dims = x.shape().dims();
        if (Pick(2) == 0) return b_.Reshape(x, {x.shape().NumElements()});
        dims.insert(dims.begin() + Pick(rank + 1), Dim(1));
        return dims.size() > 5 ? Value() : b_.Reshape(x, dims);
      }
      case 6: {
        std::vector<Value> starts;
        Dims sizes;
        for (int i = 0; i < rank; ++i) {
          starts.push_back(b_.Scalar(DType::kS32, static_cast<double>(Pick(5) - 1)));
          sizes.push_back(Dim(Pick(x.shape().dim(i).value() + 1)));
        }
        return b_.DynamicSlice(x, starts, sizes);
      }
      default: {
        if (x.dtype() == DType::kBool) return Value();
        return b_.Iota(x.dtype(), x.shape().dims(), d);
      }
    }
  }

  std::mt19937_64 random_;
  const RandomGraphOptions& o_;
  ops::FuncBuilder b_{"random"};
  std::vector<Value> values_;
};

template <typename T>
T RandomElement(std::mt19937_64& random, bool special) {
  const uint64_t bits = random();
  if constexpr (std::is_same_v<T, bool>) {
    return bits & 1;
  } else if constexpr (std::is_integral_v<T>) {
    const T extremes[] = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), 0, 1,
                          static_cast<T>(-1)};
    if (special && bits % 8 == 0) return extremes[(bits >> 8) % 5];
    return static_cast<T>(static_cast<int64_t>((bits >> 8) % 21) - 10);
  } else {
    using Limits = std::numeric_limits<float>;
    const float specials[] = {Limits::quiet_NaN(),
                              Limits::infinity(),
                              -Limits::infinity(),
                              0.0f,
                              -0.0f,
                              Limits::denorm_min(),
                              6e-8f,
                              -65504.0f,
                              3e38f};
    if (special && bits % 8 == 0) return T(specials[(bits >> 8) % 9]);
    // Uniform in [-4, 4), in steps of 2^-20.
    return T(static_cast<float>((bits >> 8) % (1 << 23)) * 0x1p-20f - 4.0f);
  }
}

}  // namespace

std::unique_ptr<ir::Graph> RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Run();
}

std::vector<Literal> RandomInputs(const ir::Graph& graph, uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  std::vector<Literal> inputs;
  for (const ir::Node* p : graph.parameters()) {
    Literal input = Literal::Allocate(p->shape().dtype(), p->shape().sizes());
    ir::DispatchDType(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < input.num_elements(); ++i) {
        input.mutable_data<T>()[i] = RandomElement<T>(random, special);
      }
    });
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace tektite::testing
