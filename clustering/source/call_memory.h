// The memory that the calls of a model's clusters need, for `tektite explain --memory`.
//
//   TEKTITE_RETURN_IF_ERROR(AddCallMemory(compiler, "n0=8", &explanation));
//
// Each cluster is compiled for all sizes, since which results can take over an operand's memory is
// for the kernels to say.
#ifndef TEKTITE_CLUSTERING_SOURCE_CALL_MEMORY_H_
#define TEKTITE_CLUSTERING_SOURCE_CALL_MEMORY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clustering/explain.h"
#include "jit/compiler/compiler.h"

namespace tektite::clustering {

// `sizes`: "n0=8,n1=128", of what the graph leaves open; those that are not named are taken as the
// compiler takes them.  InvalidArgument for text that cannot be read or names no size of any
// cluster.  An error of one cluster stands in its entry.  `kernels`: also says how each kernel is
// made.
absl::Status AddCallMemory(compiler::Compiler& compiler, absl::string_view sizes, bool kernels,
                           Explanation* explanation);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_SOURCE_CALL_MEMORY_H_
