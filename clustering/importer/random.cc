// Random numbers that depend on a seed, or on the state that a variable holds, and on nothing else,
// bit for bit TensorFlow's.
//
// Why elementwise ops: element i of a stream is a function of the key, the counter and i alone, so
// it fuses with what uses it.  A dropout's mask is never in memory, and every back end can make it.
//
// The generator is Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011): 4 words of 32 bits for each value of a 128-bit counter.
//
// Limits: ThreeFry, truncated normals (which draw again until a number fits), gamma, Poisson and
// binomial numbers stay TensorFlow's.
#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

constexpr int kRounds = 10;
constexpr double kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
constexpr double kKeySteps[2] = {0x9E3779B9, 0xBB67AE85};
// The key under which TensorFlow turns a seed into a key and a counter.
constexpr double kSeedKey[2] = {0x3ec8f720, 0x02461e29};
// TensorFlow's numbers for its algorithms; on CPUs it selects Philox.
constexpr int64_t kPhilox = 1, kAutoSelect = 3;

using Words = std::array<Value, 4>;
using Key = std::array<Value, 2>;

Value Narrow(FuncBuilder& b, Value wide) { return b.Convert(wide, DType::kU32); }
Value HighWord(FuncBuilder& b, Value wide) {
  return Narrow(b, b.Binary(Op::kShiftRightLogical, wide, b.FullLike(wide, 32)));
}

// One block for each counter.  Words and key: u32 of one shape, or scalars.
Words Philox(FuncBuilder& b, Words x, Key key) {
  for (int round = 0; round < kRounds; ++round) {
    std::array<Value, 2> products;
    for (int i = 0; i < 2; ++i) {
      Value wide = b.Convert(x[2 * i], DType::kU64);
      products[i] = b.Mul(wide, b.FullLike(wide, kMultipliers[i]));
    }
    const auto mix = [&](Value product, Value word, Value key_word) {
      return b.BinaryImplicit(Op::kXor, b.Binary(Op::kXor, HighWord(b, product), word), key_word);
    };
    x = {mix(products[1], x[1], key[0]), Narrow(b, products[1]), mix(products[0], x[3], key[1]),
         Narrow(b, products[0])};
    for (int i = 0; i < 2; ++i) key[i] = b.Add(key[i], b.Scalar(DType::kU32, kKeySteps[i]));
  }
  return x;
}

// Element i of a u64 or s64 vector, as a u64 scalar.
Value WordOf(FuncBuilder& b, Value vector, int64_t i) {
  return b.Bitcast(b.Reshape(b.SliceDim(vector, 0, i, i + 1), {}), DType::kU64);
}

// What a stream is made from.
struct Stream {
  Key key;
  std::array<Value, 2> counter;  // u64: its low and its high half
};

// The same as TensorFlow makes of a seed of two integers.
Stream StreamOf(FuncBuilder& b, Value seed) {
  seed = b.Convert(seed, DType::kS64);
  Words words;
  for (int i = 0; i < 2; ++i) {
    Value half = WordOf(b, seed, i);
    words[2 * i] = Narrow(b, half);
    words[2 * i + 1] = HighWord(b, half);
  }
  const Key key = {b.Scalar(DType::kU32, kSeedKey[0]), b.Scalar(DType::kU32, kSeedKey[1])};
  words = Philox(b, words, key);
  Value high = b.Convert(words[3], DType::kU64);
  high = b.Binary(Op::kShiftLeft, high, b.FullLike(high, 32));
  Value counter = b.Binary(Op::kOr, high, b.Convert(words[2], DType::kU64));
  return {{words[0], words[1]}, {b.Scalar(DType::kU64, 0), counter}};
}

