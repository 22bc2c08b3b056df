// Elementwise work and data movement: every element is computed at its own index of one space, and
// written there, or where an update or a concatenate has it.

#include <algorithm>

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "jit/base/status.h"
#include "jit/ir/columns.h"
#include "jit/ir/writes.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::cpu {
namespace {

// Innermost extents above this are cut into segments, so that one long row has many chunks.
constexpr int64_t kSegment = 16384;
// Rows of at most so many elements run on behind each other where they can.
constexpr int64_t kNarrow = 7;
// Rows of less than a vector are taken so many at a time: where they are takes divisions, which
// cost more than they do.  (Padding [1, 224, 224, 3] of unknown sizes: 251 us one by one.)
constexpr int64_t kStrip = 64;

// What is computed in one sweep: all values of the space, or one operand of a concatenate.
struct Piece {
  std::vector<ir::Write> writes;
  bool in_columns = false;  // `sizes` are those of the rows, at each of which all columns are
  Dims sizes;               // without dimensions of size 1
  bool in_strips = false;   // a unit is a strip of rows
  Dim units, segments = 1, per_chunk = 1, chunks;
  Dim inner() const { return sizes.empty() ? Dim(1) : sizes.back(); }
  Dim rows() const { return sizes[sizes.size() - 2]; }  // innermost of outer
  // Of the rows, or of strips of them.
  Dims outer() const {
    if (sizes.empty()) return {};
    Dims outer(sizes.begin(), sizes.end() - 1);
    if (in_strips) outer.back() = CeilDiv(outer.back(), kStrip);
    return outer;
  }
};

std::vector<Piece> Pieces(const ir::Graph& region, const ir::Writes& writes) {
  std::vector<Piece> pieces;
  Node* last = region.outputs()[0].node;
  if (writes.moves || region.outputs().size() > 1 || last->op() != Op::kConcatenate) {
    Piece whole;
    whole.writes = writes.list;
    whole.sizes = writes.space;
    return {whole};
  }
  if (ir::JoinsColumns(*last)) {
    Piece columns;
    for (ir::Value v : last->operands()) columns.writes.push_back({v, 0, nullptr, 0, 0});
    columns.in_columns = true;
    columns.sizes = ir::WithoutOnes(last->operand_shape(0).dims());
    return {columns};
  }
  Dim shift;
  const int64_t dimension = last->Int(Attr::dimension);
  for (ir::Value v : last->operands()) {
    Piece piece;
    piece.writes = {{v, 0, nullptr, dimension, shift}};
    piece.sizes = ir::WithoutOnes(v.shape().dims());
    shift = shift + v.shape().dim(static_cast<int>(dimension));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// The time to compute what is written: an update in place leaves the rest of its operand alone.
Dim WritingCost(const ir::Graph& region, const ir::Writes& writes, const Target& target) {
  if (!writes.moves) return ElementwiseCost(region, target);
  const std::unique_ptr<ir::Graph> written = region.Clone();
  std::vector<ir::Value> values;
  for (ir::Value output : written->outputs()) {
    const ir::Op op = output.node->op();
    values.push_back(op == Op::kDynamicUpdateSlice ? output.node->operand(1) : output);
  }
  written->SetOutputs(values);
  written->EraseDead();
  return ElementwiseCost(*written, target);
}

// Functions of which two vectors at once are faster; longer ones run out of registers (asinh: 1.15
// times as long).
bool HasHeavyMath(const ir::Graph& region) {
  for (const auto& node : region.nodes()) {
    switch (node->op()) {
      case Op::kExp:
      case Op::kTanh:
      case Op::kErf:
      case Op::kLog:
      case Op::kLogistic:
      case Op::kExpm1:
      case Op::kLog1p:
      case Op::kPow:
        return true;
      default:
        break;
    }
  }
  return false;
}

// Whether `broadcast` spreads one element, or a row over all rows.
bool SpreadsOneRow(const Node& broadcast) {
  const ir::Shape& from = broadcast.operand_shape(0);
  const int last = broadcast.shape().rank() - 1;
  for (int i = 0; i < from.rank(); ++i) {
    if (from.dim(i) != Dim(1) && broadcast.Ints(Attr::dimensions)[i] != last) return false;
  }
  return true;
}

// Rows of a few elements, as the colours of pixels, of which all is read in order or by the column
// alone.
bool HasNarrowRows(const ir::Graph& region, const Target& target) {
  const Dims& sizes = region.outputs()[0].shape().dims();
  if (sizes.size() < 2 || !sizes.back().is_constant()) return false;
  const int64_t width = sizes.back().value();
  if (width < 2 || width > std::min<int64_t>(kNarrow, RegionLanes(region, target) / 2)) {
    return false;
  }
  return std::all_of(region.nodes().begin(), region.nodes().end(), [&](const auto& node) {
    switch (node->op()) {
      case Op::kConstant:
        return true;
      case Op::kParameter:
        return std::all_of(node->uses().begin(), node->uses().end(), [&](const ir::Use& use) {
          return use.user->op() == Op::kBroadcastInDim || node->shape().dims() == sizes;
        });
      case Op::kBroadcastInDim: {
        const Op from = node->operand(0).node->op();
        return (from == Op::kParameter || from == Op::kConstant) && SpreadsOneRow(*node);
      }
      default:
        return ir::IsElementwise(node->op());
    }
  });
}

// Row by row most lanes of each vector would be off.  Instead rows run on, and a step takes as many
// vectors as a row has elements: each lane meets the same column in every step, so that what
// depends on the column is read once.  ([50176, 3] less a mean, over a deviation: 100 us row by
// row.)
absl::Status EmitNarrowRows(const ir::Graph& region, const Target& target, EmittedKernel* result) {
  const ir::Shape& shape = region.outputs()[0].shape();
  const int lanes = RegionLanes(region, target);
  const int64_t width = shape.dims().back().value(), step = width * lanes;
  const Dim elements = shape.NumElements();
  const Dim units = CeilDiv(elements, step);
  const Dim per_chunk = UnitsPerChunk(units, result->cost);
  result->num_chunks = CeilDiv(units, per_chunk);
  loop::Builder b(result->kernel.get());
  const Indices nowhere(shape.dims().size(), At(b.Index(0)));
  std::vector<ElementEmitter> emitters;  // one per vector of a step
  for (int64_t v = 0; v < width; ++v) {
    ElementEmitter& e = emitters.emplace_back(&b, lanes);
    BindParameters(e, region);
    Value column = b.Rem(b.Add(b.Iota(ir::DType::kS64, lanes), b.Splat(b.Index(v * lanes), lanes)),
                         b.Splat(b.Index(width), lanes));
    Indices at = nowhere;
    at.back() = {{}, 0, column};
    for (const auto& node : region.nodes()) {
      if (node->op() != Op::kBroadcastInDim) continue;
      e.BindValue(node->result(), e.Emit(node->result(), at));
    }
  }
  auto emit_step = [&](Value first, bool whole) {
    for (int64_t v = 0; v < width; ++v) {
      ElementEmitter& e = emitters[v];
      Value at = b.Add(first, b.Index(v * lanes)), mask;
      if (!whole) mask = b.MaskUpTo(b.Sub(b.Index(elements), at), lanes);
      e.Clear();
      for (const Node* p : region.parameters()) {
        if (p->shape().dims() != shape.dims()) continue;
        const int buffer = static_cast<int>(p->Int(Attr::index));
        e.BindValue(ir::Value{const_cast<Node*>(p), 0},
                    b.Load(b.Buffer(buffer), p->shape().dtype(), at, lanes, mask));
      }
      std::vector<Value> values;
      for (ir::Value output : region.outputs()) values.push_back(e.EmitVector(output, nowhere));
      for (size_t o = 0; o < values.size(); ++o) {
        b.Store(b.Buffer(OutputBuffer(region, o)), at, values[o], mask);
      }
    }
  };
  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    Value first = b.Mul(unit, b.Index(step));
    b.If(
        b.Compare("le", b.Add(first, b.Index(step)), b.Index(elements)),
        [&] { emit_step(first, true); }, [&] { emit_step(first, false); });
  });
  for (const ElementEmitter& e : emitters) TEKTITE_RETURN_IF_ERROR(e.status());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EmittedKernel> EmitLoop(const Node& fusion, const Target& target,
                                       const std::string& name) {
  const ir::Graph& region = fusion.region();
  const ir::Writes writes = ir::WritesOf(fusion);
  if (writes.list.empty()) return Unimplemented("values of different spaces in a loop fusion");
  EmittedKernel result;
  result.in_place = loop::InPlacePairs(fusion, writes);
  result.kernel = MakeKernel(fusion, name, result.in_place);
  result.cost = WritingCost(region, writes, target);
  if (HasNarrowRows(region, target)) {
    TEKTITE_RETURN_IF_ERROR(EmitNarrowRows(region, target, &result));
    return result;
  }
  const Dim elements = region.outputs()[0].shape().NumElements();

  std::vector<Piece> pieces = Pieces(region, writes);
  result.num_chunks = 0;
  for (Piece& piece : pieces) {
    const bool is_long = piece.inner().value_or(kSegment * 3) > 2 * kSegment;
    if (is_long) piece.segments = CeilDiv(piece.inner(), kSegment);
    piece.in_strips =
        piece.sizes.size() >= 2 && piece.inner().value_or(kSegment) < RegionLanes(region, target);
    piece.units = piece.inner() == Dim(0) ? Dim(0) : Product(piece.outer()) * piece.segments;
    const Dim count = Product(piece.sizes);
    // A piece of several takes its share of the cost: first divided, so that nothing overflows.
    const Dim cost =
        pieces.size() == 1 ? result.cost : FloorDiv(result.cost, Max(elements, 1)) * count;
    piece.per_chunk = UnitsPerChunk(piece.units, cost);
    piece.chunks = CeilDiv(piece.units, piece.per_chunk);
    result.num_chunks = result.num_chunks + piece.chunks;
  }

  loop::Builder b(result.kernel.get());
  absl::Status status;
  Dim first_chunk;
  for (const Piece& piece : pieces) {
    if (piece.chunks == Dim(0)) continue;
    const Dim inner = piece.inner();
    int lanes = RegionLanes(region, target);
    // Hides the latency of long chains.
    if (HasHeavyMath(region) && inner.value_or(2 * lanes) >= 2 * lanes) lanes *= 2;
    // A vector as long as a row lies in one line of the cache more often than a longer one.
    while (piece.in_strips && lanes / 2 >= inner.value()) lanes /= 2;

    auto emit_unit = [&](Value unit) {
      ElementEmitter e(&b, lanes);
      BindParameters(e, region);
      Value row = unit, segment;
      if (piece.segments != Dim(1)) {
        const bool one_row = piece.units == piece.segments;
        row = one_row ? b.Index(0) : b.Div(unit, b.Index(piece.segments));
        segment = one_row ? unit : b.Sub(unit, b.Mul(row, b.Index(piece.segments)));
      }
      std::vector<Value> row_index = Delinearize(b, row, piece.outer());
      auto body = [&](Value at, Value mask) {
        e.Clear();
        e.SetMask(mask);
        Indices index;
        for (Value v : row_index) index.push_back(At(v));
        if (!piece.sizes.empty()) index.push_back(At(at, 1));
        const LaneIndex zero = At(b.Index(0));
        std::vector<Value> values;
        std::vector<Indices> places;
        for (const ir::Write& write : piece.writes) {
          const Indices own = loop::WithOnes(write.value.shape(), index, zero);
          values.push_back(e.Emit(write.value, own));
          places.push_back(loop::WrittenAt(e, write, own));
        }
        const int results = region.num_parameters();
        if (piece.in_columns) {
          places[0].pop_back();
          e.StoreColumns(b.Buffer(results), region.outputs()[0].shape(), places[0], values);
          return;
        }
        for (size_t i = 0; i < values.size(); ++i) {
          const int result = piece.writes[i].result;
          e.StoreAt(b.Buffer(results + result), region.outputs()[result].shape(), places[i],
                    values[i]);
        }
      };
      if (piece.in_strips) {
        Value begin = b.Mul(row_index.back(), b.Index(kStrip));
        Value end = b.Min(b.Add(begin, b.Index(kStrip)), b.Index(piece.rows()));
        b.For(begin, end, 1, [&](Value row_of_strip) {
          row_index.back() = row_of_strip;
          ForEachVector(b, inner, lanes, body);
        });
      } else if (piece.segments == Dim(1)) {
        ForEachVector(b, inner, lanes, body);
      } else {
        Value begin = b.Mul(segment, b.Index(kSegment));
        Value end = b.Min(b.Add(begin, b.Index(kSegment)), b.Index(inner));
        // Only the last segment is shorter; its tail is masked.
        Value whole = b.Add(begin, b.Mul(b.Div(b.Sub(end, begin), b.Index(lanes)), b.Index(lanes)));
        b.For(begin, whole, lanes, [&](Value at) { body(at, Value()); });
        b.If(b.Compare("lt", whole, end),
             [&] { body(whole, b.MaskUpTo(b.Sub(end, whole), lanes)); });
      }
      if (status.ok()) status = e.status();
    };

    // This piece's chunks within the call's range.
    Value begin = b.Max(b.Sub(b.ChunkBegin(), b.Index(first_chunk)), b.Index(0));
    Value end = b.Min(b.Sub(b.ChunkEnd(), b.Index(first_chunk)), b.Index(piece.chunks));
    Value first = b.Mul(begin, b.Index(piece.per_chunk));
    Value last = b.Min(b.Mul(end, b.Index(piece.per_chunk)), b.Index(piece.units));
    b.For(first, last, 1, emit_unit);
    first_chunk = first_chunk + piece.chunks;
  }
  TEKTITE_RETURN_IF_ERROR(status);
  return result;
}

}  // namespace tektite::cpu
