// Random numbers that depend on a seed, or on the state that a variable holds, and on nothing else,
// bit for bit TensorFlow's.
//
// Why elementwise ops: element i of a stream is a function of the key, the counter and i alone, so
// it fuses with what uses it.  A dropout's mask is never in memory, and every back end can make it.
//
// Limits: ThreeFry, gamma, Poisson and binomial numbers stay TensorFlow's; truncated_normal.cc has
// the truncated normals.
#include <cmath>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/random/random_stream.h"

namespace tektite::importer {
namespace {

// The words of a stream that elements are made of.
class Bits {
 public:
  // For `n` elements that take `words_each` words: a group of four words for 4 / words_each.
  Bits(FuncBuilder& b, const Stream& stream, const Dim& n, int words_each) : b_(b) {
    const int shift = words_each == 1 ? 2 : 1;
    Value index = b.Iota(DType::kU64, {n}, 0);
    Value block = b.Binary(Op::kShiftRightLogical, index, b.FullLike(index, shift));
    lane_ = b.Convert(b.Binary(Op::kAnd, index, b.FullLike(index, (1 << shift) - 1)), DType::kU32);
    words_ = BlockAt(b, stream, block);
  }

  // Of the two or four words, the one that belongs to the element.
  Value Own() {
    return b_.Select(LaneHas(2), Pick(words_[2], words_[3]), Pick(words_[0], words_[1]));
  }
  // For elements that take two words each: word k of the element.
  Value OfTwo(int k) { return Pick(words_[k], words_[2 + k]); }
  // Of the pair that an element is made of together with its neighbour: word k.
  Value OfPair(int k) { return b_.Select(LaneHas(2), words_[2 + k], words_[k]); }
  const Words& all() const { return words_; }
  Value IsSecond() { return LaneHas(1); }

 private:
  Value LaneHas(int bit) {
    Value masked = b_.Binary(Op::kAnd, lane_, b_.FullLike(lane_, bit));
    return b_.Compare(masked, b_.FullLike(masked, 0), "ne");
  }
  Value Pick(Value first, Value second) { return b_.Select(LaneHas(1), second, first); }

