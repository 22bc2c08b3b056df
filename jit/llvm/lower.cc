#include "jit/llvm/lower.h"

#include "absl/container/flat_hash_map.h"
#include "jit/base/status.h"
#include "jit/llvm/lower_context.h"
#include "jit/llvm/math/num.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace tektite::loop {

llvm::Type* ElementType(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return llvm::Type::getInt1Ty(context);
    case DType::kF32:
      return llvm::Type::getFloatTy(context);
    case DType::kF64:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::Type::getIntNTy(context, 8 * ir::DTypeBytes(dtype));
  }
}

llvm::Type* LlvmType(llvm::LLVMContext& context, Type type) {
  if (type.pointer) return llvm::PointerType::getUnqual(context);
  llvm::Type* element = ElementType(context, type.dtype);
  return type.lanes == 1 ? element : llvm::FixedVectorType::get(element, type.lanes);
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype) {
  return dtype == DType::kBool ? llvm::Type::getInt8Ty(context) : ElementType(context, dtype);
}

namespace {

// The code is an inner function whose parameters are the buffers and scratch areas, because LLVM
// knows how parameters marked noalias behave, and an outer one that unpacks the frame.
class Lowering {
 public:
  Lowering(const Kernel& kernel, const LowerOptions& options, llvm::Module* module)
      : kernel_(kernel),
        c_{module, llvm::IRBuilder<>(module->getContext()), options,
           options.vector_bytes == 64 && module->getTargetTriple().isX86_64()},
        b_(c_.builder) {}

  absl::StatusOr<llvm::Function*> Run() {
    TEKTITE_RETURN_IF_ERROR(Verify(kernel_));
    if (!c_.options.has_fma)
      return Unimplemented("kernel ", kernel_.name(), ": the target has no fma");
    CollectLeaves();
    llvm::Function* outer = MakeFunctions();
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", inner_));
    LoadSizes();
    TEKTITE_RETURN_IF_ERROR(LowerBlock(kernel_.body()));
    b_.CreateRetVoid();
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyFunction(*inner_, &stream)) {
      return Internal("kernel ", kernel_.name(), ": bad LLVM IR: ", problem);
    }
    return outer;
  }

 private:
  static constexpr int kBegin = 0, kEnd = 1, kSizes = 2, kFirstPointer = 3;

