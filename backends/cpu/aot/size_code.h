// Dimension expressions as LLVM IR: a DimProgram becomes straight-line code.
//
//   SizeCode code(&builder);
//   std::vector<llvm::Value*> table = code.Run(program, symbols);
//   code.wraps()      // i1: some value does not fit 64 bits, and no value may be used
//
// Values that are the same in every call are computed here, so that a program without symbols
// leaves constants and no code.
#ifndef TEKTITE_BACKENDS_CPU_AOT_SIZE_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_SIZE_CODE_H_

#include <vector>

#include "absl/types/span.h"
#include "jit/ir/dim_program.h"
#include "llvm/IR/IRBuilder.h"

namespace tektite::cpu {

class SizeCode {
 public:
  explicit SizeCode(llvm::IRBuilder<>* builder) : b_(*builder), wraps_(b_.getFalse()) {}

  // The program's table; `symbols` are i64.
  std::vector<llvm::Value*> Run(const ir::DimProgram& program,
                                absl::Span<llvm::Value* const> symbols);
  llvm::Value* wraps() const { return wraps_; }
  // Of i64 that do not wrap.
  llvm::Value* Max(llvm::Value* a, llvm::Value* b);
  llvm::Value* Min(llvm::Value* a, llvm::Value* b);
  // To a multiple of 64.
  llvm::Value* AlignUp(llvm::Value* bytes);

 private:
  llvm::Value* Checked(llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b);
  // Floors; division by zero yields zero.
  llvm::Value* Divide(llvm::Value* a, llvm::Value* b, bool remainder);

  llvm::IRBuilder<>& b_;
  llvm::Value* wraps_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_SIZE_CODE_H_
