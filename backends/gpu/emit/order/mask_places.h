// Where a mask is true, in order: what results whose number of rows depends on the data are made
// of.
//
//   MaskPlaces places(&phases, n);                                   // before the first phase
//   places.AddPhases([&](b, at) { return ...; });                    // a bool for each of n
//   phases.Add([&](b) { ... places.Count(b), places.Place(b, row) ... });
//
// Blocks take tiles of the mask.  A first phase counts what is true in each, a second one begins
// with the counts before it and numbers its own.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ORDER_MASK_PLACES_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ORDER_MASK_PLACES_H_

#include <functional>

#include "backends/gpu/emit/phases.h"

namespace tektite::gpu {

class MaskPlaces {
 public:
  using Mask = std::function<loop::Value(loop::Builder&, loop::Value at)>;
  using Sink = std::function<void(loop::Builder&, loop::Value at, loop::Value number)>;

  MaskPlaces(Phases* phases, ir::Dim size);
  // `sink`, if any, is called for each place that is true, with how many come before it.
  void AddPhases(const Mask& mask, const Sink& sink = nullptr);

  // In later phases, s64: how many are true, and the place of number `number` of them.
  loop::Value Count(loop::Builder& b) const;
  loop::Value Place(loop::Builder& b, loop::Value number) const;

 private:
  void EmitTiles(loop::Builder& b, const Mask& mask, const Sink* sink);

  Phases& phases_;
  const ir::Dim size_, tiles_;
  const int counts_, count_, places_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ORDER_MASK_PLACES_H_
