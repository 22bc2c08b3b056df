// Names of the tensor IR and of the loop IR that all emitters use.
#ifndef TEKTITE_BACKENDS_CPU_EMIT_NAMES_H_
#define TEKTITE_BACKENDS_CPU_EMIT_NAMES_H_

#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Node;
using ir::Op;
using loop::Value;

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMIT_NAMES_H_
