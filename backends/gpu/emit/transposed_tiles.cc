#include "backends/gpu/emit/transposed_tiles.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

constexpr int64_t kWarps = 8;
// What a thread reads at once: 4 bytes, so that a warp reads a line.
constexpr int64_t kThreadBytes = 4;
// A shorter side leaves most of a tile empty.
constexpr int64_t kLeastSide = 16;
// Tiles of a kernel, which lie side by side in shared memory.
constexpr size_t kMostTransposes = 4;

// The dimension of the space in which the operand of a transpose is contiguous.
std::optional<size_t> DimensionReadAlong(const Node& transpose) {
  const Dims& dims = transpose.shape().dims();
  const std::vector<int64_t>& permutation = transpose.Ints(ir::Attr::permutation);
  std::optional<size_t> found;
  int64_t last = -1;
  size_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(1)) continue;
    if (permutation[i] > last) {
      last = permutation[i];
      found = place;
    }
    ++place;
  }
  return found;
}

bool IsLong(const Dim& size) { return !size.is_constant() || size.value() >= kLeastSide; }

// Emits the two halves of a tile.
class TileEmitter {
 public:
  TileEmitter(const ir::Graph& region, const ir::Writes& writes,
              const std::vector<Node*>& transposes, size_t along, int64_t vector,
              loop::Kernel* kernel)
      : region_(region),
        writes_(writes),
        transposes_(transposes),
        along_(along),
        vector_(vector),
        kernel_(*kernel),
        b_(kernel) {}

  absl::Status Run() {
    kernel_.launch.threads = static_cast<int>(kWarps * kWarpThreads);
    Dims grid;
    for (size_t i = 0; i < space().size(); ++i) {
      if (i != along_ && i != across_) grid.push_back(space()[i]);
    }
    const Dim &read = space()[along_], &written = space()[across_];
    grid.push_back(CeilDiv(read, side_));
    grid.push_back(CeilDiv(written, side_));
    kernel_.launch.blocks = Product(grid);

    const std::vector<Value> block = loop::Delinearize(b_, b_.BlockIndex(), grid);
    first_.resize(space().size());
    size_t next = 0;
    for (size_t i = 0; i < space().size(); ++i) {
      if (i != along_ && i != across_) first_[i] = block[next++];
    }
    first_[along_] = b_.Mul(block[next], b_.Index(side_));
    first_[across_] = b_.Mul(block[next + 1], b_.Index(side_));
    for (const Node* transpose : transposes_) {
      tiles_.push_back(b_.AllocateShared(transpose->shape().dtype(), side_ * pitch_));
    }
    warp_ = b_.Div(b_.ThreadIndex(), b_.Index(kWarpThreads));
    lane_ = b_.Mul(b_.Rem(b_.ThreadIndex(), b_.Index(kWarpThreads)), b_.Index(vector_));

    Either([&](bool whole) { Fill(whole); });
    b_.Barrier();
    Either([&](bool whole) { Write(whole); });
    return status_;
  }

 private:
  const Dims& space() const { return writes_.space; }

  bool IsAlwaysWhole(size_t dimension) const {
    const Dim& size = space()[dimension];
    return size.is_constant() && size.value() % side_ == 0;
  }

  Value Reaches(size_t dimension) {
    return b_.Compare("le", b_.Add(first_[dimension], b_.Index(side_)),
                      b_.Index(space()[dimension]));
  }

  // Code for a tile that is whole, in which loads follow each other, and for one that is not.
  template <typename F>
  void Either(const F& emit) {
    if (IsAlwaysWhole(along_) && IsAlwaysWhole(across_)) return emit(true);
    b_.If(
        b_.And(Reaches(along_), Reaches(across_)), [&] { emit(true); }, [&] { emit(false); });
  }

  // Where a thread is in a tile: in a row of `lines`, with the lane along the other dimension.
  struct Place {
    Value line, lane;  // within the tile
    Indices at;        // in the space
    Value exists;
  };
  Place PlaceOf(int64_t round, size_t lines, size_t lanes) {
    Place place;
    place.line = b_.Add(warp_, b_.Index(round * kWarps));
    place.lane = lane_;
    for (Value v : first_) place.at.push_back(loop::At(v));
    place.at[lines] = loop::At(b_.Add(first_[lines], place.line));
    place.at[lanes] = loop::At(b_.Add(first_[lanes], lane_), vector_ > 1 ? 1 : 0);
    place.exists = b_.And(b_.Compare("lt", place.at[lines].base, b_.Index(space()[lines])),
                          b_.Compare("lt", place.at[lanes].base, b_.Index(space()[lanes])));
    return place;
  }

  ElementEmitter MakeEmitter() {
    ElementEmitter e(&b_, static_cast<int>(vector_));
    loop::BindParameters(e, region_);
    return e;
  }

  // The operands' elements, each to its place in the tile of the transpose.
  void Fill(bool whole) {
    ElementEmitter e = MakeEmitter();
    std::vector<std::pair<Place, std::vector<Value>>> read;
    for (int64_t round = 0; round < side_ / kWarps; ++round) {
      const Place place = PlaceOf(round, across_, along_);
      if (whole) {
        read.emplace_back(place, Read(e, place.at));
        continue;
      }
      b_.If(place.exists, [&] { Keep(place, Read(e, place.at)); });
      e.Clear();
    }
    for (const auto& [place, values] : read) Keep(place, values);
    Note(e);
  }

