// What the makers of a library's functions share: a module, and the function at hand.
//
//   class EntryPoints : FunctionCode {
//     void EmitOne() {
//       llvm::Function* const function = Begin(i32_, {ptr_}, "one", /*is_public=*/true);
//       auto* const next = Block("next"); ...
#ifndef TEKTITE_BACKENDS_CPU_AOT_FUNCTION_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_FUNCTION_CODE_H_

#include <string>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tektite::cpu {

// A function that another object of the same library may define.
llvm::Function* HiddenFunction(llvm::Module* module, const std::string& name,
                               llvm::FunctionType* type);

class FunctionCode {
 protected:
  explicit FunctionCode(llvm::Module* module);

  // Makes a function of the library's own or a public one; code follows at its beginning.
  llvm::Function* Begin(llvm::Type* result, const std::vector<llvm::Type*>& types,
                        const std::string& name, bool is_public = false);
  // Of the function at hand.
  llvm::BasicBlock* Block(const char* name);
  // `offset` bytes behind `base`.
  llvm::Value* At(llvm::Value* base, int64_t offset);
  llvm::Value* At(llvm::Value* base, llvm::Value* offset);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Type *const ptr_, *const i32_, *const i64_;
  llvm::Function* function_ = nullptr;  // at hand
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_FUNCTION_CODE_H_
