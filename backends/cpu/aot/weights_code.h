// The functions of a library whose weights lie outside of it: NAME_check_weights, and of one whose
// weights are a file, NAME_map_weights and NAME_unmap_weights.
//
//   EmitWeightsCode(&library, &module);    // their errors add their sentences to the library
//
// They call open, lseek, mmap, madvise, munmap and close, with Linux's numbers.
// Limits: a file that another process makes shorter while it is mapped ends the process (SIGBUS).
#ifndef TEKTITE_BACKENDS_CPU_AOT_WEIGHTS_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_WEIGHTS_CODE_H_

#include <functional>
#include <string>

#include "jit/aot/library.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {

// Nothing where the weights are inside.
void EmitWeightsCode(aot::Library* library, llvm::Module* module);

// Loads the address of the weights from a tektite_aot_weights of the caller's, and ends the
// function by `fail` where it is none, or where their seal is not the library's.
llvm::Value* LoadWeights(const aot::Library& library, llvm::Value* weights, llvm::IRBuilder<>* b,
                         const std::function<void(llvm::Value*, std::string)>& fail);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_WEIGHTS_CODE_H_
