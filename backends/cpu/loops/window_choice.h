// Which element of each window select_and_scatter chooses: the first greatest one.
//
//   WindowChooser chooser(root, axes, /*vectorized=*/true, /*lanes=*/16);
//   chooser.EmitInto(&emitter);
//   Value choice = chooser.Choose(place, mask);    // s32, a lane for each window
//
// A choice is the number of an element within its window, in row-major order.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_WINDOW_CHOICE_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_WINDOW_CHOICE_H_

#include <cstdint>
#include <vector>

#include "backends/cpu/emit/elements.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// Elements of a window up to which its code has no loops.
inline constexpr int64_t kMostUnrolled = 32;

// For all values of the symbols, as far as the difference tells.
inline bool IsAtMost(const ir::Dim& a, const ir::Dim& b) { return (a - b).value_or(1) <= 0; }

// One dimension of the image.
struct WindowAxis {
  int64_t window = 1, stride = 1, low = 0;
  int64_t overlap = 0;  // tiles before a tile whose windows reach into it
  ir::Dim size, places, tiles;
  bool starts_inside = true, ends_inside = true;  // every window
  bool tiles_inside = true;                       // every tile has a stride of elements
  bool tiles_have_places = true;                  // every tile has a window

  bool is_plain() const { return window == 1 && stride == 1 && starts_inside && ends_inside; }
};

std::vector<WindowAxis> WindowAxesOf(const ir::Node& select_and_scatter);

class WindowChooser {
 public:
  // `vectorized`: `lanes` windows beside each other along the last dimension, which they leave
  // alone.  `axes` must outlive the chooser.
  WindowChooser(const ir::Node& root, const std::vector<WindowAxis>& axes, bool vectorized,
                int lanes);

  void EmitInto(ElementEmitter* e);

  ir::DType dtype() const { return wide_; }       // what values are compared and added in
  int64_t elements() const { return elements_; }  // of a window
  bool is_unrolled() const { return unrolled_; }
  // For a loop of so many trips within a window.
  loop::Builder::ForOptions Unrolled(int64_t trips) const;

  // The choice of the window at `place`: the first element of all where none is greater than -inf.
  // NaN is not greater than anything.  `mask` is that of the lanes.
  loop::Value Choose(const std::vector<loop::Value>& place, loop::Value mask);
  // An element's number as a choice.
  loop::Value Number(loop::Value number) const;
  // Where the window at a place begins.
  loop::Value Start(int d, loop::Value place) const;
  // An element of the image (0) or of the windows' values (1).
  loop::Value Read(int operand, const std::vector<loop::Value>& index) const;

 private:
  using Values = std::vector<loop::Value>;

  loop::Value ChooseWithin(const Values& place, bool all);
  Values ChooseAmong(const Values& place, const Values& begin, const Values& end,
                     loop::Value number, Values* index, Values state);

  const ir::Node& root_;
  const std::vector<WindowAxis>& axes_;
  const int rank_;
  const bool vectorized_;
  const int lanes_;
  ir::DType wide_;
  int64_t elements_ = 1;
  bool unrolled_ = false;

  loop::Builder* b_ = nullptr;
  ElementEmitter* e_ = nullptr;
  loop::Value mask_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_WINDOW_CHOICE_H_
