#include "backends/cpu/kernel_facts.h"

namespace tektite::cpu {

KernelFacts FactsOf(const EmittedKernel& emitted) {
  KernelFacts facts;
  facts.sizes = emitted.kernel->sizes;
  facts.launch = ir::DimProgram(facts.sizes.symbols());
  facts.num_chunks = facts.launch.Add(emitted.num_chunks);
  facts.scratch_bytes = facts.launch.Add(emitted.kernel->scratch_bytes);
  facts.cost = facts.launch.Add(emitted.cost);
  facts.in_place = emitted.in_place;
  return facts;
}

}  // namespace tektite::cpu
