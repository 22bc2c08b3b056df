// The passes that every lowered kernel goes through, whatever the target.
//
//   TEKTITE_RETURN_IF_ERROR(Lower(kernel, options, &module).status());
//   Optimize(module, *machine);
//
// The emitters chose vectors and unrolling: common subexpressions and hoisting remain. LLVM may
// report a fatal error here (fatal_error.h).
#ifndef TEKTITE_JIT_LLVM_OPTIMIZE_H_
#define TEKTITE_JIT_LLVM_OPTIMIZE_H_

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tektite::loop {

void Optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_OPTIMIZE_H_
