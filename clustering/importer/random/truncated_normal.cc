// Normally distributed numbers of at most 2 from 0, in TensorFlow's order.
//
// TensorFlow draws again until a number fits.  It makes groups of numbers, each of a part of the
// stream of its own, so that how often one group draws does not matter to the others:
//
//   group g (4 numbers, 2 of f64)    blocks 256 g, 256 g + 1, ... (f64: 128 g) of the stream
//   a block of 4 words               4 candidates (f64: 2), of which the first that fit are taken
//
// Here each group draws so often that all but one in 10^14 find enough, and a check sends the call
// that has such a group to TensorFlow.  So it does where a candidate is as near to 2 as two
// libraries' logarithms and cosines are apart, since the whole group would be another one.
#include <vector>

#include "clustering/importer/import_table.h"
#include "clustering/importer/random/random_stream.h"

namespace tektite::importer {
namespace {

constexpr double kBound = 2;

// How a type's groups are made.
struct Groups {
  int size;             // numbers
  int blocks;           // that are drawn here
  int64_t blocks_each;  // that TensorFlow sets aside
  double near;          // to the bound: 4 units in the last place below it
};

Groups GroupsOf(DType dtype) {
  if (dtype == DType::kF64) return {2, 6, 128, 0x1p-50};
  return {4, 4, 256, 0x1p-21};
}

// What one block's words make, in TensorFlow's order.
std::vector<Value> Candidates(FuncBuilder& b, const Words& x, DType dtype) {
  std::vector<Value> candidates;
  const auto add = [&](Value first, Value second) {
    for (const bool is_second : {false, true}) {
      candidates.push_back(BoxMuller(b, first, second, is_second));
    }
  };
  if (dtype == DType::kF64) {
    add(DoubleOf(b, x[0], x[1]), DoubleOf(b, x[2], x[3]));
  } else {
    add(FloatOf(b, x[0]), FloatOf(b, x[1]));
    add(FloatOf(b, x[2]), FloatOf(b, x[3]));
  }
  return candidates;
}

Value TruncatedNormal(NodeImport& op, const Stream& stream, const Dim& n, DType dtype) {
  FuncBuilder& b = op.b();
  const Groups groups = GroupsOf(dtype);
  const Dim count = ir::CeilDiv(n, Dim(groups.size));
  Value first = b.Iota(DType::kU64, {count}, 0);
  if (!first) return first;
  first = b.Mul(first, b.FullLike(first, static_cast<double>(groups.blocks_each)));
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  std::vector<Value> numbers(groups.size, b.Full(wide, 0, {count}));
  Value found = b.Full(DType::kS32, 0, {count});
  Value sure = b.Full(DType::kBool, 1, {count});
  const auto is_found = [&](int number, absl::string_view direction) {
    return b.Compare(found, b.FullLike(found, number), direction);
  };
  for (int block = 0; block < groups.blocks; ++block) {
    const Words words = BlockAt(b, stream, b.Add(first, b.FullLike(first, block)));
    for (const Value candidate : Candidates(b, words, dtype)) {
      Value size = b.Abs(candidate);
      Value fits = b.Compare(size, b.FullLike(size, kBound), "lt");
      Value distance = b.Abs(b.Sub(size, b.FullLike(size, kBound)));
      Value is_clear = b.Compare(distance, b.FullLike(distance, groups.near), "gt");
      sure = b.Binary(Op::kAnd, sure, b.Binary(Op::kOr, is_clear, is_found(groups.size, "ge")));
      for (int i = 0; i < groups.size; ++i) {
        Value is_next = b.Binary(Op::kAnd, fits, is_found(i, "eq"));
        numbers[i] = b.Select(is_next, candidate, numbers[i]);
      }
      found = b.Add(found, b.Convert(fits, DType::kS32));
    }
  }
  op.Check(b.Binary(Op::kAnd, sure, is_found(groups.size, "ge")));
  for (Value& column : numbers) column = b.Reshape(column, {count, Dim(1)});
  Value flat = b.Reshape(b.Concatenate(numbers, 1), {count * Dim(groups.size)});
  return b.Convert(b.SliceDim(flat, 0, Dim(0), n), dtype);
}

}  // namespace

absl::Status ImportTruncatedNormal(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims dims, op.RequireContents(HasState(op) ? 2 : 0));
  for (const Dim& d : dims) {
    if (d.is_constant() && d.value() < 0) return op.Refuse("a size of ", d.value());
  }
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Stream stream, RequireStream(op));
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("dtype", DType::kF32));
  if (!ir::IsFloat(dtype)) return op.Refuse("type ", ir::DTypeName(dtype));
  const Dim n = Product(dims);
  Value flat = TruncatedNormal(op, stream, n, dtype);
  if (HasState(op)) {
    TEKTITE_ASSIGN_OR_RETURN(const Value state, op.Variable(0));
    TEKTITE_RETURN_IF_ERROR(MoveOn(op, state, op.DimValue(n, DType::kU64)));
  }
  return op.Return(b.Reshape(flat, dims));
}

}  // namespace tektite::importer
