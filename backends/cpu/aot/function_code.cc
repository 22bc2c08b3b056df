#include "backends/cpu/aot/function_code.h"

namespace tektite::cpu {

llvm::Function* HiddenFunction(llvm::Module* module, const std::string& name,
                               llvm::FunctionType* type) {
  auto* const function =
      llvm::cast<llvm::Function>(module->getOrInsertFunction(name, type).getCallee());
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  return function;
}

FunctionCode::FunctionCode(llvm::Module* module)
    : module_(*module),
      context_(module->getContext()),
      b_(context_),
      ptr_(b_.getPtrTy()),
      i32_(b_.getInt32Ty()),
      i64_(b_.getInt64Ty()) {}

llvm::Function* FunctionCode::Begin(llvm::Type* result, const std::vector<llvm::Type*>& types,
                                    const std::string& name, bool is_public) {
  function_ = llvm::Function::Create(
      llvm::FunctionType::get(result, types, false),
      is_public ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage, name,
      module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  b_.SetInsertPoint(Block("entry"));
  return function_;
}

llvm::BasicBlock* FunctionCode::Block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::Value* FunctionCode::At(llvm::Value* base, int64_t offset) {
  return At(base, b_.getInt64(static_cast<uint64_t>(offset)));
}

llvm::Value* FunctionCode::At(llvm::Value* base, llvm::Value* offset) {
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, offset);
}

}  // namespace tektite::cpu
