// Loops that read along one dimension and write along another: squares of vectors are read, turned
// round in registers and written.
//
// Element by element, as EmitLoop does it, each vector that is written takes a cache line for each
// of its lanes.  (f32[3,3,512,512], the filter of a convolution's gradient: 4.0 ms, 0.8 in
// squares.)

#include "backends/cpu/loops/transpose_emitter.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/contraction/packing/panel_packing.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

// With fewer elements on either side most of a square is empty.
constexpr int64_t kLeastExtent = 8;

// The result's dimension along which its one large operand lies in memory; -1 where that is the
// innermost, or there is more to the region than a transpose and work on single elements.
int ReadDimension(const ir::Graph& region) {
  if (region.outputs().size() != 1) return -1;
  const int rank = region.outputs()[0].shape().rank();
  const Node* transpose = nullptr;
  int operands = 0;
  for (const auto& node : region.nodes()) {
    const bool scalar = node->shape().rank() == 0;
    const int bytes = ir::DTypeBytes(node->shape().dtype());
    if (!scalar && (node->shape().rank() != rank || (bytes != 4 && bytes != 8))) return -1;
    switch (node->op()) {
      case Op::kParameter:
        operands += scalar ? 0 : 1;
        break;
      case Op::kTranspose:
        if (transpose != nullptr) return -1;
        transpose = node.get();
        break;
      case Op::kReverse:
        break;
      case Op::kConstant:
        if (!scalar) return -1;
        break;
      case Op::kBroadcastInDim:
        if (node->operand_shape(0).rank() != 0) return -1;
        break;
      default:
        if (!ir::IsElementwise(node->op())) return -1;
    }
  }
  if (transpose == nullptr || operands != 1) return -1;
  const auto& permutation = transpose->Ints(ir::Attr::permutation);
  const int along = static_cast<int>(std::find(permutation.begin(), permutation.end(), rank - 1) -
                                     permutation.begin());
  return along == rank - 1 ? -1 : along;
}

}  // namespace

absl::Status CheckTransposingLoop(const Node& fusion) {
  const int along = ReadDimension(fusion.region());
  if (along < 0) return Unimplemented("a loop that reads in the order in which it writes");
  const Dims& sizes = fusion.region().outputs()[0].shape().dims();
  if (sizes[along].value_or(kLeastExtent) < kLeastExtent ||
      sizes.back().value_or(kLeastExtent) < kLeastExtent) {
    return Unimplemented("a transpose of few rows or columns");
  }
  return absl::OkStatus();
}

absl::StatusOr<EmittedKernel> EmitTransposingLoop(const Node& fusion, const Target& target,
                                                  const std::string& name) {
  const ir::Graph& region = fusion.region();
  TEKTITE_RETURN_IF_ERROR(CheckTransposingLoop(fusion));
  const int along = ReadDimension(region);
  const ir::Value output = region.outputs()[0];
  const Dims& sizes = output.shape().dims();
  const size_t last = sizes.size() - 1;
  const Dim &read = sizes[along], &written = sizes[last];
  const int lanes = RegionLanes(region, target);

  EmittedKernel result;
  result.kernel = MakeKernel(fusion, name);
  // Read and written.
  result.cost = Cost(output.shape().NumElements(),
                     2 * ir::DTypeBytes(output.dtype()) / target.memory_bytes_per_ns);
  // A unit is a vector of the result, for all of `read`.
  Dims units_of(sizes.begin(), sizes.end());
  units_of.erase(units_of.begin() + along);
  units_of.back() = CeilDiv(written, lanes);
  const Dim units = read == Dim(0) ? Dim(0) : Product(units_of);
  const Dim per_chunk = UnitsPerChunk(units, result.cost);
  result.num_chunks = CeilDiv(units, per_chunk);

  loop::Builder b(result.kernel.get());
  ElementEmitter e(&b, lanes);
  BindParameters(e, region);
  const bool ragged = Mod(written, lanes) != Dim(0);
  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    Indices at;
    for (Value v : Delinearize(b, unit, units_of)) at.push_back(At(v));
    at.insert(at.begin() + along, LaneIndex{});
    const Value begin = b.Mul(at[last].base, b.Index(lanes));
    const Value present = ragged ? b.MaskUpTo(b.Sub(b.Index(written), begin), lanes) : Value();
    ForEachVector(b, read, lanes, [&](Value first, Value mask) {
      std::vector<Value> square;
      e.SetMask(mask);
      at[along] = At(first, 1);
      for (int r = 0; r < lanes; ++r) {
        e.Clear();
        Value row = b.Add(begin, b.Index(r));
        // Rows beyond the end repeat the last one, and are not written.
        if (ragged) row = b.Min(row, b.Index(written - Dim(1)));
        at[last] = At(row);
        square.push_back(e.EmitVector(output, at));
      }
      square = TransposeSquare(b, std::move(square));
      e.SetMask(present);
      at[last] = At(begin, 1);
      for (int r = 0; r < lanes; ++r) {
        const Value row = b.Add(first, b.Index(r));
        at[along] = At(row);
        auto store = [&] {
          e.StoreAt(b.Buffer(region.num_parameters()), output.shape(), at, square[r]);
        };
        if (!mask) {
          store();
        } else {
          b.If(b.Compare("lt", row, b.Index(read)), store);
        }
      }
    });
  });
  TEKTITE_RETURN_IF_ERROR(e.status());
  return result;
}

}  // namespace tektite::cpu
