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

llvm::Type* LlvmType(LowerContext& c, Type type) {
  llvm::LLVMContext& context = c.builder.getContext();
  if (type.pointer) {
    const unsigned space = !c.device ? kHostSpace : type.shared ? kSharedSpace : kGlobalSpace;
    return llvm::PointerType::get(context, space);
  }
  llvm::Type* element = ElementType(context, type.dtype);
  return type.lanes == 1 ? element : llvm::FixedVectorType::get(element, type.lanes);
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype) {
  return dtype == DType::kBool ? llvm::Type::getInt8Ty(context) : ElementType(context, dtype);
}

namespace {

class Lowering {
 public:
  Lowering(const Kernel& kernel, const LowerOptions& options, llvm::Module* module)
      : kernel_(kernel),
        c_{module,
           llvm::IRBuilder<>(module->getContext()),
           options,
           options.vector_bytes == 64 && module->getTargetTriple().isX86_64(),
           kernel.is_for_device(),
           &kernel},
        b_(c_.builder) {}

  absl::StatusOr<llvm::Function*> Run() {
    TEKTITE_RETURN_IF_ERROR(Verify(kernel_));
    if (!c_.options.has_fma)
      return Unimplemented("kernel ", kernel_.name(), ": the target has no fma");
    if (c_.device != c_.module->getTargetTriple().isNVPTX()) {
      return Internal("kernel ", kernel_.name(), " is for ", c_.device ? "a device" : "the host",
                      ", not for ", c_.module->getTargetTriple().str());
    }
    frame_ = c_.device ? MakeDeviceFrame(c_) : MakeHostFrame(c_);
    llvm::Function* entry = frame_->Begin();
    body_ = b_.GetInsertBlock()->getParent();
    TEKTITE_RETURN_IF_ERROR(LowerBlock(kernel_.body()));
    b_.CreateRetVoid();
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyFunction(*body_, &stream)) {
      return Internal("kernel ", kernel_.name(), ": bad LLVM IR: ", problem);
    }
    return entry;
  }