  FuncBuilder& b_;
  Value lane_;
  Words words_;
};

// The same with the few bits of 16-bit floats, whose difference is exact in f32.
Value ShortFloatOf(FuncBuilder& b, Value word, DType dtype) {
  const bool is_half = dtype == DType::kF16;
  const int mantissa_bits = is_half ? 10 : 7;
  Value mantissa = b.Binary(Op::kAnd, word, b.FullLike(word, (1 << mantissa_bits) - 1));
  Value number = b.Convert(b.Bitcast(mantissa, DType::kS32), DType::kF32);
  return b.Convert(b.Mul(number, b.FullLike(number, std::ldexp(1, -mantissa_bits))), dtype);
}

Value Uniform(FuncBuilder& b, const Stream& stream, const Dim& n, DType dtype) {
  Bits bits(b, stream, n, dtype == DType::kF64 ? 2 : 1);
  if (dtype == DType::kF64) return DoubleOf(b, bits.OfTwo(0), bits.OfTwo(1));
  return dtype == DType::kF32 ? FloatOf(b, bits.Own()) : ShortFloatOf(b, bits.Own(), dtype);
}

Value Normal(FuncBuilder& b, const Stream& stream, const Dim& n, DType dtype) {
  if (dtype != DType::kF64) {
    Bits bits(b, stream, n, 1);
    return b.Convert(
        BoxMuller(b, FloatOf(b, bits.OfPair(0)), FloatOf(b, bits.OfPair(1)), bits.IsSecond()),
        dtype);
  }
  Bits bits(b, stream, n, 2);
  const Words& x = bits.all();
  return BoxMuller(b, DoubleOf(b, x[0], x[1]), DoubleOf(b, x[2], x[3]), bits.IsSecond());
}

// Every integer is as likely as any other.
Value FullIntegers(FuncBuilder& b, const Stream& stream, const Dim& n, DType dtype) {
  const bool is_wide = dtype == DType::kS64 || dtype == DType::kU64;
  Bits bits(b, stream, n, is_wide ? 2 : 1);
  Value number = is_wide ? Wide(b, bits.OfTwo(0), bits.OfTwo(1)) : bits.Own();
  return b.Bitcast(number, dtype);
}

// In [low, high), which are scalars of `dtype`: the rest of a division, so nearly evenly.
Value Integers(FuncBuilder& b, const Stream& stream, const Dim& n, Value low, Value high) {
  const DType dtype = low.dtype();
  const DType bits = dtype == DType::kS64 || dtype == DType::kU64 ? DType::kU64 : DType::kU32;
  Value number = FullIntegers(b, stream, n, bits);
  Value range = b.Bitcast(b.Sub(high, low), bits);
  Value rest = b.BinaryImplicit(Op::kRem, number, range);
  return b.Bitcast(b.Add(rest, b.Bitcast(low, bits)), dtype);
}

}  // namespace

absl::Status ImportRandom(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims dims, op.RequireContents(HasState(op) ? 2 : 0));
  for (const Dim& d : dims) {
    if (d.is_constant() && d.value() < 0) return op.Refuse("a size of ", d.value());
  }
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Stream stream, RequireStream(op));
  const Dim n = Product(dims);
  const bool is_uniform = absl::StrContains(op.op(), "Uniform");
  const bool is_integer = absl::StrContains(op.op(), "Int");
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype,
                           op.Type("dtype", is_integer ? DType::kS32 : DType::kF32));
  if (is_integer != ir::IsInteger(dtype)) return op.Refuse("type ", ir::DTypeName(dtype));
  Value flat;
  if (absl::StrContains(op.op(), "FullInt")) {
    flat = FullIntegers(b, stream, n, dtype);
  } else if (is_integer) {
    const int first = HasState(op) ? 3 : absl::EndsWith(op.op(), "V2") ? 4 : 2;
    if (op.InputRank(first) != 0 || op.InputRank(first + 1) != 0) return op.Refuse("bounds");
    Value low = op.Input(first), high = op.Input(first + 1);
    if (!low || !high) return op.Return(Value());
    // TensorFlow raises an error.
    op.Check(b.Compare(low, high, "lt"));
    flat = Integers(b, stream, n, low, high);
  } else {
    flat = is_uniform ? Uniform(b, stream, n, dtype) : Normal(b, stream, n, dtype);
  }
  if (HasState(op)) {
    TEKTITE_ASSIGN_OR_RETURN(const Value state, op.Variable(0));
    TEKTITE_RETURN_IF_ERROR(MoveOn(op, state, op.DimValue(n, DType::kU64)));
  }
  return op.Return(b.Reshape(flat, dims));
}

// Moves a generator on by so many numbers; the first one returns where it was.
absl::Status ImportRngSkip(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Value state, RequireState(op));
  if (op.InputRank(2) != 0) return op.Refuse("several distances");
  Value count = op.Input(2);
  if (!count) return op.Return(count);
  TEKTITE_RETURN_IF_ERROR(MoveOn(op, state, b.Convert(count, DType::kU64)));
  return op.op() == "RngReadAndSkip" ? op.Return(state) : absl::OkStatus();
}

// On CPUs TensorFlow draws by one algorithm.
absl::Status ImportStatelessRandomAlgorithm(NodeImport& op) {
  return op.ReturnContents(DType::kS32, {}, {Dim(kPhilox)});
}

// A key u64[1] and a counter u64[2], and with "Alg" the algorithm.
absl::Status ImportStatelessRandomKey(NodeImport& op) {
  if (op.InputDims(0) != Dims{2}) return op.Refuse("the seed must have two elements");
  FuncBuilder& b = op.b();
  Value seed = op.Input(0);
  if (!seed) return op.Return(seed);
  const Stream stream = StreamOf(b, seed);
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Reshape(Wide(b, stream.key[0], stream.key[1]), {1})));
  TEKTITE_RETURN_IF_ERROR(op.Return(
      b.Concatenate({b.Reshape(stream.counter[0], {1}), b.Reshape(stream.counter[1], {1})}, 0)));
  if (!absl::EndsWith(op.op(), "Alg")) return absl::OkStatus();
  return op.ReturnContents(DType::kS32, {}, {Dim(kPhilox)});
}

}  // namespace tektite::importer
