// Streams of random numbers: what a seed, a key and a counter, or a generator's state make of the
// inputs of a TensorFlow node, and the numbers that words of 32 random bits stand for.
//
//   TEKTITE_ASSIGN_OR_RETURN(const Stream stream, RequireStream(op));
//   const Words words = BlockAt(b, stream, b.Iota(DType::kU64, {n}, 0));   // 4 n words
//   Value number = FloatOf(b, words[0]);                                   // f32[n] in [0, 1)
//
// The generator is Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011): 4 words of 32 bits for each value of a 128-bit counter.
#ifndef TEKTITE_CLUSTERING_IMPORTER_RANDOM_RANDOM_STREAM_H_
#define TEKTITE_CLUSTERING_IMPORTER_RANDOM_RANDOM_STREAM_H_

#include <array>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

using Words = std::array<Value, 4>;  // u32

// What a stream is made from.
struct Stream {
  std::array<Value, 2> key;      // u32
  std::array<Value, 2> counter;  // u64: its low and its high half
};

// The same as TensorFlow makes of a seed of two integers.
Stream StreamOf(FuncBuilder& b, Value seed);
// Of the inputs after the shape: a seed, or a key, a counter and the algorithm; for a stateful op
// of the variable that is input 0.
absl::StatusOr<Stream> RequireStream(NodeImport& op);

// The state that is input 0: a variable s64[3] of a counter and a key, for algorithm input 1.
absl::StatusOr<Value> RequireState(NodeImport& op);
bool HasState(const NodeImport& op);
// Leaves the state behind `count` numbers, a u64 scalar.
absl::Status MoveOn(NodeImport& op, Value state, Value count);

// The words of block `block`, a u64 tensor, of a stream.
Words BlockAt(FuncBuilder& b, const Stream& stream, Value block);

// TensorFlow's number for the algorithm.
inline constexpr int64_t kPhilox = 1;

// The low and the high word of 64 bits as u64.
Value Wide(FuncBuilder& b, Value low, Value high);
// In [0, 1), of one word and of two.
Value FloatOf(FuncBuilder& b, Value word);
Value DoubleOf(FuncBuilder& b, Value first, Value second);
// One of the two normally distributed numbers that two numbers in [0, 1) make.
Value BoxMuller(FuncBuilder& b, Value first, Value second, Value is_second);
Value BoxMuller(FuncBuilder& b, Value first, Value second, bool is_second);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_RANDOM_RANDOM_STREAM_H_
