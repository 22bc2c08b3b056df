// The calling program of a library, as LLVM IR: the functions that its header declares.
//
//   TEKTITE_RETURN_IF_ERROR(EmitProgram(&library, needs, &module));
//
// NAME_run checks the machine, the sizes, the arena and the addresses, computes where everything
// lies, and runs the steps; nothing interprets a graph.  Sizes that are the same in every call are
// constants in it.  Where sizes are open, buffers keep the order in which they lie at typical sizes,
// and each begins where those below it end: so the layout needs no search.
#ifndef TEKTITE_BACKENDS_CPU_AOT_PROGRAM_EMITTER_H_
#define TEKTITE_BACKENDS_CPU_AOT_PROGRAM_EMITTER_H_

#include <vector>

#include "absl/status/status.h"
#include "backends/cpu/aot/cpu_check.h"
#include "jit/aot/library.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {

// The functions' errors add their sentences to the library.
absl::Status EmitProgram(const std::vector<CpuNeed>& needs, aot::Library* library,
                         llvm::Module* module);

// The name of the object that holds the library's data.
std::string DataSymbolOf(const aot::Library& library);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_PROGRAM_EMITTER_H_
