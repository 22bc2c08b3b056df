// Our own ways to make a contraction's kernel by the types of its operands: passes ask which
// products of bytes gain (passes/narrow_types.h).
//
//   for (const target::Offer& offer : OwnOffers(fusion)) ...   // "pairs", or why not, ..., "own"
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_BYTE_WAYS_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_BYTE_WAYS_H_

#include <vector>

#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::gpu {

// Up to the first that fits, which is the last.  EmitContraction makes the same choice again.
std::vector<target::Offer> OwnOffers(const ir::Node& fusion);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_BYTE_WAYS_H_
