// Names of the tensor IR that all passes use.
#ifndef TEKTITE_JIT_PASSES_NAMES_H_
#define TEKTITE_JIT_PASSES_NAMES_H_

#include "jit/ir/graph.h"
#include "jit/ops/builder.h"

namespace tektite::passes {

using ir::Attr;
using ir::Attributes;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::FusionKind;
using ir::Graph;
using ir::Literal;
using ir::Node;
using ir::Op;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_NAMES_H_
