// A step graph as bytes and back, for the disk cache: all of it but the kernels and the names of
// the steps.
//
//   ByteWriter out;
//   WriteStepGraph(steps, &out);
//
//   ByteReader in(bytes);
//   if (!ReadStepGraph(&in, &steps)) return damaged;
//   for (Step& step : steps.steps) step.kernel = ...;
//   steps.typical_sizes = ...;
//   steps.SetTypicalBytes();
//   steps.FindGroups();
//
// A graph that was read is safe to run whatever the bytes are, as far as the graph itself goes:
// every number of a buffer, a place or a step is within bounds.  Limits: whether a kernel fits the
// buffers it is given cannot be seen here; a digest over the bytes is what vouches for that.
#ifndef TEKTITE_JIT_RUNTIME_STEP_GRAPH_BYTES_H_
#define TEKTITE_JIT_RUNTIME_STEP_GRAPH_BYTES_H_

#include "jit/base/bytes.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

void WriteStepGraph(const StepGraph& graph, ByteWriter* out);
// False for bytes that are no step graph.  Kernels are null, groups are not found yet, and typical
// sizes are kAssumedSize.
bool ReadStepGraph(ByteReader* in, StepGraph* graph);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_STEP_GRAPH_BYTES_H_
