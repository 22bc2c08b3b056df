#include "backends/cpu/contraction/grouped/group_lanes.h"

#include <algorithm>

#include "jit/base/rounding.h"

namespace tektite::cpu {

using loop::Value;

namespace {

// Each one more takes a shuffle for every channel of a group.
constexpr int64_t kMostWindows = 4;

}  // namespace

GroupLanes::GroupLanes(int64_t groups, int64_t in, int64_t out, int lanes)
    : groups_(groups), in_(in), out_(out), lanes_(lanes) {
  const int64_t by_channels = kMostWindows * lanes / in, by_features = lanes / out;
  per_vector_ = std::max<int64_t>(std::min({by_channels, by_features, groups}), 1);
}

int64_t GroupLanes::vectors() const {
  return SharesChannels() ? CeilDiv(out_, lanes_) : CeilDiv(groups_, per_vector_);
}

int64_t GroupLanes::windows() const { return CeilDiv(per_vector_ * in_, lanes_); }

double GroupLanes::features_of_vector() const {
  return static_cast<double>(SharesChannels() ? out_ : features()) / static_cast<double>(vectors());
}

bool GroupLanes::IsAligned() const {
  return (SharesChannels() ? out_ : per_vector_ * out_) % lanes_ == 0;
}

int64_t GroupLanes::Panels(int vectors) const {
  return (SharesChannels() ? groups_ : 1) * CeilDiv(this->vectors(), vectors);
}

int64_t GroupLanes::ChannelsOfPanel(int vectors) const {
  if (!SharesChannels()) return per_vector_ * in_ * vectors;
  return this->vectors() <= vectors ? in_ : 0;
}

void GroupLanes::Prefetch(loop::Builder& b, Value pointer, ir::DType dtype, Value place,
                          const std::vector<Vector>& panel) const {
  for (size_t v = 0; v < (SharesChannels() ? 1 : panel.size()); ++v) {
    for (int64_t w = 0; w < windows(); ++w) {
      b.Prefetch(pointer, dtype, b.Add(b.Add(place, panel[v].channel), b.Index(w * lanes_)));
    }
  }
}

std::vector<GroupLanes::Vector> GroupLanes::Panel(loop::Builder& b, Value panel,
                                                  int vectors) const {
  std::vector<Vector> result(vectors);
  if (SharesChannels()) {
    const int64_t blocks = CeilDiv(this->vectors(), vectors);
    const Value group = b.Div(panel, b.Index(blocks));
    const Value block = b.Mul(b.Rem(panel, b.Index(blocks)), b.Index(int64_t{vectors} * lanes_));
    for (int v = 0; v < vectors; ++v) {
      const Value in_group = b.Add(block, b.Index(int64_t{v} * lanes_));
      result[v].columns.first = b.Add(b.Mul(group, b.Index(out_)), in_group);
      result[v].channel = b.Mul(group, b.Index(in_));
      if (out_ % (int64_t{vectors} * lanes_) != 0) {
        result[v].columns.mask = b.MaskUpTo(b.Sub(b.Index(out_), in_group), lanes_);
      }
    }
    return result;
  }
  const int64_t step = per_vector_ * out_, channel_step = per_vector_ * in_;
  const bool is_even = groups_ % (per_vector_ * vectors) == 0;
  for (int v = 0; v < vectors; ++v) {
    const Value number = b.Add(b.Mul(panel, b.Index(vectors)), b.Index(v));
    Vector& one = result[v];
    one.columns.first = b.Mul(number, b.Index(step));
    one.channel = b.Mul(number, b.Index(channel_step));
    if (!is_even || step % lanes_ != 0) {
      const Value left = b.Sub(b.Index(features()), one.columns.first);
      one.columns.mask = b.MaskUpTo(b.Min(left, b.Index(step)), lanes_);
    }
    one.inside.resize(windows());
    if (is_even && channel_step % lanes_ == 0) continue;
    for (int64_t w = 0; w < windows(); ++w) {
      const Value left = b.Sub(b.Index(channels() - w * lanes_), one.channel);
      one.inside[w] = IsDepthwise() ? one.columns.mask : b.MaskUpTo(left, lanes_);
    }
  }
  return result;
}

std::vector<Value> GroupLanes::Windows(loop::Builder& b, const Pixel& pixel,
                                       const Vector& v) const {
  std::vector<Value> result;
  const Value first = b.Add(pixel.place, v.channel);
  for (int64_t w = 0; w < windows(); ++w) {
    const Value at = b.Add(first, b.Index(w * lanes_));
    const Value x = b.Load(pixel.pointer, pixel.stored, at, lanes_, v.inside[w]);
    result.push_back(pixel.stored == pixel.computed ? x : b.Convert(x, pixel.computed));
  }
  return result;
}

Value GroupLanes::Lanes(loop::Builder& b, const std::vector<Value>& windows, int64_t i) const {
  if (IsDepthwise()) return windows[0];
  // From window to window, lanes that have their channel keep it.
  Value result;
  std::vector<int> from(lanes_);
  for (int64_t w = 0; w < static_cast<int64_t>(windows.size()); ++w) {
    bool is_read = false;
    for (int lane = 0; lane < lanes_; ++lane) {
      const int64_t group = std::min(lane / out_, per_vector_ - 1), channel = group * in_ + i;
      const bool is_here = channel / lanes_ == w;
      is_read |= is_here;
      const int here = static_cast<int>(channel % lanes_);
      from[lane] = !result ? (is_here ? here : 0) : (is_here ? lanes_ + here : lane);
    }
    if (!is_read) continue;
    result = result ? b.Shuffle(result, windows[w], from) : b.Shuffle(windows[w], {}, from);
  }
  return result;
}

Value GroupLanes::Shared(loop::Builder& b, const Pixel& pixel, const Vector& v, Value i) const {
  const Value at = b.Add(b.Add(pixel.place, v.channel), i);
  const Value x = b.Load(pixel.pointer, pixel.stored, at);
  return b.Splat(pixel.stored == pixel.computed ? x : b.Convert(x, pixel.computed), lanes_);
}

}  // namespace tektite::cpu
