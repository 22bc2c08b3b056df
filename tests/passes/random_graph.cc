#include "tests/passes/random_graph.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "jit/ops/builder.h"

namespace tektite {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Shape;
using ir::Value;
using Ints = std::vector<int64_t>;

constexpr int kNodes = 24;
constexpr int64_t kMaxElements = 600;

class Generator {
 public:
  Generator(uint32_t seed, Flavor flavor, bool symbolic)
      : random_(seed), flavor_(flavor), b_("random") {
    if (!symbolic) return;
    for (const char* name : {"a", "b", "c"}) symbols_[name] = Dim(1 + Pick(6));
  }

  RandomGraph Run() {
    RandomGraph result;
    for (int i = 0; i < 4; ++i) {
      Dims dims;
      for (int d = Pick(4); d > 0; --d) dims.push_back(Size());
      // The first parameter defines every symbol.
      for (const auto& [name, size] : symbols_) {
        if (i == 0) dims.push_back(Dim::Symbol(name));
      }
      if (dims.size() > 4) dims.erase(dims.begin(), dims.end() - 4);
      values_.push_back(b_.Parameter(Shape(DType::kF32, dims)));
      result.arguments.push_back(Argument(values_.back().shape()));
    }
    for (int i = 0; i < kNodes; ++i) Grow();
    // Few outputs leave long chains with one use each, many keep what lies between alive.
    std::vector<Value> outputs(values_.end() - 1 - Pick(4), values_.end());
    b_.Return(outputs);
    result.graph = *b_.Build();
    result.symbols = symbols_;
    return result;
  }

  Literal Argument(const Shape& shape, const ir::SymbolMap& symbols) {
    symbols_ = symbols;
    return Argument(shape);
  }

 private:
  int64_t Pick(int64_t n) { return static_cast<int64_t>(random_() % n); }
  bool Coin() { return Pick(2) == 0; }
  Dim Size() {
    if (!symbols_.empty() && Pick(3) == 0) {
      return Dim::Symbol(std::next(symbols_.begin(), Pick(3))->first);
    }
    return Pick(3) == 0 ? 1 : 1 + Pick(5);
  }
  // The sizes that symbols stand for here.
  Ints SizesOf(const Shape& shape) const { return shape.Substitute(symbols_).sizes(); }
  // Later values more often, so that chains get long.
  Value Any() {
    const int64_t n = values_.size();
    return values_[n - 1 - std::min(Pick(n), Pick(n))];
  }

  Literal Argument(const Shape& shape) {
    Literal literal = Literal::Allocate(DType::kF32, SizesOf(shape));
    const float inf = std::numeric_limits<float>::infinity();
    const float special[] = {0.0f, -0.0f, inf, -inf, inf - inf, 1e-40f, 3e38f};
    for (int64_t i = 0; i < literal.num_elements(); ++i) {
      float& x = literal.mutable_data<float>()[i];
      x = std::uniform_real_distribution<float>(-2, 2)(random_);
      if (flavor_ == Flavor::kIntegral) x = static_cast<float>(Pick(5) - 2);
      if (flavor_ == Flavor::kExact && Pick(4) == 0) x = special[Pick(7)];
    }
    return literal;
  }

  Value Scalar(const Dims& dims) {
    const double values[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 8.0, 3.0};
    return b_.Full(DType::kF32, values[Pick(flavor_ == Flavor::kIntegral ? 5 : 8)], dims);
  }

  // Something of the same size as x: another value, a scalar, a broadcast row, x seen otherwise.
  Value Partner(Value x) {
    const Dims& dims = x.shape().dims();
    for (int i = 0; i < 4; ++i) {
      Value y = Any();
      if (y.shape().dims() == dims && y != x) return y;
    }
    if (Coin() || dims.empty()) return Scalar(dims);
    const int64_t kept = Pick(dims.size());
    Dims first = dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (static_cast<int64_t>(d) != kept) first[d] = Dim(1);
    }
    Value row = b_.Slice(x, Dims(dims.size(), Dim(0)), first);
    return b_.BroadcastInDim(b_.Reshape(row, {dims[kept]}), dims, {kept});
  }

  Value Elementwise(Value x) {
    const bool rounded = flavor_ == Flavor::kRounded;
    switch (Pick(rounded ? 12 : 9)) {
      case 0:
        return b_.Neg(x);
      case 1:
        return b_.Abs(x);
      case 2:
        return b_.Unary(Op::kFloor, x);
      case 3:
        return b_.Convert(b_.Convert(x, DType::kF64), DType::kF32);
      case 4: {
        Value condition = b_.Compare(x, Partner(x), Coin() ? "lt" : "ne");
        if (Coin()) condition = b_.Not(condition);
        return b_.Select(condition, x, Partner(x));
      }
      case 5:
      case 6:
      case 7:
      case 8: {
        const Op ops[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin};
        Value y = Partner(x);
        // The sign of the zero max(0, -0) is not defined, so it has no exact bits.
        const Op op = ops[Pick(flavor_ == Flavor::kExact ? 3 : 5)];
        // Products grow: keep integers where floats still hold them exactly.
        if (op == Op::kMul) x = b_.Clamp(Lit(-4, x), x, Lit(4, x));
        return Coin() ? b_.Binary(op, x, y) : b_.Binary(op, y, x);
      }
      case 9:
        return b_.Tanh(x);
      case 10:
        return b_.Binary(Op::kDiv, x, b_.Full(DType::kF32, Coin() ? 4 : 3, x.shape().dims()));
      default:
        return b_.Binary(Op::kPow, b_.Abs(b_.Tanh(x)),
                         b_.Full(DType::kF32, 0.5 * Pick(7), x.shape().dims()));
    }
  }

