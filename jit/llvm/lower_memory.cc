// Loads, stores, gathers and scatters, with and without masks.
#include <algorithm>

#include "jit/llvm/alignment.h"
#include "jit/llvm/lower_context.h"
#include "llvm/IR/Intrinsics.h"

namespace tektite::loop {

namespace {

class MemoryLowering {
 public:
  MemoryLowering(LowerContext& c, const Instr& instr,
                 const std::function<llvm::Value*(int)>& operand)
      : c_(c),
        b_(c.builder),
        instr_(instr),
        operand_(operand),
        element_(MemoryType(b_.getContext(), instr.access)),
        alignment_(ir::DTypeBytes(instr.access)) {}

  llvm::Value* Lower() {
    switch (instr_.code) {
      case Code::kOffset:
        return Address();
      case Code::kPrefetch: {
        if (c_.device) return b_.getTrue();  // other threads run in the meantime
        constexpr int kRead = 0, kFirstCache = 3, kData = 1;
        const int locality = kFirstCache - static_cast<int>(instr_.immediate);
        return b_.CreateIntrinsic(
            llvm::Intrinsic::prefetch, {b_.getPtrTy()},
            {Address(), b_.getInt32(kRead), b_.getInt32(locality), b_.getInt32(kData)});
      }
      case Code::kZero:
        return b_.CreateMemSet(operand_(0), b_.getInt8(0), operand_(1), llvm::MaybeAlign());
      case Code::kCopy:
        return b_.CreateMemCpy(operand_(0), llvm::MaybeAlign(), operand_(1), llvm::MaybeAlign(),
                               operand_(2));
      case Code::kLoad:
        return FromMemory(Load(instr_.results[0].lanes));
      case Code::kGather:
        return FromMemory(
            b_.CreateMaskedGather(VectorOf(instr_.results[0].lanes), Addresses(), alignment_,
                                  Mask(2, instr_.results[0].lanes),
                                  llvm::Constant::getNullValue(VectorOf(instr_.results[0].lanes))));
      case Code::kStore:
        return Store(ToMemory(operand_(2)), instr_.operands[2].lanes());
      case Code::kScatter:
        return b_.CreateMaskedScatter(ToMemory(operand_(2)), Addresses(), alignment_,
                                      Mask(3, instr_.operands[2].lanes()));
      default:
        return nullptr;
    }
  }

 private:
  llvm::Type* VectorOf(int lanes) { return llvm::FixedVectorType::get(element_, lanes); }
  llvm::Value* Address() { return b_.CreateGEP(element_, operand_(0), operand_(1)); }
  llvm::Value* Addresses() { return b_.CreateGEP(element_, operand_(0), operand_(1)); }

  // A CPU's vectors may lie anywhere.
  llvm::Align Alignment(int lanes) {
    if (!c_.device || lanes == 1) return alignment_;
    const int64_t bytes = int64_t{lanes} * ir::DTypeBytes(instr_.access);
    const int64_t known = KnownAlignment(instr_.operands[0], instr_.access, instr_.operands[1]);
    return std::max(alignment_,
                    llvm::Align(static_cast<uint64_t>(std::min(known, bytes & -bytes))));
  }

  // A GPU reads what no thread writes through a cache of its own, in any order.
  bool IsInvariant() {
    if (!c_.device) return false;
    const BufferInfo* buffer = BufferOf(*c_.kernel, instr_.operands[0]);
    return buffer != nullptr && !buffer->written && !buffer->may_alias;
  }

  // The mask operand at `i`, or null; for one lane a vector of one, which LLVM makes a branch.
  llvm::Value* Mask(int i, int lanes) {
    if (static_cast<int>(instr_.operands.size()) <= i) {
      return llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
    }
    llvm::Value* mask = operand_(i);
    if (lanes > 1) return mask;
    return b_.CreateInsertElement(
        llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt1Ty(), 1)), mask,
        static_cast<uint64_t>(0));
  }

  llvm::Value* Load(int lanes) {
    if (instr_.operands.size() == 2) {
      llvm::LoadInst* load = b_.CreateAlignedLoad(lanes == 1 ? element_ : VectorOf(lanes),
                                                  Address(), Alignment(lanes));
      if (IsInvariant()) {
        load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                          llvm::MDNode::get(b_.getContext(), {}));
      }
      return load;
    }
    llvm::Type* type = VectorOf(lanes);
    llvm::Value* v = b_.CreateMaskedLoad(type, Address(), alignment_, Mask(2, lanes),
                                         llvm::Constant::getNullValue(type));
    return lanes == 1 ? b_.CreateExtractElement(v, static_cast<uint64_t>(0)) : v;
  }

  llvm::Value* Store(llvm::Value* value, int lanes) {
    if (instr_.operands.size() == 3) {
      return b_.CreateAlignedStore(value, Address(), Alignment(lanes));
    }
    if (lanes == 1) {
      value = b_.CreateInsertElement(llvm::PoisonValue::get(VectorOf(1)), value,
                                     static_cast<uint64_t>(0));
    }
    return b_.CreateMaskedStore(value, Address(), alignment_, Mask(3, lanes));
  }

  llvm::Value* FromMemory(llvm::Value* v) {
    if (instr_.access != DType::kBool) return v;
    return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  }

  llvm::Value* ToMemory(llvm::Value* v) {
    if (instr_.access != DType::kBool) return v;
    return b_.CreateZExt(v, WithLanesOf(v, b_.getInt8Ty()));
  }

  LowerContext& c_;
  llvm::IRBuilder<>& b_;
  const Instr& instr_;
  const std::function<llvm::Value*(int)>& operand_;
  llvm::Type* element_;
  llvm::Align alignment_;
};

}  // namespace

llvm::Value* LowerMemory(LowerContext& c, const Instr& instr,
                         const std::function<llvm::Value*(int)>& operand) {
  return MemoryLowering(c, instr, operand).Lower();
}

}  // namespace tektite::loop
