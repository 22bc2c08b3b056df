// The least work of the kernels of a compiled graph: the roofline's two numbers.
//
//   const std::vector<KernelWork> work = WorkOfKernels(graph);   // one per fusion, in order
//   seconds >= max(work[0].flops / peak, work[0].bytes / bandwidth)
//
// Contractions and convolutions count as arithmetic, and with them exponentials, which no attention
// does without and which take the same multipliers; a kernel without any product is bounded by its
// memory traffic, however costly its functions are.  Bytes count what must move at least once: of a
// table that is only gathered from, the rows that are picked.
#ifndef TEKTITE_JIT_COMPILER_KERNEL_WORK_H_
#define TEKTITE_JIT_COMPILER_KERNEL_WORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::compiler {

struct KernelWork {
  double flops = 0;          // a multiplication and an addition are two
  int64_t bytes = 0;         // operands read and results written
  int64_t weight_bytes = 0;  // the operands among them that depend on weights and constants alone
  // For people: "49x160x960" is rows x k x columns of a product, "12 of " before it for a batch;
  // "14x14x576 3x3/2 each" a convolution's input, kernel, stride and result's channels ("each": one
  // filter a channel); otherwise the first result's sizes.
  std::string shape;
};

// Of each fusion, in the graph's order, those of a loop or a choice in its place, one turn of each;
// zeros for one with symbolic shapes.
std::vector<KernelWork> WorkOfKernels(const ir::Graph& graph);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_KERNEL_WORK_H_