  std::vector<Value> Read(ElementEmitter& e, const Indices& at) {
    const loop::LaneIndex zero = loop::At(b_.Index(0));
    std::vector<Value> values;
    for (const Node* transpose : transposes_) {
      const Indices own = loop::WithOnes(transpose->shape(), at, zero);
      const std::vector<int64_t>& permutation = transpose->Ints(ir::Attr::permutation);
      Indices from(own.size());
      for (size_t i = 0; i < own.size(); ++i) from[static_cast<size_t>(permutation[i])] = own[i];
      values.push_back(e.EmitVector(transpose->operand(0), from));
    }
    return values;
  }

  void Keep(const Place& place, const std::vector<Value>& values) {
    for (size_t t = 0; t < tiles_.size(); ++t) {
      for (int64_t i = 0; i < vector_; ++i) {
        const Value row = b_.Add(place.lane, b_.Index(i));
        const Value at = b_.Add(b_.Mul(row, b_.Index(pitch_)), place.line);
        b_.Store(tiles_[t], at,
                 vector_ > 1 ? b_.ExtractLane(values[t], static_cast<int>(i)) : values[t]);
      }
    }
  }

  void Write(bool whole) {
    for (int64_t round = 0; round < side_ / kWarps; ++round) {
      const Place place = PlaceOf(round, along_, across_);
      if (whole) {
        WriteAt(place);
      } else {
        b_.If(place.exists, [&] { WriteAt(place); });
      }
    }
  }

  void WriteAt(const Place& place) {
    ElementEmitter e = MakeEmitter();
    const Value from = b_.Add(b_.Mul(place.line, b_.Index(pitch_)), place.lane);
    for (size_t t = 0; t < tiles_.size(); ++t) {
      e.BindValue(transposes_[t]->result(), b_.Load(tiles_[t], transposes_[t]->shape().dtype(),
                                                    from, static_cast<int>(vector_)));
    }
    const loop::LaneIndex zero = loop::At(b_.Index(0));
    std::vector<Value> values;
    for (const ir::Write& write : writes_.list) {
      values.push_back(e.Emit(write.value, loop::WithOnes(write.value.shape(), place.at, zero)));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const ir::Write& write = writes_.list[i];
      e.StoreAt(b_.Buffer(region_.num_parameters() + write.result), write.value.shape(),
                loop::WithOnes(write.value.shape(), place.at, zero), values[i]);
    }
    Note(e);
  }

  void Note(const ElementEmitter& e) {
    if (status_.ok()) status_ = e.status();
  }

  const ir::Graph& region_;
  const ir::Writes& writes_;
  const std::vector<Node*>& transposes_;
  const size_t along_, across_ = writes_.space.size() - 1;
  const int64_t vector_, side_ = kWarpThreads * vector_;
  // Rows begin in different banks.
  const int64_t pitch_ = side_ + vector_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  std::vector<Value> first_;  // of the block's elements, in the space
  std::vector<Value> tiles_;
  Value warp_, lane_;
  absl::Status status_;
};

// Whether all that is computed from transposes is computed at the same index.
bool IsElementwiseBehind(const ir::Graph& region, const Dims& space,
                         const std::vector<Node*>& transposes) {
  absl::flat_hash_set<const Node*> behind(transposes.begin(), transposes.end());
  for (const auto& node : region.nodes()) {
    if (!absl::c_any_of(node->operands(),
                        [&](const ir::Value& v) { return behind.contains(v.node); })) {
      continue;
    }
    if (!ir::IsElementwise(node->op()) || ir::WithoutOnes(node->shape().dims()) != space) {
      return false;
    }
    behind.insert(node.get());
  }
  return true;
}

}  // namespace

std::optional<TransposedTiles> TransposedTiles::Of(const ir::Graph& region,
                                                   const ir::Writes& writes) {
  TransposedTiles tiles(region, writes);
  if (writes.moves || writes.space.size() < 2) return std::nullopt;
  const size_t across = writes.space.size() - 1;
  int64_t bytes = 1;
  bool keeps_vectors = true;
  for (const auto& node : region.nodes()) {
    if (node->op() != Op::kTranspose) {
      keeps_vectors = keeps_vectors && KeepsVectors(*node);
      continue;
    }
    const std::optional<size_t> along = DimensionReadAlong(*node);
    if (!along.has_value() || ir::WithoutOnes(node->shape().dims()) != writes.space) {
      return std::nullopt;
    }
    if (*along == across) {
      keeps_vectors = false;  // its index is the emitter's affair
      continue;
    }
    if (!tiles.transposes_.empty() && *along != tiles.along_) return std::nullopt;
    tiles.along_ = *along;
    tiles.transposes_.push_back(node.get());
    bytes = std::max<int64_t>(bytes, ir::DTypeBytes(node->shape().dtype()));
  }
  const size_t count = tiles.transposes_.size();
  if (count == 0 || count > kMostTransposes || bytes > 8) return std::nullopt;
  const Dim &read = writes.space[tiles.along_], &written = writes.space[across];
  if (!IsLong(read) || !IsLong(written)) return std::nullopt;
  if (!IsElementwiseBehind(region, writes.space, tiles.transposes_)) return std::nullopt;
  const int64_t vector = std::max<int64_t>(kThreadBytes / bytes, 1);
  if (keeps_vectors && read.value_or(1) % vector == 0 && written.value_or(1) % vector == 0) {
    tiles.vector_ = vector;
  }
  return tiles;
}

absl::Status TransposedTiles::Emit(loop::Kernel* kernel) const {
  return TileEmitter(region_, writes_, transposes_, along_, vector_, kernel).Run();
}

}  // namespace tektite::gpu
