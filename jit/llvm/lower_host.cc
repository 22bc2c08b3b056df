// The frame of a kernel for the host: an inner function whose parameters are the buffers and
// scratch areas, because LLVM knows how parameters marked noalias behave, and an outer one that
// unpacks what the caller passes.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jit/llvm/lower_context.h"

namespace tektite::loop {

namespace {

class HostFrame final : public Frame {
 public:
  explicit HostFrame(LowerContext& c) : kernel_(*c.kernel), module_(c.module), b_(c.builder) {
    for (const auto& [key, leaf] : kernel_.body().arena->leaves) {
      if (leaf->code == Code::kBuffer || leaf->code == Code::kScratch) pointers_.push_back(leaf);
    }
  }

  llvm::Function* Begin() override {
    llvm::Function* outer = MakeFunctions();
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", inner_));
    LoadSizes();
    return outer;
  }

  llvm::Value* Leaf(const Instr& leaf) override {
    switch (leaf.code) {
      case Code::kChunkBegin:
        return inner_->getArg(kBegin);
      case Code::kChunkEnd:
        return inner_->getArg(kEnd);
      case Code::kSize:
        return sizes_.at(&leaf);
      default: {
        const auto it = std::find(pointers_.begin(), pointers_.end(), &leaf);
        return inner_->getArg(static_cast<unsigned>(kFirstPointer + (it - pointers_.begin())));
      }
    }
  }

 private:
  static constexpr int kBegin = 0, kEnd = 1, kSizes = 2, kFirstPointer = 3;

  // Once at the entry: whatever uses a size is below it.
  void LoadSizes() {
    for (const auto& [key, leaf] : kernel_.body().arena->leaves) {
      if (leaf->code != Code::kSize) continue;
      llvm::Value* slot =
          b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), inner_->getArg(kSizes), leaf->immediate);
      llvm::LoadInst* load = b_.CreateLoad(b_.getInt64Ty(), slot);
      load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(b_.getContext(), {}));
      sizes_[leaf] = load;
    }
  }

  llvm::Function* MakeFunctions() {
    llvm::LLVMContext& context = b_.getContext();
    llvm::Type* ptr = llvm::PointerType::getUnqual(context);
    llvm::Type* i64 = b_.getInt64Ty();
    std::vector<llvm::Type*> types = {i64, i64, ptr};
    types.resize(kFirstPointer + pointers_.size(), ptr);
    inner_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                    llvm::GlobalValue::InternalLinkage,
                                    absl::StrCat(kernel_.name(), ".body"), module_);
    inner_->addFnAttr(llvm::Attribute::NoUnwind);
    inner_->addFnAttr(llvm::Attribute::NoInline);
    llvm::Function* outer = llvm::Function::Create(
        llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, i64, i64}, false),
        llvm::GlobalValue::ExternalLinkage, kernel_.name(), module_);
    outer->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", outer));
    std::vector<llvm::Value*> arguments = {outer->getArg(3), outer->getArg(4), outer->getArg(1)};
    inner_->addParamAttr(kSizes, llvm::Attribute::NoAlias);
    inner_->addParamAttr(kSizes, llvm::Attribute::ReadOnly);
    for (size_t i = 0; i < pointers_.size(); ++i) {
      const Instr& leaf = *pointers_[i];
      const unsigned at = static_cast<unsigned>(kFirstPointer + i);
      if (leaf.code == Code::kBuffer) {
        llvm::Value* slot = b_.CreateConstInBoundsGEP1_64(ptr, outer->getArg(0), leaf.immediate);
        arguments.push_back(b_.CreateLoad(ptr, slot));
        const BufferInfo& info = kernel_.buffers()[leaf.immediate];
        if (!info.may_alias) inner_->addParamAttr(at, llvm::Attribute::NoAlias);
        inner_->getArg(at)->setName(info.name);
      } else {
        arguments.push_back(
            b_.CreateConstGEP1_64(b_.getInt8Ty(), outer->getArg(2), leaf.immediate));
        inner_->addParamAttr(at, llvm::Attribute::NoAlias);
        inner_->addParamAttr(at, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
        inner_->getArg(at)->setName("scratch");
      }
    }
    llvm::CallInst* call = b_.CreateCall(inner_, arguments);
    call->setTailCall();
    b_.CreateRetVoid();
    return outer;
  }

  const Kernel& kernel_;
  llvm::Module* module_;
  llvm::IRBuilder<>& b_;
  llvm::Function* inner_ = nullptr;
  std::vector<const Instr*> pointers_;
  absl::flat_hash_map<const Instr*, llvm::Value*> sizes_;
};

}  // namespace

std::unique_ptr<Frame> MakeHostFrame(LowerContext& c) { return std::make_unique<HostFrame>(c); }

}  // namespace tektite::loop
