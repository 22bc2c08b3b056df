// Draws of classes by their logits, bit for bit TensorFlow's for CPUs.
//
// A row's weights are added one after the other; a number below their sum falls to the class up to
// which they exceed it.  The numbers of a row follow those of the row before, but each piece of
// rows that one of the host's threads works on begins a stretch of its own (host_shards.h).
//
// Limits: sizes are known, and so is how many threads the host has (the node's attribute
// _tektite_threads), unless it makes no difference.
#include <cmath>
#include <limits>

#include "clustering/importer/host_shards.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/movement.h"
#include "clustering/importer/movement/row_search.h"
#include "clustering/importer/random/random_stream.h"

namespace tektite::importer {
namespace {

struct Draws {
  int64_t rows, classes, samples;  // samples a row
};

// f64 [rows, samples] in [0, 1).
Value Numbers(FuncBuilder& b, const Stream& stream, const Draws& d, int64_t rows_per_piece) {
  const Dims dims = {Dim(d.rows), Dim(d.samples)};
  Value row = b.Iota(DType::kU64, dims, 0), sample = b.Iota(DType::kU64, dims, 1);
  const auto full = [&](int64_t v) { return b.FullLike(row, static_cast<double>(v)); };
  Value rest = b.Binary(Op::kRem, row, full(rows_per_piece));
  Value begin = b.Sub(row, rest);
  // A piece skips so many blocks of four words; a number takes two words.
  Value skipped = b.Div(b.Mul(begin, full(d.samples + 3)), full(4));
  Value number = b.Add(b.Mul(rest, full(d.samples)), sample);
  Value block = b.Add(skipped, b.Div(number, full(2)));
  const Words words = BlockAt(b, stream, block);
  Value is_second = b.Compare(b.Binary(Op::kRem, number, full(2)), full(0), "ne");
  return DoubleOf(b, b.Select(is_second, words[2], words[0]),
                  b.Select(is_second, words[3], words[1]));
}

// f64 [rows, classes]: weights of this class and those before it.  What is not finite has none.
Value CumulatedWeights(FuncBuilder& b, Value logits) {
  Value wide = b.Convert(logits, DType::kF64);
  const Dims& dims = wide.shape().dims();
  Value counts = b.Unary(Op::kIsFinite, wide);
  Value lowest = b.Convert(LastFinite(b, logits.dtype(), true), DType::kF64);
  Value most = b.ReduceKeep(b.Select(counts, wide, b.BroadcastTo(lowest, dims)), {1}, "max");
  Value weight = b.Exp(b.Sub(wide, b.BroadcastTo(most, dims)));
  weight = b.Select(counts, weight, b.FullLike(weight, 0));
  return b.Cumulative(weight, 1, "add", /*exclusive=*/false, /*reverse=*/false);
}

}  // namespace

absl::Status ImportStatelessMultinomial(NodeImport& op) {
  if (op.InputRank(0) != 2) return op.Refuse("logits of rank ", op.InputRank(0));
  TEKTITE_RETURN_IF_ERROR(op.RequireScalar(1));
  TEKTITE_ASSIGN_OR_RETURN(const int64_t samples, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("output_dtype", DType::kS64));
  if (op.InputDims(2) != Dims{2}) return op.Refuse("the seed must have two elements");
  const Dims& dims = op.InputDims(0);
  if (!dims[0].is_constant() || !dims[1].is_constant()) {
    return op.Refuse("logits of ", op.InputShape(0).ToString());
  }
  const Draws d = {dims[0].value(), dims[1].value(), samples};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (d.samples < 0 || d.samples > kMost || d.classes < 1 || d.rows > kMost) {
    return op.Refuse(d.samples, " draws of ", d.classes, " classes");
  }
  FuncBuilder& b = op.b();
  const Dims drawn = {Dim(d.rows), Dim(d.samples)};
  if (d.rows == 0 || d.samples == 0) return op.Return(b.Full(dtype, 0, drawn));
  // TensorFlow's estimate.
  const auto cycles =
      static_cast<int64_t>(50 * (static_cast<double>(d.samples) *
                                     std::log(static_cast<double>(d.classes)) / std::log(2) +
                                 static_cast<double>(d.classes)));
  const int64_t threads = op.attrs().Int("_tektite_threads", 0);
  if (threads < 1 && !IsOneHostShard(d.rows, cycles)) {
    return op.Refuse("its numbers depend on how many threads the host has");
  }
  Value logits = op.Input(0), seed = op.Input(2);
  if (!logits || !seed) return op.Return(Value());
  Value sums = CumulatedWeights(b, logits);
  Value numbers = Numbers(b, StreamOf(b, seed), d, HostShard(d.rows, cycles, threads));
  Value all = b.SliceDim(sums, 1, Dim(d.classes - 1), Dim(d.classes));
  Value place = b.Mul(numbers, b.BroadcastTo(all, drawn));
  if (!place) return op.Return(Value());
  const auto before = [&](Value element, Value value) { return b.Compare(element, value, "le"); };
  // One comparison with each class is sooner done than a search for one number.
  Value drawn_class;
  if (d.samples == 1) {
    Value is_before = before(sums, b.BroadcastTo(place, dims));
    drawn_class = b.ReduceKeep(b.Convert(is_before, DType::kS64), {1}, "add");
  } else {
    drawn_class = SearchRows(b, sums, place, d.classes, before);
  }
  return op.Return(b.Convert(drawn_class, dtype));
}

}  // namespace tektite::importer
