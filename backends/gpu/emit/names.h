// Names of the tensor IR and of the loop IR that all emitters use.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_NAMES_H_
#define TEKTITE_BACKENDS_GPU_EMIT_NAMES_H_

#include "jit/ir/graph.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Node;
using ir::Op;
using loop::Builder;
using loop::ElementEmitter;
using loop::Indices;
using loop::kWarpThreads;
using loop::Value;

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_NAMES_H_
