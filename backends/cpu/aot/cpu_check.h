// Code that finds out whether the machine at hand has what a library's code needs.
//
//   // i1()
//   llvm::Function* check = MakeCpuCheck(&module, "mlp", "mlp.v3", NeedsOf(target, false));
//
// LLVM has no intrinsic of cpuid, and an assembler for one instruction would be a megabyte, so it
// is a function in machine code, in an object of its own.  Linux saves AMX's tiles of processes
// alone that have asked for it: the check asks where the code uses them, once in a process.
#ifndef TEKTITE_BACKENDS_CPU_AOT_CPU_CHECK_H_
#define TEKTITE_BACKENDS_CPU_AOT_CPU_CHECK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {

// A bit of cpuid, which LLVM calls `feature`.
struct CpuNeed {
  absl::string_view feature;
  uint32_t leaf, subleaf;
  int word;  // eax, ebx, ecx, edx
  int bit;
};

// All that code for the target may use, of AMX only if it `uses_tiles`; nothing on AArch64, where
// each machine has its vectors.
std::vector<CpuNeed> NeedsOf(const NamedTarget& target, bool uses_tiles);

// Returns true where the machine has all of them and the system saves the registers, tiles among
// them where they are needed.  It may be called by several threads at once.
// The function is `prefix`.cpu.
llvm::Function* MakeCpuCheck(llvm::Module* module, const std::string& library,
                             const std::string& prefix, const std::vector<CpuNeed>& needs);

// The objects of the functions that the check calls, with their files' names.
std::vector<std::pair<std::string, std::string>> CpuCheckObjects(const std::string& library);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_CPU_CHECK_H_
