// The frame of a kernel for an NVIDIA GPU, and what its threads exchange.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jit/llvm/lower_context.h"
#include "jit/llvm/warpgroup.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tektite::loop {

namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 31;
constexpr uint64_t kSharedAlignment = 16;
// What is swizzled repeats after so many bytes.
constexpr uint64_t kSwizzledAlignment = kSwizzledBytes;
constexpr int64_t kMostDeclaredShared = int64_t{48} << 10;

class DeviceFrame final : public Frame {
 public:
  explicit DeviceFrame(LowerContext& c) : kernel_(*c.kernel), module_(c.module), b_(c.builder) {}

  llvm::Function* Begin() override {
    llvm::LLVMContext& context = b_.getContext();
    llvm::Type* frame = llvm::PointerType::get(context, kGlobalSpace);
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {frame}, false),
                                       llvm::GlobalValue::ExternalLinkage, kernel_.name(), module_);
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr("nvvm.reqntid", absl::StrCat(kernel_.launch.threads));
    // Without a word on it, ptxas 13.0 spills three registers of an erf of eight lanes to get down
    // to 32.
    const Launch& launch = kernel_.launch;
    function_->addFnAttr("nvvm.minctasm",
                         absl::StrCat(std::max(1, launch.resident_threads / launch.threads)));
    function_->addParamAttr(0, llvm::Attribute::NoAlias);
    function_->addParamAttr(0, llvm::Attribute::ReadOnly);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function_));
    // Once at the entry: whatever uses a leaf is below it.
    for (const auto& [key, leaf] : kernel_.body().arena->leaves) {
      if (llvm::Value* v = Make(*leaf)) leaves_[leaf] = v;
    }
    return function_;
  }

  llvm::Value* Leaf(const Instr& leaf) override { return leaves_.at(&leaf); }

 private:
  llvm::Value* Make(const Instr& leaf) {
    const int num_buffers = static_cast<int>(kernel_.buffers().size());
    llvm::Type* pointer = llvm::PointerType::get(b_.getContext(), kGlobalSpace);
    switch (leaf.code) {
      case Code::kBuffer: {
        llvm::Value* v = Word(static_cast<int>(leaf.immediate), pointer);
        v->setName(kernel_.buffers()[leaf.immediate].name);
        return v;
      }
      case Code::kScratch:
        return b_.CreateConstGEP1_64(b_.getInt8Ty(), Word(num_buffers, pointer), leaf.immediate);
      case Code::kSize:
        return Word(num_buffers + 1 + static_cast<int>(leaf.immediate), b_.getInt64Ty());
      case Code::kShared:
        return b_.CreateConstGEP1_64(b_.getInt8Ty(), Shared(), leaf.immediate);
      case Code::kThreadIndex:
        return Register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, kernel_.launch.threads);
      case Code::kBlockIndex:
        return Register(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, kMostBlocks);
      case Code::kBlockCount:
        return Register(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, kMostBlocks);
      default:
        return nullptr;
    }
  }

  llvm::Value* Word(int i, llvm::Type* type) {
    llvm::Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), i);
    llvm::LoadInst* load = b_.CreateAlignedLoad(type, slot, llvm::Align(8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }

  // Below `end`, so that index arithmetic needs no signs.
  llvm::Value* Register(llvm::Intrinsic::ID id, int64_t end) {
    llvm::CallInst* v = b_.CreateIntrinsic(b_.getInt32Ty(), id, {});
    v->addRangeRetAttr(
        llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<uint64_t>(end))));
    return b_.CreateZExt(v, b_.getInt64Ty());
  }

  llvm::GlobalVariable* Shared() {
    if (shared_ == nullptr) {
      // Of unknown size where the launch says how much there is.
      const bool is_declared = DynamicSharedBytes(kernel_) == 0;
      const int64_t bytes = is_declared ? kernel_.launch.shared_bytes : 0;
      llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes));
      shared_ = new llvm::GlobalVariable(
          *module_, type, /*isConstant=*/false,
          is_declared ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage,
          is_declared ? llvm::PoisonValue::get(type) : nullptr, "shared_memory", nullptr,
          llvm::GlobalValue::NotThreadLocal, kSharedSpace);
      shared_->setAlignment(
          llvm::Align(kernel_.tensor_maps.empty() ? kSharedAlignment : kSwizzledAlignment));
    }
    return shared_;
  }

  const Kernel& kernel_;
  llvm::Module* module_;
  llvm::IRBuilder<>& b_;
  llvm::Function* function_ = nullptr;
  llvm::GlobalVariable* shared_ = nullptr;
  absl::flat_hash_map<const Instr*, llvm::Value*> leaves_;
};

constexpr uint32_t kAllThreads = 0xffffffff;
// The last operand of a shuffle: segments of a whole warp, and the last thread a value comes from.
constexpr int kWholeWarp = 31;

