// How large a kernel's chunks are.
//
//   const Dim rows_per_chunk = EvenBlock({batch, rows, most_rows, row_ns, chunk_ns});
//
// A chunk should be long, since claiming one costs some 50 ns and operands that it reads again and
// again should come from a near cache; and there should be many, so that threads end together.
// Sizes are the same for every number of threads.  Three equal chunks are thus a bad choice for two
// threads, which take as long as one takes for two of them; so are seven for four.  The cost of a
// number of chunks is computed for teams of one to eight, each thread taking its own part first and
// then chunks that are left of other parts (jit/runtime/threads/thread_team.h), and the cheapest
// number is taken.
//
// Where sizes are not known until a call, there are as few blocks as may be.
#ifndef TEKTITE_BACKENDS_CPU_EMIT_CHUNKING_H_
#define TEKTITE_BACKENDS_CPU_EMIT_CHUNKING_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "jit/backend/launch_facts.h"
#include "jit/ir/dim.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Estimated times are whole numbers (LaunchFacts::cost), so that they are expressions like sizes.
constexpr double kCostPerNs = backend::LaunchFacts::kCostPerNs;
// `ns` for each of `count`.
ir::Dim Cost(const ir::Dim& count, double ns);

// `outer` times `total` units follow each other; blocks of units do not cross a total.
struct Blocking {
  ir::Dim outer = 1;
  ir::Dim total = 1;
  ir::Dim most = 1;     // units in a block
  ir::Dim unit_cost;    // see Cost
  double chunk_ns = 0;  // what a block costs apart from its units
};
// Units in a block, so that a team shares the blocks evenly: at least one, at most `most`.
ir::Dim EvenBlock(const Blocking& blocking);

// Of many blocks, a power of two of units, at most `block`: kernels that are cut so fit each other
// in a pass over blocks of rows (jit/runtime/rounds.h).  Few are left as they are.
ir::Dim FittingBlock(const ir::Dim& total, const ir::Dim& block);

// When the last thread is done with chunks that take so long.
double TeamTime(absl::Span<const double> chunks, int threads);

// Work units per chunk so that a chunk takes some tens of microseconds and there are enough chunks.
ir::Dim UnitsPerChunk(const ir::Dim& units, const ir::Dim& cost);

// Those in this call's chunks.
struct Units {
  loop::Value begin, end;
};
Units UnitsOfCall(loop::Builder& b, const ir::Dim& units, const ir::Dim& units_per_chunk);

// for (c in this call's chunks) for (u in the chunk's units) body(u)
void ForEachUnit(loop::Builder& b, const ir::Dim& units, const ir::Dim& units_per_chunk,
                 const std::function<void(loop::Value)>& body);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMIT_CHUNKING_H_