 private:
  llvm::Value* Leaf(const Instr& leaf) {
    const Type type = leaf.results[0];
    switch (leaf.code) {
      case Code::kConstant: {
        llvm::Type* llvm_type = LlvmType(c_, type);
        const uint64_t bits = static_cast<uint64_t>(leaf.immediate);
        return math::Num(&c_, llvm::Constant::getNullValue(llvm_type)).ConstantBits(bits).value();
      }
      case Code::kIota: {
        std::vector<llvm::Constant*> lanes;
        llvm::Type* element = ElementType(b_.getContext(), type.dtype);
        for (int i = 0; i < type.lanes; ++i) {
          lanes.push_back(ir::IsFloat(type.dtype) ? llvm::ConstantFP::get(element, i)
                                                  : llvm::ConstantInt::get(element, i));
        }
        return llvm::ConstantVector::get(lanes);
      }
      default:
        return frame_->Leaf(leaf);
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
      } else if (instr->code == Code::kRoles) {
        TEKTITE_RETURN_IF_ERROR(LowerRoles(*instr));
      } else if (IsWarpgroupCode(instr->code)) {
        int result = 0;
        for (llvm::Value* v :
             LowerWarpgroup(c_, *instr, [&](int i) { return Operand(*instr, i); })) {
          Set(*instr, result++, v);
        }
      } else if (IsMatrixCode(instr->code)) {
        int result = 0;
        for (llvm::Value* v : LowerMatrix(c_, *instr, [&](int i) { return Operand(*instr, i); })) {
          Set(*instr, result++, v);
        }
      } else if (IsTileCode(instr->code)) {
        LowerTile(c_, *instr, [&](int i) { return Operand(*instr, i); });
      } else {
        llvm::Value* v = LowerInstr(*instr);
        if (v == nullptr) return NoLowering(*instr);
        if (!instr->results.empty()) Set(*instr, 0, v);
      }
    }
    return absl::OkStatus();
  }

  static bool IsMatrixCode(Code code) {
    return code == Code::kCommitCopies || code == Code::kCopyAsync || code == Code::kLoadMatrices ||
           code == Code::kWaitForCopies || code == Code::kWarpMultiply;
  }

  static bool IsTileCode(Code code) {
    return code >= Code::kTileConfigure && code <= Code::kTileZero;
  }

  absl::Status NoLowering(const Instr& instr) {
    const bool has_op = instr.code == Code::kUnary || instr.code == Code::kBinary ||
                        instr.code == Code::kReduceLanes;
    return Unimplemented("kernel ", kernel_.name(), ": no ", c_.device ? "device" : "CPU",
                         " code for ", has_op ? ir::OpName(instr.op) : CodeName(instr.code), " on ",
                         ir::DTypeName(instr.operands[0].dtype()));
  }

  // A guard, then a loop with its test at the end: one branch a trip, and what LICM hoists runs
  // only if the body does.
  absl::Status LowerFor(const Instr& loop) {
    llvm::LLVMContext& context = b_.getContext();
    llvm::Value* begin = Operand(loop, 0);
    llvm::Value* end = Operand(loop, 1);
    llvm::BasicBlock* guard = b_.GetInsertBlock();
    auto* preheader = llvm::BasicBlock::Create(context, "preheader", body_);
    auto* head = llvm::BasicBlock::Create(context, "loop", body_);
    auto* exit = llvm::BasicBlock::Create(context, "exit", body_);
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
      llvm::PHINode* phi = b_.CreatePHI(LlvmType(c_, arguments.results[i]), 2);
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
    auto* then = llvm::BasicBlock::Create(context, "then", body_);
    auto* otherwise = llvm::BasicBlock::Create(context, "else", body_);
    auto* next = llvm::BasicBlock::Create(context, "endif", body_);
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
      llvm::PHINode* phi = b_.CreatePHI(LlvmType(c_, instr.results[i]), 2);
      phi->addIncoming(Get(instr.body->results[i]), then_end);
      phi->addIncoming(Get(instr.otherwise->results[i]), otherwise_end);
      Set(instr, static_cast<int>(i), phi);
    }
    return absl::OkStatus();
  }

  absl::Status LowerRoles(const Instr& instr) {
    llvm::LLVMContext& context = b_.getContext();
    auto* first = llvm::BasicBlock::Create(context, "first_role", body_);
    auto* second = llvm::BasicBlock::Create(context, "second_role", body_);
    auto* next = llvm::BasicBlock::Create(context, "end_of_roles", body_);
    Block::Arena& arena = *kernel_.body().arena;
    llvm::Value* thread = Leaf(*arena.Leaf(Code::kThreadIndex, Type(), 0));
    b_.CreateCondBr(b_.CreateICmpULT(thread, b_.getInt64(static_cast<uint64_t>(instr.immediate))),
                    first, second);
    for (const bool is_first : {true, false}) {
      b_.SetInsertPoint(is_first ? first : second);
      const int own = instr.lanes[is_first ? 0 : 1], other = instr.lanes[is_first ? 1 : 0];
      LowerRegisters(c_, own, /*more=*/own > other);
      TEKTITE_RETURN_IF_ERROR(LowerBlock(is_first ? *instr.body : *instr.otherwise));
      b_.CreateBr(next);
    }
    b_.SetInsertPoint(next);
    return absl::OkStatus();
  }

  llvm::Value* LowerInstr(const Instr& instr) {
    if (instr.code == Code::kBarrier) return LowerBarrier(c_);
    const DType dtype = instr.operands[0].dtype();
    switch (instr.code) {
      case Code::kWarpDown:
      case Code::kWarpRead:
      case Code::kWarpVote:
      case Code::kWarpXor:
        return LowerExchange(c_, instr, Operand(instr, 0),
                             instr.code == Code::kWarpRead ? Operand(instr, 1) : nullptr);
      case Code::kUnary:
        return LowerUnary(c_, instr.op, dtype, Operand(instr, 0));
      case Code::kBinary:
        if (c_.device && instr.immediate != 0) {
          return LowerNarrowDivision(c_, instr.op, Operand(instr, 0), Operand(instr, 1),
                                     instr.operands.size() > 2 ? Operand(instr, 2) : nullptr);
        }
        return LowerBinary(c_, instr.op, dtype, Operand(instr, 0), Operand(instr, 1));
      case Code::kFma:
        return math::Fma(math::Num(&c_, Operand(instr, 0)), math::Num(&c_, Operand(instr, 1)),
                         math::Num(&c_, Operand(instr, 2)))
            .value();
      case Code::kDotBytes:
        if (c_.device) {
          return LowerDotBytesOfDevice(c_, instr, [&](int i) { return Operand(instr, i); });
        }
        return LowerDotBytes(c_, Operand(instr, 0), Operand(instr, 1), Operand(instr, 2));
      case Code::kDotPairs:
        return LowerDotPairs(c_, Operand(instr, 0), Operand(instr, 1), Operand(instr, 2));
      case Code::kDotShorts:
        return LowerDotShorts(c_, Operand(instr, 0), Operand(instr, 1), Operand(instr, 2));
      case Code::kCompare:
        if (instr.operands[0].type().pointer) {
          const bool equal = static_cast<Direction>(instr.immediate) == Direction::kEq;
          return equal ? b_.CreateICmpEQ(Operand(instr, 0), Operand(instr, 1))
                       : b_.CreateICmpNE(Operand(instr, 0), Operand(instr, 1));
        }
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
      llvm::Type* type = LlvmType(c_, instr.results[0]);
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
  std::unique_ptr<Frame> frame_;
  llvm::Function* body_ = nullptr;
  absl::flat_hash_map<std::pair<const Instr*, int>, llvm::Value*> values_;
};

}  // namespace

absl::StatusOr<llvm::Function*> Lower(const Kernel& kernel, const LowerOptions& options,
                                      llvm::Module* module) {
  return Lowering(kernel, options, module).Run();
}

}  // namespace tektite::loop
