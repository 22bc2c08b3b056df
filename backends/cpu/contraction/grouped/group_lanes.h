// How the lanes of a vector of features find the channels that they read, in convolutions of
// groups and in the gradients of their filters.
//
//   groups of 4 channels and 4 features, 16 lanes:  a vector holds 4 groups
//     lane            0 1 2 3   4 5 6 7   8 9 ..
//     reads channel   i i i i   4+i ..    8+i ..     for i = 0, 1, 2, 3: a shuffle of channels
//     0..15
//   groups of 24 channels and 24 features:          a group has two vectors, of 16 and 8 lanes
//     all lanes read channel i of the group
//
// A vector holds whole groups, as many as there are lanes for their features and as lie in
// kMostWindows vectors of channels; lanes that are left stay idle.  One channel of one feature
// each, a depthwise convolution, is the case in which nothing is shuffled.  Where a vector holds
// one group only, a panel is vectors of that group, and a channel is one number for all of them.
// A panel's vectors may reach beyond the last group, or beyond the end of theirs: masks say so.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUP_LANES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUP_LANES_H_

#include <cstdint>
#include <vector>

#include "backends/cpu/contraction/epilogue.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

class GroupLanes {
 public:
  GroupLanes() = default;
  // Of groups of `in` channels and `out` features each, at least one of all of them.
  GroupLanes(int64_t groups, int64_t in, int64_t out, int lanes);

  int64_t in() const { return in_; }
  int64_t channels() const { return groups_ * in_; }
  int64_t features() const { return groups_ * out_; }
  // All lanes of a panel read the same channel.
  bool SharesChannels() const { return per_vector_ == 1 && out_ > 1; }
  bool IsDepthwise() const { return in_ == 1 && out_ == 1; }
  // Vectors among which panels are cut: all, or those of a group.
  int64_t vectors() const;
  // Of vectors of channels that a vector of features reads.
  int64_t windows() const;
  // Features in a vector, on average.
  double features_of_vector() const;
  // Whether a panel's vectors all begin at a multiple of the lanes.
  bool IsAligned() const;

  int64_t Panels(int vectors) const;
  // From a panel's first channel to that of the next one.
  int64_t ChannelsOfPanel(int vectors) const;

  // One vector of a panel.
  struct Vector {
    VectorColumns columns;
    loop::Value channel;              // the first one of its first group
    std::vector<loop::Value> inside;  // a mask for each window; none where all channels exist
  };
  std::vector<Vector> Panel(loop::Builder& b, loop::Value panel, int vectors) const;

  // Channels of one pixel, which begins at `place`.
  struct Pixel {
    loop::Value pointer, place;
    ir::DType stored, computed;
  };
  // The vectors of channels that Lanes picks from.
  std::vector<loop::Value> Windows(loop::Builder& b, const Pixel& pixel, const Vector& v) const;
  // Asks for all channels of a panel.  `place`: of the pixel.
  void Prefetch(loop::Builder& b, loop::Value pointer, ir::DType dtype, loop::Value place,
                const std::vector<Vector>& panel) const;
  // Channel `i` of each lane's group.
  loop::Value Lanes(loop::Builder& b, const std::vector<loop::Value>& windows, int64_t i) const;
  // Where they are the same for all lanes.
  loop::Value Shared(loop::Builder& b, const Pixel& pixel, const Vector& v, loop::Value i) const;

 private:
  int64_t groups_ = 1, in_ = 1, out_ = 1;
  int lanes_ = 1;
  int64_t per_vector_ = 1;  // groups
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUP_LANES_H_
