#include "backends/cpu/aot/entry_points.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/function_code.h"
#include "backends/cpu/aot/page_code.h"
#include "backends/cpu/aot/program_emitter.h"
#include "backends/cpu/aot/weights_code.h"

namespace tektite::cpu {
namespace {

class EntryPoints : FunctionCode {
 public:
  EntryPoints(std::vector<aot::Library>* libraries, llvm::Module* module)
      : FunctionCode(module), libraries_(*libraries), name_(libraries->front().name) {}

  void Emit(const std::vector<std::vector<CpuNeed>>& needs) {
    MakeChoice(needs);
    aot::Library& last = libraries_.back();
    wrong_cpu_ = last.Error(aot::kWrongCpu,
                            "this machine's CPU lacks instructions that the code was made for, or "
                            "the system does not let the process use them");
    bool has_state = false;
    for (const aot::Tensor& argument : last.arguments) has_state |= argument.is_state;
    const size_t sizes = last.sizes.empty() ? 0 : 1;
    EmitCall("arena_bytes", i64_, std::vector<llvm::Type*>(sizes + 1, ptr_));
    std::vector<llvm::Type*> types(2 + sizes + (has_state ? 1 : 0), ptr_);
    // A struct of a pointer and a number is passed as the two of them.
    types.insert(types.end(), {ptr_, i64_, ptr_});
    if (last.weights != aot::WeightsPlace::kInside) types.push_back(ptr_);
    EmitCall("run", i32_, types);
    EmitWeightsCode(&last, &module_);
    EmitMessage(last.sentences);
  }

 private:
  // int32_t(): the variant's number plus 1, or one more than there are.
  void MakeChoice(const std::vector<std::vector<CpuNeed>>& needs) {
    std::vector<llvm::Function*> checks;
    for (size_t v = 0; v < needs.size(); ++v) {
      checks.push_back(MakeCpuCheck(&module_, name_, libraries_[v].prefix, needs[v]));
    }
    auto* const answer =
        new llvm::GlobalVariable(module_, i32_, false, llvm::GlobalValue::InternalLinkage,
                                 b_.getInt32(0), name_ + ".answer");
    choice_ = Begin(i32_, {}, name_ + ".variant");
    auto *known = Block("known"), *ask = Block("ask"), *found = Block("found");
    llvm::LoadInst* const earlier = b_.CreateAlignedLoad(i32_, answer, llvm::Align(4));
    earlier->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateCondBr(b_.CreateICmpEQ(earlier, b_.getInt32(0)), ask, known);
    b_.SetInsertPoint(known);
    b_.CreateRet(earlier);
    b_.SetInsertPoint(found);
    llvm::PHINode* const number = b_.CreatePHI(i32_, static_cast<unsigned>(checks.size() + 1));
    b_.CreateAlignedStore(number, answer, llvm::Align(4))
        ->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateRet(number);
    b_.SetInsertPoint(ask);
    for (size_t v = 0; v < checks.size(); ++v) {
      llvm::BasicBlock* const next = Block("next");
      llvm::BasicBlock* const fits = Block("fits");
      b_.CreateCondBr(b_.CreateCall(checks[v]), fits, next);
      b_.SetInsertPoint(fits);
      if (libraries_[v].weights == aot::WeightsPlace::kInside) {
        EmitPopulate(libraries_[v], DeclareData(libraries_[v], &module_), &b_);
      }
      number->addIncoming(b_.getInt32(static_cast<uint32_t>(v + 1)), fits);
      b_.CreateBr(found);
      b_.SetInsertPoint(next);
    }
    number->addIncoming(b_.getInt32(static_cast<uint32_t>(checks.size() + 1)), b_.GetInsertBlock());
    b_.CreateBr(found);
  }

  // NAME_`what`, which calls PREFIX.`what` of the variant.
  void EmitCall(const std::string& what, llvm::Type* result,
                const std::vector<llvm::Type*>& types) {
    llvm::Function* const function =
        Begin(result, types, absl::StrCat(name_, "_", what), /*is_public=*/true);
    auto* const none = Block("none");
    llvm::SwitchInst* const choice = b_.CreateSwitch(b_.CreateCall(choice_), none);
    for (size_t v = 0; v < libraries_.size(); ++v) {
      auto* const variant = Block("variant");
      choice->addCase(b_.getInt32(static_cast<uint32_t>(v + 1)), variant);
      b_.SetInsertPoint(variant);
      llvm::Function* const called = HiddenFunction(
          &module_, absl::StrCat(libraries_[v].prefix, ".", what), function->getFunctionType());
      std::vector<llvm::Value*> arguments;
      for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
      b_.CreateRet(b_.CreateCall(called, arguments));
    }
    b_.SetInsertPoint(none);
    b_.CreateRet(llvm::ConstantInt::getSigned(result, result == i32_ ? wrong_cpu_ : -wrong_cpu_));
  }

  // ---- const char* NAME_message(int32_t code) ----
  void EmitMessage(const std::vector<std::string>& sentences) {
    // One text and offsets into it: a table of addresses would have to be relocated.
    std::string text = "no such code";
    text.push_back('\0');
    std::vector<uint32_t> offsets;
    for (const std::string& sentence : sentences) {
      offsets.push_back(static_cast<uint32_t>(text.size()));
      text.append(sentence.c_str(), sentence.size() + 1);
    }
    const auto constant = [&](llvm::Constant* value, const char* name) {
      return new llvm::GlobalVariable(module_, value->getType(), true,
                                      llvm::GlobalValue::PrivateLinkage, value, name);
    };
    auto* const texts = constant(llvm::ConstantDataArray::getString(context_, text, false), "text");
    auto* const places = constant(llvm::ConstantDataArray::get(context_, offsets), "places");
    llvm::Function* const function = Begin(ptr_, {i32_}, name_ + "_message", /*is_public=*/true);
    llvm::Value* const number = b_.CreateLShr(function->getArg(0), 8);
    auto *known = Block("known"), *unknown = Block("unknown");
    b_.CreateCondBr(b_.CreateICmpULT(number, b_.getInt32(static_cast<uint32_t>(offsets.size()))),
                    known, unknown);
    b_.SetInsertPoint(known);
    llvm::Value* const place =
        b_.CreateLoad(i32_, b_.CreateInBoundsGEP(i32_, places, b_.CreateZExt(number, i64_)));
    b_.CreateRet(At(texts, b_.CreateZExt(place, i64_)));
    b_.SetInsertPoint(unknown);
    b_.CreateRet(texts);
  }

  std::vector<aot::Library>& libraries_;
  const std::string name_;
  llvm::Function* choice_ = nullptr;
  int wrong_cpu_ = 0;
};

}  // namespace

void EmitEntryPoints(const std::vector<std::vector<CpuNeed>>& needs,
                     std::vector<aot::Library>* libraries, llvm::Module* module) {
  EntryPoints(libraries, module).Emit(needs);
}

}  // namespace tektite::cpu
