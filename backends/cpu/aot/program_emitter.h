// The calling program of a variant of a library, as LLVM IR: PREFIX.arena_bytes and PREFIX.run,
// which the functions of its header (entry_points.h) call.
//
//   EmitProgram(&library, &module);
//
// PREFIX.run checks the sizes, the arena and the addresses, computes where everything lies, and
// runs the steps; nothing interprets a graph.  Sizes that are the same in every call are
// constants in it.  Where sizes are open, buffers keep the order in which they lie at typical
// sizes, and each begins where those below it end: so the layout needs no search.
#ifndef TEKTITE_BACKENDS_CPU_AOT_PROGRAM_EMITTER_H_
#define TEKTITE_BACKENDS_CPU_AOT_PROGRAM_EMITTER_H_

#include <string>

#include "jit/aot/library.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {

// The functions' errors add their sentences to the library.
void EmitProgram(aot::Library* library, llvm::Module* module);

// The name of the object that holds the library's data, and its declaration in the module.
std::string DataSymbolOf(const aot::Library& library);
llvm::GlobalVariable* DeclareData(const aot::Library& library, llvm::Module* module);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_PROGRAM_EMITTER_H_
