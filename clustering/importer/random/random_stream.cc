#include "clustering/importer/random/random_stream.h"

#include <cmath>

#include "absl/strings/match.h"

namespace tektite::importer {
namespace {

constexpr int kRounds = 10;
constexpr double kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
constexpr double kKeySteps[2] = {0x9E3779B9, 0xBB67AE85};
// The key under which TensorFlow turns a seed into a key and a counter.
constexpr double kSeedKey[2] = {0x3ec8f720, 0x02461e29};
// Where a program leaves the choice to it, TensorFlow takes Philox on CPUs.
constexpr int64_t kAutoSelect = 3;

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

Stream StreamOfState(FuncBuilder& b, Value state) {
  Value key = WordOf(b, state, 2);
  return {{Narrow(b, key), HighWord(b, key)}, {WordOf(b, state, 0), WordOf(b, state, 1)}};
}

// TensorFlow sets so many blocks aside for each number, whichever it draws.
constexpr double kBlocksEach = 256;

bool IsV2(const NodeImport& op) { return absl::EndsWith(op.op(), "V2"); }

// The parts of a normally distributed number by G. E. P. Box and M. E. Muller, "A note on the
// generation of random normal deviates" (1958), with TensorFlow's least number.
struct Polar {
  Value angle, radius;
};
Polar PolarOf(FuncBuilder& b, Value first, Value second) {
  constexpr double kLeast = 1e-7;
  const double least = first.dtype() == DType::kF32 ? static_cast<float>(kLeast) : kLeast;
  // TensorFlow multiplies in f64 and rounds the product.
  Value wide = b.Convert(second, DType::kF64);
  Value angle = b.Convert(b.Mul(wide, b.FullLike(wide, 2 * M_PI)), second.dtype());
  Value log = b.Log(b.Max(first, b.FullLike(first, least)));
  return {angle, b.Sqrt(b.Mul(log, b.FullLike(log, -2)))};
}

}  // namespace

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

absl::StatusOr<Value> RequireState(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const int64_t algorithm, op.RequireInt(1));
  if (algorithm != kPhilox && algorithm != kAutoSelect) return op.Refuse("algorithm ", algorithm);
  TEKTITE_ASSIGN_OR_RETURN(const Value state, op.Variable(0));
  if (state.shape() != Shape(DType::kS64, {Dim(3)})) {
    return op.Refuse("a state of ", state.shape().ToString());
  }
  return state;
}

bool HasState(const NodeImport& op) { return absl::StartsWith(op.op(), "Stateful"); }

// TensorFlow's addition loses a carry where nearly 2^64 blocks are skipped, or a number below 0 of
// them.
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

Words BlockAt(FuncBuilder& b, const Stream& stream, Value block) {
  Value low = b.Add(block, stream.counter[0]);
  Value carry = b.Convert(b.Compare(low, block, "lt"), DType::kU64);
  Value high = b.Add(carry, stream.counter[1]);
  return Philox(b, {Narrow(b, low), HighWord(b, low), Narrow(b, high), HighWord(b, high)},
                stream.key);
}

Value Wide(FuncBuilder& b, Value low, Value high) {
  Value shifted = b.Convert(high, DType::kU64);
  shifted = b.Binary(Op::kShiftLeft, shifted, b.FullLike(shifted, 32));
  return b.Binary(Op::kOr, shifted, b.Convert(low, DType::kU64));
}

// The bits of the mantissa below an exponent that says [1, 2), less 1.
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

Value BoxMuller(FuncBuilder& b, Value first, Value second, Value is_second) {
  const Polar polar = PolarOf(b, first, second);
  Value wave = b.Select(is_second, b.Unary(Op::kCos, polar.angle), b.Unary(Op::kSin, polar.angle));
  return b.Mul(wave, polar.radius);
}

Value BoxMuller(FuncBuilder& b, Value first, Value second, bool is_second) {
  const Polar polar = PolarOf(b, first, second);
  return b.Mul(b.Unary(is_second ? Op::kCos : Op::kSin, polar.angle), polar.radius);
}

}  // namespace tektite::importer
