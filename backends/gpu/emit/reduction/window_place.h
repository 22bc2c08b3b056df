// Where in an image an element of a window lies, in one dimension.
//
//   const WindowPlace place = PlaceInWindow(b, axis, result, i);
//   b.If(place.inside, [&] { ... load at place.at ... });
#ifndef TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_WINDOW_PLACE_H_
#define TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_WINDOW_PLACE_H_

#include "jit/ir/dim.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

struct WindowAxis {
  int64_t stride = 1, dilation = 1;  // of the windows, and of the elements of one
  int64_t low = 0, high = 0;         // padding
  int64_t spread = 1;                // of the image's elements
  ir::Dim size;                      // of the image
};

struct WindowPlace {
  loop::Value at;      // in the image, where it is inside
  loop::Value inside;  // none: always
};

// Element `i` of the window of result `result`.
inline WindowPlace PlaceInWindow(loop::Builder& b, const WindowAxis& axis, loop::Value result,
                                 loop::Value i) {
  WindowPlace place;
  place.at = b.Sub(b.Add(b.Mul(result, b.Index(axis.stride)), b.Mul(i, b.Index(axis.dilation))),
                   b.Index(axis.low));
  const auto require = [&](loop::Value condition) {
    place.inside = place.inside ? b.And(place.inside, condition) : condition;
  };
  if (axis.low > 0) require(b.Compare("ge", place.at, b.Index(0)));
  if (axis.spread > 1) {
    require(b.Compare("eq", b.Rem(place.at, b.Index(axis.spread)), b.Index(0)));
    place.at = b.Div(place.at, b.Index(axis.spread));
  }
  if (axis.low > 0 || axis.high > 0) {
    require(b.Compare("lt", place.at, b.Index(axis.size)));
  }
  return place;
}

// Whether any of the `size` elements of the window of result `result` is outside; none: never.
inline loop::Value WindowReachesOutside(loop::Builder& b, const WindowAxis& axis,
                                        loop::Value result, const ir::Dim& size) {
  if (axis.spread > 1) return b.Int(ir::DType::kBool, 1);
  loop::Value outside;
  const loop::Value first = b.Sub(b.Mul(result, b.Index(axis.stride)), b.Index(axis.low));
  if (axis.low > 0) outside = b.Compare("lt", first, b.Index(0));
  if (axis.high > 0) {
    const loop::Value last = b.Add(first, b.Index((size - ir::Dim(1)) * ir::Dim(axis.dilation)));
    const loop::Value beyond = b.Compare("ge", last, b.Index(axis.size));
    outside = outside ? b.Or(outside, beyond) : beyond;
  }
  return outside;
}

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_WINDOW_PLACE_H_