// The words of a stream that elements are made of.
class Bits {
 public:
  // For `n` elements that take `words_each` words: a group of four words for 4 / words_each.
  Bits(FuncBuilder& b, const Stream& stream, const Dim& n, int words_each) : b_(b) {
    const int shift = words_each == 1 ? 2 : 1;
    Value index = b.Iota(DType::kU64, {n}, 0);
    Value block = b.Binary(Op::kShiftRightLogical, index, b.FullLike(index, shift));
    lane_ = Narrow(b, b.Binary(Op::kAnd, index, b.FullLike(index, (1 << shift) - 1)));
    Value low = b.Add(block, stream.counter[0]);
    Value carry = b.Convert(b.Compare(low, block, "lt"), DType::kU64);
    Value high = b.Add(carry, stream.counter[1]);
    words_ = Philox(b, {Narrow(b, low), HighWord(b, low), Narrow(b, high), HighWord(b, high)},
                    stream.key);
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

Value Wide(FuncBuilder& b, Value low, Value high) {
  Value shifted = b.Convert(high, DType::kU64);
  shifted = b.Binary(Op::kShiftLeft, shifted, b.FullLike(shifted, 32));
  return b.Binary(Op::kOr, shifted, b.Convert(low, DType::kU64));
}

// In [0, 1): the bits of the mantissa below an exponent that says [1, 2), less 1.
Value FloatOf(FuncBuilder& b, Value word) {
  Value mantissa = b.Binary(Op::kAnd, word, b.FullLike(word, 0x7fffff));
  Value bits = b.Binary(Op::kOr, mantissa, b.FullLike(word, 0x3f800000));
  Value one = b.Bitcast(bits, DType::kF32);
  return b.Sub(one, b.FullLike(one, 1));
}

Value DoubleOf(FuncBuilder& b, Value first, Value second) {
  Value high = b.Binary(Op::kAnd, first, b.FullLike(first, 0xfffff));
  high = b.Binary(Op::kOr, high, b.FullLike(high, 0x3ff00000));
  Value one = b.Bitcast(Wide(b, second, high), DType::kF64);
  return b.Sub(one, b.FullLike(one, 1));
}

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

// Two numbers of two, by G. E. P. Box and M. E. Muller, "A note on the generation of random normal
// deviates" (1958), with TensorFlow's least number.
Value BoxMuller(FuncBuilder& b, Value first, Value second, Value is_second) {
  constexpr double kLeast = 1e-7;
  const double least = first.dtype() == DType::kF32 ? static_cast<float>(kLeast) : kLeast;
  // TensorFlow multiplies in f64 and rounds the product.
  Value wide = b.Convert(second, DType::kF64);
  Value angle = b.Convert(b.Mul(wide, b.FullLike(wide, 2 * M_PI)), second.dtype());
  Value log = b.Log(b.Max(first, b.FullLike(first, least)));
  Value radius = b.Sqrt(b.Mul(log, b.FullLike(log, -2)));
  Value wave = b.Select(is_second, b.Unary(Op::kCos, angle), b.Unary(Op::kSin, angle));
  return b.Mul(wave, radius);
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

// ---- a generator's state: a variable s64[3] of a counter and a key ----

// TensorFlow sets so many blocks aside for each number, whichever it draws.
constexpr double kBlocksEach = 256;

absl::StatusOr<Value> RequireState(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const int64_t algorithm, op.RequireInt(1));
  if (algorithm != kPhilox && algorithm != kAutoSelect) return op.Refuse("algorithm ", algorithm);
  TEKTITE_ASSIGN_OR_RETURN(const Value state, op.Variable(0));
  if (state.shape() != Shape(DType::kS64, {Dim(3)})) {
    return op.Refuse("a state of ", state.shape().ToString());
  }
  return state;
}

Stream StreamOfState(FuncBuilder& b, Value state) {
  Value key = WordOf(b, state, 2);
  return {{Narrow(b, key), HighWord(b, key)}, {WordOf(b, state, 0), WordOf(b, state, 1)}};
}

// Leaves the state behind `count` numbers, a u64 scalar.  TensorFlow's addition loses a carry where
// nearly 2^64 blocks are skipped, or a number below 0 of them.
absl::Status MoveOn(NodeImport& op, Value state, Value count) {
  FuncBuilder& b = op.b();
  const Stream stream = StreamOfState(b, state);
  Value skipped = b.Mul(count, b.FullLike(count, kBlocksEach));
  Value high = HighWord(b, skipped);
  op.Check(b.Compare(high, b.FullLike(high, 0xffffffff), "lt"));
  Value low = b.Add(stream.counter[0], skipped);
  Value carry = b.Convert(b.Compare(low, skipped, "lt"), DType::kU64);
  const auto part = [&](Value word) { return b.Reshape(b.Bitcast(word, DType::kS64), {1}); };
  Value key = b.SliceDim(state, 0, Dim(2), Dim(3));
  Value behind = b.Concatenate({part(low), part(b.Add(stream.counter[1], carry)), key}, 0);
  return op.SetVariable(0, behind);
}

bool HasState(const NodeImport& op) { return absl::StartsWith(op.op(), "Stateful"); }

bool IsV2(const NodeImport& op) { return absl::EndsWith(op.op(), "V2"); }

// Of the inputs after the shape: a seed, or a key, a counter and the algorithm.
absl::StatusOr<Stream> RequireStream(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (HasState(op)) {
    TEKTITE_ASSIGN_OR_RETURN(const Value state, RequireState(op));
    return StreamOfState(b, state);
  }
  if (!IsV2(op)) {
    if (op.InputDims(1) != Dims{2}) return op.Refuse("the seed must have two elements");
    return StreamOf(b, op.Input(1));
  }
  TEKTITE_ASSIGN_OR_RETURN(const int64_t algorithm, op.RequireInt(3));
  if (algorithm != kPhilox && algorithm != kAutoSelect) return op.Refuse("algorithm ", algorithm);
  if (op.InputDims(1) != Dims{1} || op.InputDims(2) != Dims{2}) {
    return op.Refuse("a key of one element and a counter of two are needed");
  }
  Value key = op.Input(1), counter = op.Input(2);
  if (!key || !counter) return op.Refuse("no key");
  Value whole = WordOf(b, key, 0);
  return Stream{{Narrow(b, whole), HighWord(b, whole)},
                {WordOf(b, counter, 0), WordOf(b, counter, 1)}};
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
    const int first = HasState(op) ? 3 : IsV2(op) ? 4 : 2;
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