  Value Lit(double v, Value like) { return b_.Full(DType::kF32, v, like.shape().dims()); }

  Value Reshape(Value x) {
    Dims sizes = x.shape().dims();
    if (Coin() && sizes.size() > 1) {
      const int64_t d = Pick(sizes.size() - 1);
      sizes[d] = sizes[d] * sizes[d + 1];
      sizes.erase(sizes.begin() + d + 1);
    } else if (Coin()) {
      sizes.insert(sizes.begin() + Pick(sizes.size() + 1), Dim(1));
    } else {
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (Mod(sizes[d], 2) != Dim(0) || sizes[d] == Dim(0)) continue;
        sizes[d] = FloorDiv(sizes[d], 2);
        sizes.insert(sizes.begin() + d, Dim(2));
        break;
      }
    }
    if (sizes.size() > 5) sizes = {x.shape().NumElements()};
    return b_.Reshape(x, sizes);
  }

  Value Movement(Value x) {
    const int rank = x.shape().rank();
    const Ints sizes = SizesOf(x.shape());
    Ints order(rank);
    std::iota(order.begin(), order.end(), 0);
    switch (rank == 0 ? Pick(2) : Pick(9)) {
      case 0: {
        Dims dims = x.shape().dims();
        const int64_t place = Pick(rank + 1);
        dims.insert(dims.begin() + place, Size());
        for (int64_t& d : order) d += d >= place ? 1 : 0;
        return b_.BroadcastInDim(x, dims, order);
      }
      case 1:
        return Reshape(x);
      case 2:
      case 3:
        std::shuffle(order.begin(), order.end(), random_);
        return b_.Transpose(x, order);
      case 4: {
        const int64_t d = Pick(rank), start = Pick(sizes[d]);
        const Dim left_out = sizes[d] - (start + 1 + Pick(sizes[d] - start));
        return b_.SliceDim(x, d, start, x.shape().dim(d) - left_out, 1 + Pick(2));
      }
      case 5:
        return b_.Concatenate({x, Coin() ? x : Elementwise(x)}, Pick(rank));
      case 6: {
        Ints low(rank), high(rank);
        low[Pick(rank)] = Pick(3);
        high[Pick(rank)] = Pick(2);
        return b_.Pad(x, b_.Scalar(DType::kF32, 0), low, high);
      }
      case 7:
        return b_.Reverse(x, {Pick(rank)});
      default: {
        std::vector<Value> starts;
        Dims limits = x.shape().dims();
        for (int64_t d = 0; d < rank; ++d) {
          starts.push_back(b_.Scalar(DType::kS32, static_cast<double>(Pick(4)) - 1));
          limits[d] = 1 + Pick(sizes[d]);
        }
        return b_.DynamicSlice(x, starts, limits);
      }
    }
  }

  Value Contraction(Value x) {
    const int rank = x.shape().rank();
    if (rank == 0) return x;
    x = b_.Clamp(Lit(-4, x), x, Lit(4, x));
    const int64_t d = Pick(rank);
    if (Coin()) {
      const char* reducers[] = {"add", "add", "max", "min"};
      Ints dims = {d};
      if (rank > 1 && Coin()) dims.push_back((d + 1) % rank);
      const char* reducer = reducers[Pick(4)];
      return Coin() ? b_.Reduce(x, dims, reducer) : b_.ReduceKeep(x, dims, reducer);
    }
    if (Pick(3) == 0) {
      ops::WindowDims w;
      w.window = w.strides = Ints(rank, 1);
      w.low = w.high = Ints(rank, 0);
      w.window[d] = 1 + Pick(SizesOf(x.shape())[d]);
      w.strides[d] = 1 + Pick(2);
      return b_.ReduceWindow(x, Coin() ? "max" : "add", w);
    }
    ops::DotDims dot;
    dot.lhs_contracting = dot.rhs_contracting = {d};
    if (rank > 1 && Coin()) dot.lhs_batch = dot.rhs_batch = {(d + 1) % rank};
    return b_.DotGeneral(x, Coin() ? x : b_.Neg(x), dot);
  }

  void Grow() {
    Value x = Any();
    const bool sums = flavor_ != Flavor::kExact;
    const int64_t kind = Pick(sums ? 8 : 6);
    Value y = kind < 3 ? Elementwise(x) : kind < 6 ? Movement(x) : Contraction(x);
    if (!y) return;
    const int64_t elements = ir::Product(SizesOf(y.shape()));
    if (elements > kMaxElements || elements == 0 || y.shape().rank() > 5) return;
    // Sums of sums leave the range in which floats hold integers; this brings them back.
    if (flavor_ != Flavor::kExact) y = b_.Clamp(Lit(-64, y), y, Lit(64, y));
    values_.push_back(y);
  }

  std::mt19937 random_;
  Flavor flavor_;
  ops::FuncBuilder b_;
  std::vector<Value> values_;
  ir::SymbolMap symbols_;
};

}  // namespace

RandomGraph MakeRandomGraph(uint32_t seed, Flavor flavor, bool symbolic) {
  return Generator(seed, flavor, symbolic).Run();
}

std::vector<Literal> MakeArguments(const ir::Graph& graph, const ir::SymbolMap& symbols,
                                   uint32_t seed, Flavor flavor) {
  Generator generator(seed, flavor, false);
  std::vector<Literal> arguments;
  for (const ir::Node* p : graph.parameters()) {
    arguments.push_back(generator.Argument(p->shape(), symbols));
  }
  return arguments;
}

}  // namespace tektite
