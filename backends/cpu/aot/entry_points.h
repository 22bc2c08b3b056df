// The functions of a library's header: they choose a variant of the code and call it.
//
//   EmitEntryPoints(needs, &libraries, &module);   // NAME_arena_bytes, NAME_run, NAME_message
//
// A call runs the first variant whose needs the machine has.  That is found out in the first call,
// by cpuid, and kept in one word, which has the same value whoever writes it: under a hypervisor
// cpuid takes some 50 us.
#ifndef TEKTITE_BACKENDS_CPU_AOT_ENTRY_POINTS_H_
#define TEKTITE_BACKENDS_CPU_AOT_ENTRY_POINTS_H_

#include <vector>

#include "backends/cpu/aot/cpu_check.h"
#include "jit/aot/library.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {

// Both by variant.  After EmitProgram of all of them, since the last one has all sentences.
void EmitEntryPoints(const std::vector<std::vector<CpuNeed>>& needs,
                     std::vector<aot::Library>* libraries, llvm::Module* module);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_ENTRY_POINTS_H_