  void CollectLeaves() {
    for (const auto& [key, leaf] : kernel_.body().arena->leaves) {
      if (leaf->code == Code::kBuffer || leaf->code == Code::kScratch) pointers_.push_back(leaf);
    }
  }

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
                                    absl::StrCat(kernel_.name(), ".body"), c_.module);
    inner_->addFnAttr(llvm::Attribute::NoUnwind);
    inner_->addFnAttr(llvm::Attribute::NoInline);
    llvm::Function* outer = llvm::Function::Create(
        llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, i64, i64}, false),
        llvm::GlobalValue::ExternalLinkage, kernel_.name(), c_.module);
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

  llvm::Value* Leaf(const Instr& leaf) {
    llvm::LLVMContext& context = b_.getContext();
    const Type type = leaf.results[0];
    switch (leaf.code) {
      case Code::kChunkBegin:
        return inner_->getArg(kBegin);
      case Code::kChunkEnd:
        return inner_->getArg(kEnd);
      case Code::kSize:
        return sizes_.at(&leaf);
      case Code::kConstant: {
        llvm::Type* llvm_type = LlvmType(context, type);
        const uint64_t bits = static_cast<uint64_t>(leaf.immediate);
        return math::Num(&c_, llvm::Constant::getNullValue(llvm_type)).ConstantBits(bits).value();
      }
      case Code::kIota: {
        std::vector<llvm::Constant*> lanes;
        llvm::Type* element = ElementType(context, type.dtype);
        for (int i = 0; i < type.lanes; ++i) {
          lanes.push_back(ir::IsFloat(type.dtype) ? llvm::ConstantFP::get(element, i)
                                                  : llvm::ConstantInt::get(element, i));
        }
        return llvm::ConstantVector::get(lanes);
      }
      default: {
        const auto it = std::find(pointers_.begin(), pointers_.end(), &leaf);
        return inner_->getArg(static_cast<unsigned>(kFirstPointer + (it - pointers_.begin())));
      }
    }
  }

  llvm::Value* Get(Value v) {
    const Instr& instr = *v.instr();
    if (IsLeaf(instr.code) && instr.code != Code::kArguments) return Leaf(instr);
    return values_.at({&instr, v.result()});
  }
  llvm::Value* Operand(const Instr& instr, int i) { return Get(instr.operands[i]); }
  void Set(const Instr& instr, int result, llvm::Value* v) { values_[{&instr, result}] = v; }

  absl::Status LowerBlock(const Block& block) {
    for (const Instr* instr : block.instrs) {
      if (instr->code == Code::kFor) {
        TEKTITE_RETURN_IF_ERROR(LowerFor(*instr));
      } else if (instr->code == Code::kIf) {
        TEKTITE_RETURN_IF_ERROR(LowerIf(*instr));
      } else {
        llvm::Value* v = LowerInstr(*instr);
        if (v == nullptr) return NoLowering(*instr);
        if (!instr->results.empty()) Set(*instr, 0, v);
      }
    }
    return absl::OkStatus();
  }

  absl::Status NoLowering(const Instr& instr) {
    const bool has_op = instr.code == Code::kUnary || instr.code == Code::kBinary ||
                        instr.code == Code::kReduceLanes;
    return Unimplemented("kernel ", kernel_.name(), ": no CPU code for ",
                         has_op ? ir::OpName(instr.op) : CodeName(instr.code), " on ",
                         ir::DTypeName(instr.operands[0].dtype()));
  }

  // A guard, then a loop with its test at the end: one branch a trip, and what LICM hoists runs
  // only if the body does.
  absl::Status LowerFor(const Instr& loop) {
    llvm::LLVMContext& context = b_.getContext();
    llvm::Value* begin = Operand(loop, 0);
    llvm::Value* end = Operand(loop, 1);
    llvm::BasicBlock* guard = b_.GetInsertBlock();
    auto* preheader = llvm::BasicBlock::Create(context, "preheader", inner_);
    auto* head = llvm::BasicBlock::Create(context, "loop", inner_);
    auto* exit = llvm::BasicBlock::Create(context, "exit", inner_);
    // The builder folds constant bounds: then there is no guard.
    llvm::Value* enter = b_.CreateICmpSLT(begin, end);
    const bool always = llvm::isa<llvm::ConstantInt>(enter);
    if (always) {
      b_.CreateBr(preheader);
    } else {
      b_.CreateCondBr(enter, preheader, exit);
    }
    b_.SetInsertPoint(preheader);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    const Instr& arguments = *loop.body->arguments;
    std::vector<llvm::PHINode*> phis;
    for (size_t i = 0; i < arguments.results.size(); ++i) {
      llvm::PHINode* phi = b_.CreatePHI(LlvmType(context, arguments.results[i]), 2);
      phi->addIncoming(i == 0 ? begin : Operand(loop, static_cast<int>(i) + 1), preheader);
      Set(arguments, static_cast<int>(i), phi);
      phis.push_back(phi);
    }
    TEKTITE_RETURN_IF_ERROR(LowerBlock(*loop.body));
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    llvm::Value* next = b_.CreateNSWAdd(phis[0], b_.getInt64(loop.immediate));
    phis[0]->addIncoming(next, latch);
    for (size_t i = 1; i < phis.size(); ++i)
      phis[i]->addIncoming(Get(loop.body->results[i - 1]), latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, exit);
    b_.SetInsertPoint(exit);
    for (size_t i = 1; i < phis.size(); ++i) {
      llvm::PHINode* phi = b_.CreatePHI(phis[i]->getType(), 2);
      phi->addIncoming(Get(loop.body->results[i - 1]), latch);
      if (!always) phi->addIncoming(Operand(loop, static_cast<int>(i) + 1), guard);
      Set(loop, static_cast<int>(i) - 1, phi);
    }
    return absl::OkStatus();
  }

  absl::Status LowerIf(const Instr& instr) {
    llvm::LLVMContext& context = b_.getContext();
    auto* then = llvm::BasicBlock::Create(context, "then", inner_);
    auto* otherwise = llvm::BasicBlock::Create(context, "else", inner_);
    auto* next = llvm::BasicBlock::Create(context, "endif", inner_);
    b_.CreateCondBr(Operand(instr, 0), then, otherwise);
    b_.SetInsertPoint(then);
    TEKTITE_RETURN_IF_ERROR(LowerBlock(*instr.body));
    llvm::BasicBlock* then_end = b_.GetInsertBlock();
    b_.CreateBr(next);
    b_.SetInsertPoint(otherwise);
    TEKTITE_RETURN_IF_ERROR(LowerBlock(*instr.otherwise));
    llvm::BasicBlock* otherwise_end = b_.GetInsertBlock();
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    for (size_t i = 0; i < instr.results.size(); ++i) {
      llvm::PHINode* phi = b_.CreatePHI(LlvmType(context, instr.results[i]), 2);
      phi->addIncoming(Get(instr.body->results[i]), then_end);
      phi->addIncoming(Get(instr.otherwise->results[i]), otherwise_end);
      Set(instr, static_cast<int>(i), phi);
    }
    return absl::OkStatus();
  }

  llvm::Value* LowerInstr(const Instr& instr) {
    const DType dtype = instr.operands[0].dtype();
    switch (instr.code) {
      case Code::kUnary:
        return LowerUnary(c_, instr.op, dtype, Operand(instr, 0));
      case Code::kBinary:
        return LowerBinary(c_, instr.op, dtype, Operand(instr, 0), Operand(instr, 1));
      case Code::kFma:
        return math::Fma(math::Num(&c_, Operand(instr, 0)), math::Num(&c_, Operand(instr, 1)),
                         math::Num(&c_, Operand(instr, 2)))
            .value();
      case Code::kCompare:
        return LowerCompare(c_, static_cast<Direction>(instr.immediate), dtype, Operand(instr, 0),
                            Operand(instr, 1));
      case Code::kSelect:
        return b_.CreateSelect(Operand(instr, 0), Operand(instr, 1), Operand(instr, 2));
      case Code::kConvert:
        return LowerConvert(c_, Operand(instr, 0), dtype, instr.results[0].dtype);
      case Code::kBitcast:
        return LowerBitcast(c_, Operand(instr, 0), dtype, instr.results[0].dtype);
      case Code::kReduceLanes:
        return LowerReduceLanes(c_, instr.op, dtype, Operand(instr, 0));
      case Code::kSplat:
        return b_.CreateVectorSplat(instr.results[0].lanes, Operand(instr, 0));
      case Code::kExtractLane:
        return b_.CreateExtractElement(Operand(instr, 0), instr.immediate);
      case Code::kInsertLane:
        return b_.CreateInsertElement(Operand(instr, 0), Operand(instr, 1), instr.immediate);
      case Code::kShuffle:
        return LowerShuffle(instr);
      case Code::kMaskUpTo:
        return LowerMaskUpTo(Operand(instr, 0), instr.results[0].lanes);
      default:
        return LowerMemory(c_, instr, [&](int i) { return Operand(instr, i); });
    }
  }

  llvm::Value* LowerShuffle(const Instr& instr) {
    llvm::Value* a = Operand(instr, 0);
    llvm::Value* second = instr.operands.size() > 1 ? Operand(instr, 1) : nullptr;
    if (LanesOf(a) == 1) {  // two scalars
      llvm::Type* type = LlvmType(b_.getContext(), instr.results[0]);
      llvm::Value* v = llvm::PoisonValue::get(type);
      for (size_t i = 0; i < instr.lanes.size(); ++i) {
        v = b_.CreateInsertElement(v, instr.lanes[i] == 0 ? a : second, i);
      }
      return v;
    }
    return second == nullptr ? b_.CreateShuffleVector(a, instr.lanes)
                             : b_.CreateShuffleVector(a, second, instr.lanes);
  }

  // In s32, where one vector register holds all lanes.
  llvm::Value* LowerMaskUpTo(llvm::Value* count, int lanes) {
    llvm::Value* zero = b_.getInt64(0);
    llvm::Value* limited = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, zero),
        b_.getInt64(lanes));
    llvm::Value* splat = b_.CreateVectorSplat(lanes, b_.CreateTrunc(limited, b_.getInt32Ty()));
    std::vector<llvm::Constant*> iota;
    for (int i = 0; i < lanes; ++i) iota.push_back(b_.getInt32(i));
    return b_.CreateICmpSLT(llvm::ConstantVector::get(iota), splat);
  }

  const Kernel& kernel_;
  LowerContext c_;
  llvm::IRBuilder<>& b_;
  llvm::Function* inner_ = nullptr;
  std::vector<const Instr*> pointers_;
  absl::flat_hash_map<const Instr*, llvm::Value*> sizes_;
  absl::flat_hash_map<std::pair<const Instr*, int>, llvm::Value*> values_;
};

}  // namespace

absl::StatusOr<llvm::Function*> Lower(const Kernel& kernel, const LowerOptions& options,
                                      llvm::Module* module) {
  return Lowering(kernel, options, module).Run();
}

}  // namespace tektite::loop
