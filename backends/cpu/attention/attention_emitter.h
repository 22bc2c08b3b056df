// The kernel of attention.
#ifndef TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_EMITTER_H_
#define TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_EMITTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// softmax(query x key) x value: scores stay in cache.
absl::StatusOr<EmittedKernel> EmitAttention(const ir::Node& fusion, const Target& target,
                                            const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_ATTENTION_ATTENTION_EMITTER_H_
