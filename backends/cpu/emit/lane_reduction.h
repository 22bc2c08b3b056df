// Several reductions across lanes at once: each takes its part of the same few instructions.
#ifndef TEKTITE_BACKENDS_CPU_EMIT_LANE_REDUCTION_H_
#define TEKTITE_BACKENDS_CPU_EMIT_LANE_REDUCTION_H_

#include <functional>
#include <vector>

#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Lane i of the result is vectors[i] reduced to one lane.  There are as many lanes as vectors: a
// power of two, at most those of a vector.  Neighbours half a vector apart are combined first, then
// those a quarter apart, ...: an order that does not depend on how many vectors there are.
loop::Value ReduceLanesOfEach(loop::Builder& b, std::vector<loop::Value> vectors,
                              const std::function<loop::Value(loop::Value, loop::Value)>& combine);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMIT_LANE_REDUCTION_H_
