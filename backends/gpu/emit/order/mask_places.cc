#include "backends/gpu/emit/order/mask_places.h"

#include <utility>

#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/reduction/group_scan.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

namespace {

constexpr int kThreads = 256;
// Neighbours that a thread takes, and elements of a tile.
constexpr int64_t kItems = 8, kTile = kItems * kThreads;

}  // namespace

MaskPlaces::MaskPlaces(Phases* phases, Dim size)
    : phases_(*phases),
      size_(std::move(size)),
      // One at least, which has the count.
      tiles_(Max(CeilDiv(size_, kTile), 1)),
      counts_(phases->AddScratch(DType::kS64, tiles_)),
      count_(phases->AddScratch(DType::kS64, 1)),
      places_(phases->AddScratch(DType::kS64, size_)) {}

Value MaskPlaces::Count(Builder& b) const {
  return b.Load(phases_.Scratch(count_), DType::kS64, b.Index(0));
}

Value MaskPlaces::Place(Builder& b, Value number) const {
  return b.Load(phases_.Scratch(places_), DType::kS64, number);
}

void MaskPlaces::AddPhases(const Mask& mask, const Sink& sink) {
  if (tiles_ != Dim(1)) phases_.Add([&](Builder& b) { EmitTiles(b, mask, nullptr); });
  phases_.Add([&](Builder& b) { EmitTiles(b, mask, &sink); });
}

// Counts only where `sink` is null.
void MaskPlaces::EmitTiles(Builder& b, const Mask& mask, const Sink* sink) {
  b.kernel()->launch.threads = kThreads;
  b.kernel()->launch.blocks = tiles_;
  const Value tile = b.BlockIndex(), thread = b.ThreadIndex();
  const GroupReduction sum(&b, "add", DType::kS64, kThreads);
  Value before = sum.Identity(1);
  if (sink != nullptr && tiles_ != Dim(1)) {
    before = b.For(thread, tile, kThreads, {before}, [&](Value t, absl::Span<const Value> carried) {
      return Values{b.Add(carried[0], b.Load(phases_.Scratch(counts_), DType::kS64, t))};
    })[0];
    before = sum.Total(before);
  }
  const Value first = b.Add(b.Mul(tile, b.Index(kTile)), b.Mul(thread, b.Index(kItems)));
  Values at, is_true, one;
  Value own = b.Index(0);
  for (int64_t i = 0; i < kItems; ++i) {
    at.push_back(b.Add(first, b.Index(i)));
    is_true.push_back(b.IfElse(
        b.Compare("lt", at.back(), b.Index(size_)), [&] { return Values{mask(b, at.back())}; },
        [&] { return Values{b.Int(DType::kBool, 0)}; })[0]);
    one.push_back(b.Convert(is_true.back(), DType::kS64));
    own = b.Add(own, one.back());
  }
  const Value is_first = b.Compare("eq", thread, b.Index(0));
  if (sink == nullptr) {
    const Value total = sum.Total(own);
    return b.If(is_first, [&] { b.Store(phases_.Scratch(counts_), tile, total); });
  }
  const GroupScan::Prefix prefix = GroupScan(&b, &sum, kThreads).Run(own);
  Value number = b.Add(before, prefix.before);
  for (size_t i = 0; i < at.size(); ++i) {
    b.If(is_true[i], [&] {
      b.Store(phases_.Scratch(places_), number, at[i]);
      if (*sink) (*sink)(b, at[i], number);
    });
    number = b.Add(number, one[i]);
  }
  const Value is_last = b.Compare("eq", tile, b.Index(tiles_ - Dim(1)));
  b.If(b.And(is_first, is_last),
       [&] { b.Store(phases_.Scratch(count_), b.Index(0), b.Add(before, prefix.total)); });
}

}  // namespace tektite::gpu
