// Names of the tensor IR that all families of ops use.
#ifndef TEKTITE_JIT_OPS_NAMES_H_
#define TEKTITE_JIT_OPS_NAMES_H_

#include "jit/ir/graph.h"

namespace tektite::ops {

using ir::Attr;
using ir::Attributes;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Graph;
using ir::Literal;
using ir::Node;
using ir::Op;
using ir::Shape;
using ir::Value;

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_NAMES_H_
