// Elementwise work and data movement: values of one space, written where they are or where an
// update or a concatenate has them.
//
// Elements are numbered in row-major order.  A block takes a tile of them: its threads take vectors
// of 16 bytes side by side, and several rounds of those where there is enough work for all cards,
// so that loads of a thread overlap.  A tile that is not full has code of its own, which ends with
// single elements.  What is read along one dimension and written along another passes through
// shared memory (transposed_tiles.h).
#include <algorithm>
#include <utility>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/transposed_tiles.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ir/writes.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

constexpr int64_t kThreads = 256;
// Vectors of a thread, and blocks from which on it takes several: some for each multiprocessor.
constexpr int64_t kRounds = 4, kManyBlocks = 2048;

bool IsOneElement(const ir::Shape& shape) {
  const Dims& dims = shape.dims();
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d == Dim(1); });
}

// Each value is the same everywhere, or computed from operands at the same index alone: then where
// an element is in its rows does not matter.
bool IsFlat(const ir::Graph& region, const Dims& space) {
  return std::all_of(region.nodes().begin(), region.nodes().end(), [&](const auto& node) {
    if (node->op() == Op::kBroadcastInDim) return IsOneElement(node->operand_shape(0));
    if (node->op() == Op::kConstant) return true;
    if (node->op() != Op::kParameter && !ir::IsElementwise(node->op())) return false;
    return node->shape().dims() == space || IsOneElement(node->shape());
  });
}

bool AllKeepVectors(const ir::Graph& region) {
  return std::all_of(region.nodes().begin(), region.nodes().end(),
                     [](const auto& node) { return KeepsVectors(*node); });
}

class LoopEmitter {
 public:
  LoopEmitter(const ir::Graph& region, const ir::Writes& writes, loop::Kernel* kernel)
      : region_(region),
        writes_(writes),
        kernel_(*kernel),
        b_(kernel),
        sizes_(writes.space),
        elements_(Product(writes.space)) {
    flat_ = across_ >= 0 && !writes.moves && IsFlat(region, region.outputs()[0].shape().dims());
    const int64_t row = across_ < 0 ? 1 : sizes_[static_cast<size_t>(across_)].value_or(1);
    vector_ = VectorElements(region);
    if (!flat_ && (row % vector_ != 0 || !AllKeepVectors(region))) vector_ = 1;
  }

  absl::Status Run() {
    const int64_t round = kThreads * vector_;
    const int64_t rounds = elements_.value_or(0) >= round * kManyBlocks * kRounds ? kRounds : 1;
    const int64_t tile = round * rounds;
    kernel_.launch.threads = static_cast<int>(kThreads);
    kernel_.launch.blocks = CeilDiv(elements_, tile);

    const Value begin = b_.Mul(b_.BlockIndex(), b_.Index(tile));
    const Value first = b_.Add(begin, b_.Mul(b_.ThreadIndex(), b_.Index(vector_)));
    const auto whole = [&] {
      std::vector<Position> positions;
      for (int64_t r = 0; r < rounds; ++r) {
        positions.push_back(PositionOf(b_.Add(first, b_.Index(r * round)), vector_));
        if (flat_) LoadAhead(positions.back());
      }
      for (Position& position : positions) EmitAt(std::move(position));
    };
    if (elements_.is_constant() && elements_.value() % tile == 0) {
      whole();
      return status_;
    }
    const Value end = b_.Index(elements_);
    b_.If(b_.Compare("le", b_.Add(begin, b_.Index(tile)), end), whole,
          [&] { b_.For(first, end, round, [&](Value at) { EmitTail(at, end); }); });
    return status_;
  }

 private:
  void EmitTail(Value at, Value end) {
    if (vector_ == 1) return EmitAt(PositionOf(at, 1));
    b_.If(
        b_.Compare("le", b_.Add(at, b_.Index(vector_)), end),
        [&] { EmitAt(PositionOf(at, vector_)); },
        [&] { b_.For(at, end, 1, [&](Value single) { EmitAt(PositionOf(single, 1)); }); });
  }

  // Elements that a thread computes at once.
  struct Position {
    ElementEmitter e;
    Indices at;
  };

  // [linear, linear + lanes)
  Position PositionOf(Value linear, int64_t lanes) {
    Position position{ElementEmitter(&b_, static_cast<int>(lanes)), {}};
    loop::BindParameters(position.e, region_);
    Indices& at = position.at;
    if (flat_) {
      at.assign(sizes_.size(), loop::At(b_.Index(0)));
      at[static_cast<size_t>(across_)] = loop::At(linear);
    } else {
      for (Value v : loop::Delinearize(b_, linear, sizes_)) at.push_back(loop::At(v));
    }
    if (lanes > 1) at[static_cast<size_t>(across_)].coefficient = 1;
    return position;
  }

  // What the position's elements are computed from: so that the loads of all rounds are under way
  // before the first round computes.  The assembler moves none of them over a division, which
  // branches, nor over a store to what may be the same buffer.
  void LoadAhead(Position& position) {
    const loop::LaneIndex zero = loop::At(b_.Index(0));
    for (const Node* parameter : region_.parameters()) {
      if (IsOneElement(parameter->shape())) continue;
      const ir::Value value{const_cast<Node*>(parameter), 0};
      position.e.Emit(value, loop::WithOnes(parameter->shape(), position.at, zero));
    }
  }

  void EmitAt(Position position) {
    ElementEmitter& e = position.e;
    const Indices& at = position.at;
    const loop::LaneIndex zero = loop::At(b_.Index(0));
    std::vector<Value> values;
    std::vector<Indices> places;
    for (const ir::Write& write : writes_.list) {
      const Indices own = loop::WithOnes(write.value.shape(), at, zero);
      values.push_back(e.Emit(write.value, own));
      places.push_back(loop::WrittenAt(e, write, own));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const int result = writes_.list[i].result;
      e.StoreAt(b_.Buffer(region_.num_parameters() + result), region_.outputs()[result].shape(),
                places[i], values[i]);
    }
    if (status_.ok()) status_ = e.status();
  }

  const ir::Graph& region_;
  const ir::Writes& writes_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dims& sizes_;
  const Dim elements_;
  int across_ = static_cast<int>(sizes_.size()) - 1;  // the dimension that vectors run along
  bool flat_ = false;
  int64_t vector_ = 1;
  absl::Status status_;
};

}  // namespace

bool KeepsVectors(const Node& node) {
  switch (node.op()) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kBroadcastInDim:
    case Op::kIota:
    case Op::kSlice:
      return true;
    default:
      return ir::IsElementwise(node.op());
  }
}

absl::StatusOr<EmittedKernel> EmitLoop(const Node& fusion, const std::string& name) {
  const ir::Writes writes = ir::WritesOf(fusion);
  if (writes.list.empty()) return Unimplemented("values of different spaces in a loop fusion");
  EmittedKernel result;
  result.in_place = loop::InPlacePairs(fusion, writes);
  result.kernel = loop::MakeKernel(fusion, name, result.in_place);
  if (const auto tiles = TransposedTiles::Of(fusion.region(), writes)) {
    TEKTITE_RETURN_IF_ERROR(tiles->Emit(result.kernel.get()));
    return result;
  }
  TEKTITE_RETURN_IF_ERROR(LoopEmitter(fusion.region(), writes, result.kernel.get()).Run());
  return result;
}

}  // namespace tektite::gpu
