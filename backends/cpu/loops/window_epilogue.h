// The end of a window fusion, which reduce_window and its gradient share.
//
//   StoreResults(e, region, *root, total, index, lanes);
//
// The epilogue's space is the root's, or the root's without dimensions of size 1.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_WINDOW_EPILOGUE_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_WINDOW_EPILOGUE_H_

#include <vector>

#include "absl/status/status.h"
#include "backends/cpu/emit/elements.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// The node of `op` that a window fusion is made around; null when there is none.
const ir::Node* FindRoot(const ir::Graph& region, ir::Op op);

// Unimplemented if a result has another space than `root`.
absl::Status CheckResults(const ir::Graph& region, const ir::Node& root);

// Computes the region's results where `root` is `value`, at `index` of root's shape, and stores
// them.  With several lanes, the last dimension goes by them.  The emitter's mask holds.
void StoreResults(ElementEmitter& e, const ir::Graph& region, const ir::Node& root,
                  loop::Value value, const std::vector<loop::Value>& index);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_WINDOW_EPILOGUE_H_