// Exchanges 32 bits.
llvm::Value* Exchange(LowerContext& c, Code code, llvm::Value* word, llvm::Value* which) {
  const llvm::Intrinsic::ID id = code == Code::kWarpDown  ? llvm::Intrinsic::nvvm_shfl_sync_down_i32
                                 : code == Code::kWarpXor ? llvm::Intrinsic::nvvm_shfl_sync_bfly_i32
                                                          : llvm::Intrinsic::nvvm_shfl_sync_idx_i32;
  llvm::IRBuilder<>& b = c.builder;
  return b.CreateIntrinsic(id, {}, {b.getInt32(kAllThreads), word, which, b.getInt32(kWholeWarp)});
}

// One lane, in words of 32 bits.
llvm::Value* ExchangeLane(LowerContext& c, Code code, llvm::Value* x, llvm::Value* which) {
  llvm::IRBuilder<>& b = c.builder;
  const unsigned bits = x->getType()->getScalarSizeInBits();
  if (bits <= 32) {
    llvm::Type* narrow = b.getIntNTy(bits);
    llvm::Value* word = b.CreateZExt(b.CreateBitCast(x, narrow), b.getInt32Ty());
    word = Exchange(c, code, word, which);
    return b.CreateBitCast(b.CreateTrunc(word, narrow), x->getType());
  }
  auto* words = llvm::FixedVectorType::get(b.getInt32Ty(), 2);
  llvm::Value* v = b.CreateBitCast(x, words);
  for (uint64_t i = 0; i < 2; ++i) {
    v = b.CreateInsertElement(v, Exchange(c, code, b.CreateExtractElement(v, i), which), i);
  }
  return b.CreateBitCast(v, x->getType());
}

}  // namespace

int FrameWords(const Kernel& kernel) {
  return static_cast<int>(kernel.buffers().size()) + 1 + kernel.sizes.table_size();
}

int64_t DynamicSharedBytes(const Kernel& kernel) {
  const int64_t bytes = kernel.launch.shared_bytes;
  return bytes > kMostDeclaredShared ? bytes : 0;
}

std::unique_ptr<Frame> MakeDeviceFrame(LowerContext& c) { return std::make_unique<DeviceFrame>(c); }

llvm::Value* LowerNarrowDivision(LowerContext& c, ir::Op op, llvm::Value* a, llvm::Value* b,
                                 llvm::Value* reciprocal) {
  llvm::IRBuilder<>& builder = c.builder;
  llvm::Value* x = builder.CreateTrunc(a, builder.getInt32Ty());
  llvm::Value* y = builder.CreateTrunc(b, builder.getInt32Ty());
  llvm::Value* quotient;
  if (reciprocal == nullptr) {
    quotient = builder.CreateUDiv(x, y);
  } else {
    // The upper half of a x reciprocal, in two products of 32 bits.
    llvm::Type* wide = builder.getInt64Ty();
    llvm::Value* factor = builder.CreateZExt(x, wide);
    llvm::Value* low =
        builder.CreateZExt(builder.CreateTrunc(reciprocal, builder.getInt32Ty()), wide);
    llvm::Value* product =
        builder.CreateAdd(builder.CreateMul(factor, builder.CreateLShr(reciprocal, 32)),
                          builder.CreateLShr(builder.CreateMul(factor, low), 32));
    quotient = builder.CreateTrunc(builder.CreateLShr(product, kReciprocalBits - 32),
                                   builder.getInt32Ty());
  }
  // A remainder from the quotient, which is mostly needed too.
  llvm::Value* result =
      op == ir::Op::kDiv ? quotient : builder.CreateSub(x, builder.CreateMul(quotient, y));
  return builder.CreateZExt(result, builder.getInt64Ty());
}

llvm::Value* LowerBarrier(LowerContext& c) {
  return c.builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {},
                                   {c.builder.getInt32(0)});
}

llvm::Value* LowerExchange(LowerContext& c, const Instr& instr, llvm::Value* x,
                           llvm::Value* thread) {
  llvm::IRBuilder<>& b = c.builder;
  if (instr.code == Code::kWarpVote) {
    const bool any = instr.op == ir::Op::kOr;
    return b.CreateIntrinsic(
        any ? llvm::Intrinsic::nvvm_vote_any_sync : llvm::Intrinsic::nvvm_vote_all_sync, {},
        {b.getInt32(kAllThreads), x});
  }
  llvm::Value* which = thread == nullptr ? b.getInt32(static_cast<uint32_t>(instr.immediate))
                                         : b.CreateTrunc(thread, b.getInt32Ty());
  const int lanes = LanesOf(x);
  if (lanes == 1) return ExchangeLane(c, instr.code, x, which);
  llvm::Value* result = llvm::PoisonValue::get(x->getType());
  for (int i = 0; i < lanes; ++i) {
    llvm::Value* lane = b.CreateExtractElement(x, static_cast<uint64_t>(i));
    result = b.CreateInsertElement(result, ExchangeLane(c, instr.code, lane, which),
                                   static_cast<uint64_t>(i));
  }
  return result;
}

}  // namespace tektite::loop
