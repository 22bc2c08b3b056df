#include "jit/runtime/memory/arena_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::runtime {
namespace {

// Above this many buffers one order is tried, not all.
constexpr size_t kManyBuffers = 3000;

int64_t MaxLiveBytes(absl::Span<const LiveBuffer> buffers) {
  int steps = 0;
  for (const LiveBuffer& b : buffers) steps = std::max(steps, b.last + 1);
  std::vector<int64_t> change(steps + 1);
  for (const LiveBuffer& b : buffers) {
    change[b.first] += AlignUp(b.bytes);
    change[b.last + 1] -= AlignUp(b.bytes);
  }
  int64_t live = 0, most = 0;
  for (int64_t c : change) most = std::max(most, live += c);
  return most;
}

using Interval = std::pair<int64_t, int64_t>;

// Pointers, so that all sorting here is the same code: a program that is loaded runs it once, and
// to fetch code costs more than to run it.
void Sort(absl::Span<Interval> pairs) { std::sort(pairs.data(), pairs.data() + pairs.size()); }

// Buffers of equal keys stay in their order.
template <typename Key>
std::vector<int> SortedBy(std::vector<int> buffers, const Key& key) {
  std::vector<Interval> keyed;
  keyed.reserve(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) keyed.emplace_back(key(buffers[i]), i);
  Sort(absl::MakeSpan(keyed));
  std::vector<int> sorted;
  sorted.reserve(buffers.size());
  for (const auto& [k, i] : keyed) sorted.push_back(buffers[i]);
  return sorted;
}

std::vector<std::pair<int, int>> AliveTogether(absl::Span<const LiveBuffer> buffers,
                                               const std::vector<int>& in_time) {
  std::vector<std::pair<int, int>> together;
  together.reserve(4 * buffers.size());  // of most
  std::vector<int> alive;
  for (int b : in_time) {
    alive.erase(std::remove_if(alive.begin(), alive.end(),
                               [&](int a) { return buffers[a].last < buffers[b].first; }),
                alive.end());
    for (int a : alive) together.emplace_back(a, b);
    alive.push_back(b);
  }
  return together;
}

// The first place from `offset` on for `size` bytes, see Place.
int64_t BeginFrom(int64_t offset, int64_t size, int64_t unit) {
  return size <= unit - offset % unit ? offset : RoundUp(offset, unit);
}

// The multiples of `unit` that no buffer lies across, so that blocks have kLeastBlock bytes.
std::vector<int64_t> FindBlocks(absl::Span<const int64_t> bytes, const ArenaLayout& layout,
                                int64_t unit) {
  std::vector<bool> crossed(static_cast<size_t>(CeilDiv(layout.bytes, unit)));
  for (size_t b = 0; b < bytes.size(); ++b) {
    const int64_t begin = layout.offsets[b], end = begin + AlignUp(bytes[b]);
    for (int64_t i = begin / unit + 1; i * unit < end; ++i) crossed[static_cast<size_t>(i)] = true;
  }
  std::vector<int64_t> blocks;
  for (size_t i = 0; i < crossed.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * unit;
    const bool is_tail = i > 0 && layout.bytes - begin < ArenaOrder::kLeastBlock;
    if (!crossed[i] && !is_tail) blocks.push_back(begin);
  }
  return blocks;
}

}  // namespace

ArenaOrder::ArenaOrder(absl::Span<const LiveBuffer> buffers) {
  std::vector<int64_t> bytes;
  for (const LiveBuffer& b : buffers) bytes.push_back(b.bytes);
  std::vector<int> all(buffers.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> in_time = SortedBy(all, [&](int b) { return buffers[b].first; });
  const Pairs together = AliveTogether(buffers, in_time);
  const int64_t lower_bound = MaxLiveBytes(buffers);

  SetOrder(SortedBy(in_time, [&](int b) { return -bytes[b]; }), together);
  layout_ = Place(bytes);
  if (buffers.size() <= kManyBuffers) {
    const std::vector<int> by_area = SortedBy(in_time, [&](int b) {
      int64_t area = 0;
      const int64_t steps = buffers[b].last - buffers[b].first + 1;
      if (__builtin_mul_overflow(bytes[b], steps, &area))
        area = std::numeric_limits<int64_t>::max();
      return -area;
    });
    for (const std::vector<int>* order : {&by_area, &in_time}) {
      if (layout_.bytes == lower_bound) break;
      ArenaOrder other;
      other.SetOrder(*order, together);
      other.layout_ = other.Place(bytes);
      if (other.layout_.bytes < layout_.bytes) *this = std::move(other);
    }
  }
  layout_.max_live_bytes = lower_bound;
}

void ArenaOrder::SetOrder(std::vector<int> order, const Pairs& together) {
  order_ = std::move(order);
  std::vector<int> position(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) position[order_[i]] = static_cast<int>(i);
  // A counting sort.  While it runs, entry i + 1 is where the i-th one's next goes, so that it ends
  // up as where the i-th one's end.
  first_earlier_.assign(order_.size() + 2, 0);
  for (const auto& [a, b] : together) ++first_earlier_[std::max(position[a], position[b]) + 2];
  std::partial_sum(first_earlier_.begin(), first_earlier_.end(), first_earlier_.begin());
  earlier_.resize(together.size());
  for (const auto& [a, b] : together) {
    const bool a_first = position[a] < position[b];
    earlier_[first_earlier_[position[a_first ? b : a] + 1]++] = a_first ? a : b;
  }
}

// Each buffer goes into the smallest gap that takes it.
ArenaLayout ArenaOrder::Place(absl::Span<const int64_t> bytes, int64_t unit) const {
  ArenaLayout layout;
  layout.offsets.assign(bytes.size(), 0);
  absl::InlinedVector<Interval, 32> taken;  // begin, end
  for (size_t i = 0; i < order_.size(); ++i) {
    const int b = order_[i];
    const int64_t size = AlignUp(bytes[b]);
    if (size == 0) continue;
    taken.clear();
    for (int e = first_earlier_[i]; e < first_earlier_[i + 1]; ++e) {
      const int other = earlier_[e];
      const int64_t offset = layout.offsets[other];
      taken.emplace_back(offset, offset + AlignUp(bytes[other]));
    }
    Sort(absl::MakeSpan(taken));
    int64_t best = -1, best_gap = 0, end = 0;
    for (const auto& [other_begin, other_end] : taken) {
      const int64_t gap = other_begin - end, begin = BeginFrom(end, size, unit);
      if (other_begin - begin >= size && (best < 0 || gap < best_gap)) {
        best = begin;
        best_gap = gap;
      }
      end = std::max(end, other_end);
    }
    layout.offsets[b] = best < 0 ? BeginFrom(end, size, unit) : best;
    layout.bytes = std::max(layout.bytes, layout.offsets[b] + size);
  }
  return layout;
}

void ArenaOrder::CutIntoBlocks(absl::Span<const int64_t> bytes, ArenaLayout* layout) const {
  if (layout->bytes < kCutFrom) return;
  const int64_t most = layout->bytes + layout->bytes / 16;
  int64_t unit = std::max(kLeastBlock, AlignUp(CeilDiv(most, kMostBlocks)));
  for (; unit < layout->bytes; unit += AlignUp(unit / 4)) {
    ArenaLayout cut = Place(bytes, unit);
    cut.blocks = FindBlocks(bytes, cut, unit);
    if (cut.bytes > most || cut.blocks.size() == 1) continue;
    cut.max_live_bytes = layout->max_live_bytes;
    *layout = std::move(cut);
    return;
  }
}

}  // namespace tektite::runtime
