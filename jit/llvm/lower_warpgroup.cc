// Signals, copies of tensors and products of warpgroups, as the instructions of sm_90a.
//
// LLVM has no intrinsic for the product itself: a begin_product is one piece of inline assembly,
// with the sums as registers that it reads and writes.  It holds the fence, the instructions of the
// whole depth and the commit, so that nothing can come between them: the assembler would make each
// wait for the one before it (its warning C7510).  Sums that begin with zeros are not read: the
// first instruction writes them.
#include "absl/strings/str_cat.h"
#include "jit/base/rounding.h"
#include "jit/llvm/lower_context.h"
#include "jit/llvm/warp_matrix.h"
#include "jit/llvm/warpgroup.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tektite::loop {

namespace {

namespace Intrinsic = llvm::Intrinsic;

class WarpgroupLowering {
 public:
  WarpgroupLowering(LowerContext& c, const Instr& instr, const OperandOf& operand)
      : c_(c), b_(c.builder), instr_(instr), operand_(operand) {}

  std::vector<llvm::Value*> Lower() {
    switch (instr_.code) {
      case Code::kWarpBarrier:
        b_.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {b_.getInt32(0xffffffff)});
        return {};
      case Code::kInitSignal:
        b_.CreateIntrinsic(Intrinsic::nvvm_mbarrier_init_shared,
                           {Signal(0), b_.getInt32(static_cast<uint32_t>(instr_.immediate))});
        // For copies, which reach shared memory in another way.
        b_.CreateIntrinsic(Intrinsic::nvvm_fence_mbarrier_init_release_cluster, {});
        b_.CreateIntrinsic(Intrinsic::nvvm_fence_proxy_async_shared_cta, {});
        return {};
      case Code::kArrive:
        Arrive();
        return {};
      case Code::kWaitForSignal:
        WaitForSignal();
        return {};
      case Code::kAcquireTensor:
        AcquireTensor();
        return {};
      case Code::kCopyTensor:
        CopyTensor();
        return {};
      case Code::kBeginProduct:
        return BeginProduct();
      default:
        return WaitForProducts();
    }
  }

 private:
  llvm::Value* Signal(int pointer) {
    return b_.CreateGEP(b_.getInt64Ty(), operand_(pointer), operand_(pointer + 1));
  }

  // With no value: a card's instruction, told by its text.
  void Assembly(llvm::StringRef text, llvm::StringRef constraints,
                llvm::ArrayRef<llvm::Value*> arguments) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* v : arguments) types.push_back(v->getType());
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
    auto* assembly = llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true);
    b_.CreateCall(type, assembly, arguments)->setConvergent();
  }

  llvm::Value* SharedAddress(llvm::Value* pointer) {
    return b_.CreateTrunc(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.getInt32Ty());
  }

  void Arrive() {
    if (instr_.operands.size() == 2) {
      return Assembly("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [$0]; }",
                      "r,~{memory}", {SharedAddress(Signal(0))});
    }
    Assembly("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [$0], $1; }",
             "r,r,~{memory}",
             {SharedAddress(Signal(0)), b_.CreateTrunc(operand_(2), b_.getInt32Ty())});
  }

  // The instruction itself waits a while.
  void WaitForSignal() {
    Assembly(
        "{ .reg .pred done; "
        "again_${:uid}: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
        "@!done bra again_${:uid}; }",
        "r,r,~{memory}", {SharedAddress(Signal(0)), b_.CreateTrunc(operand_(2), b_.getInt32Ty())});
  }

  // Behind the frame's words, at a multiple of a map's size.
  llvm::Value* TensorMapAddress() {
    llvm::Value* frame = b_.GetInsertBlock()->getParent()->getArg(0);
    const int64_t at = TensorMapsAt(*c_.kernel) + instr_.immediate * kTensorMapBytes;
    llvm::Value* map = b_.CreateConstGEP1_64(b_.getInt8Ty(), frame, static_cast<uint64_t>(at));
    return b_.CreateAddrSpaceCast(map, llvm::PointerType::get(b_.getContext(), 0));
  }

  // The host's copy engine wrote it, so the fence is of the whole system.
  void AcquireTensor() {
    llvm::Value* map = TensorMapAddress();
    b_.CreateIntrinsic(Intrinsic::nvvm_fence_proxy_tensormap_generic_acquire_sys,
                       {map, b_.getInt32(kTensorMapBytes)});
    b_.CreateIntrinsic(Intrinsic::nvvm_prefetch_tensormap, {map->getType()}, {map});
  }

  void CopyTensor() {
    std::vector<llvm::Value*> arguments = {
        SharedAddress(
            b_.CreateGEP(MemoryType(b_.getContext(), instr_.access), operand_(0), operand_(1))),
        TensorMapAddress()};
    for (int i = 4; i < static_cast<int>(instr_.operands.size()); ++i) {
      arguments.push_back(b_.CreateTrunc(operand_(i), b_.getInt32Ty()));
    }
    arguments.push_back(SharedAddress(Signal(2)));
    Assembly(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[$0], [$1, {$2, $3, $4}], [$5];",
        "r,l,r,r,r,r,~{memory}", arguments);
  }

  // The sums of all lanes as registers that inline assembly `text` reads and writes, and more
  // arguments behind them.  `read`: whether what they hold before matters.
  std::vector<llvm::Value*> OnSums(int first, bool read, const std::string& text,
                                   const std::vector<llvm::Value*>& more) {
    const auto vectors = static_cast<int>(instr_.results.size());
    std::vector<llvm::Value*> arguments;
    std::string outputs, inputs;
    for (int i = 0; i < vectors; ++i) {
      llvm::Value* sum = operand_(first + i);
      for (uint64_t lane = 0; lane < kSumLanes; ++lane) {
        absl::StrAppend(&outputs, "=f,");
        absl::StrAppend(&inputs, arguments.size(), ",");
        arguments.push_back(read ? b_.CreateExtractElement(sum, lane)
                                 : llvm::PoisonValue::get(b_.getFloatTy()));
      }
    }
    const auto registers = arguments.size();
    std::vector<llvm::Type*> types(registers, b_.getFloatTy());
    auto* results = llvm::StructType::get(b_.getContext(), types);
    for (llvm::Value* v : more) {
      absl::StrAppend(&inputs, v->getType()->isIntegerTy(64) ? "l," : "r,");
      arguments.push_back(v);
      types.push_back(v->getType());
    }
    auto* type = llvm::FunctionType::get(results, types, false);
    auto* assembly = llvm::InlineAsm::get(type, text, absl::StrCat(outputs, inputs, "~{memory}"),
                                          /*hasSideEffects=*/true);
    llvm::CallInst* call = b_.CreateCall(type, assembly, arguments);
    call->setConvergent();
    std::vector<llvm::Value*> sums;
    unsigned next = 0;
    for (int i = 0; i < vectors; ++i) {
      llvm::Value* sum = llvm::PoisonValue::get(operand_(first + i)->getType());
      for (uint64_t lane = 0; lane < kSumLanes; ++lane) {
        sum = b_.CreateInsertElement(sum, b_.CreateExtractValue(call, next++), lane);
      }
      sums.push_back(sum);
    }
    return sums;
  }

  llvm::Value* Descriptor(int index, bool transposed) {
    llvm::Value* at =
        b_.CreateGEP(MemoryType(b_.getContext(), instr_.access), operand_(0), operand_(index));
    llvm::Value* address =
        b_.CreateAnd(b_.CreatePtrToInt(at, b_.getInt64Ty()), kDescribedBytes - 1);
    return b_.CreateOr(b_.CreateUDiv(address, b_.getInt64(kDescriptorUnit)),
                       b_.getInt64(DescriptorOf(transposed)));
  }

  bool BeginsWithZeros(int first_sum) const {
    for (size_t i = static_cast<size_t>(first_sum); i < instr_.operands.size(); ++i) {
      const Instr* sum = instr_.operands[i].instr();
      if (sum->code != Code::kConstant || sum->immediate != 0) return false;
    }
    return true;
  }

  std::vector<llvm::Value*> BeginProduct() {
    const bool a_transposed = (instr_.immediate & kATransposed) != 0,
               b_transposed = (instr_.immediate & kBTransposed) != 0,
               in_registers = (instr_.immediate & kAInRegisters) != 0;
    const int bytes = ir::DTypeBytes(instr_.access), first_sum = FirstSum(instr_.immediate);
    const size_t registers = instr_.results.size() * kSumLanes;
    const absl::string_view type = instr_.access == DType::kF16 ? "f16" : "bf16";
    const bool read = !BeginsWithZeros(first_sum);
    std::string sums;
    for (size_t i = 0; i < registers; ++i) absl::StrAppend(&sums, i > 0 ? ", " : "", "$", i);
    // Operands behind the sums, which are counted twice: as results and as what these are tied to.
    size_t next = 2 * registers;
    std::vector<llvm::Value*> more = {Descriptor(kBOperand, b_transposed)};
    std::string text = "{ .reg .pred adds; .reg .b64 a, b; ";
    absl::StrAppend(&text, "setp.ne.b32 adds, ", read ? 1 : 0, ", 0; mov.b64 b, $", next++, "; ");
    if (!in_registers) {
      absl::StrAppend(&text, "mov.b64 a, $", next++, "; ");
      more.push_back(Descriptor(kAOperand, a_transposed));
    }
    absl::StrAppend(&text, "wgmma.fence.sync.aligned; ");
    for (int k = 0; k < kProductDepth; k += kInstructionDepth) {
      if (k > 0) {
        if (!in_registers) {
          absl::StrAppend(&text, "add.s64 a, a, ", DescriptorStep(a_transposed, bytes), "; ");
        }
        absl::StrAppend(&text, "add.s64 b, b, ", DescriptorStep(b_transposed, bytes), "; ");
        if (!read) absl::StrAppend(&text, "setp.ne.b32 adds, 1, 0; ");
      }
      std::string a = "a";
      if (in_registers) {
        a = absl::StrCat("{$", next, ", $", next + 1, ", $", next + 2, ", $", next + 3, "}");
        next += kLeftParts;
      }
      absl::StrAppend(&text, "wgmma.mma_async.sync.aligned.m64n",
                      instr_.results.size() * kProductColumnsStep, "k16.f32.", type, ".", type,
                      " {", sums, "}, ", a, ", b, adds, 1, 1");
      if (!in_registers) absl::StrAppend(&text, ", ", a_transposed ? 1 : 0);
      absl::StrAppend(&text, ", ", b_transposed ? 1 : 0, "; ");
    }
    absl::StrAppend(&text, "wgmma.commit_group.sync.aligned; }");
    for (int i = kAOperand; in_registers && i < first_sum; ++i) {
      more.push_back(b_.CreateBitCast(operand_(i), b_.getInt32Ty()));
    }
    return OnSums(first_sum, read, text, more);
  }

  // What must be there before decides whether the thread rests for a moment: so the assembler
  // cannot move the wait, and it never does but for one NaN among millions.
  std::vector<llvm::Value*> WaitForProducts() {
    const size_t sums = instr_.results.size();
    const std::string wait = absl::StrCat("wgmma.wait_group.sync.aligned ", instr_.immediate, ";");
    if (instr_.operands.size() == sums) return OnSums(0, /*read=*/true, wait, {});
    llvm::Value* after = b_.CreateBitCast(operand_(static_cast<int>(sums)), b_.getInt32Ty());
    const std::string text =
        absl::StrCat("{ .reg .pred rests; setp.eq.b32 rests, $", 2 * sums * kSumLanes,
                     ", 0x7fedcba9; @rests nanosleep.u32 0; ", wait, " }");
    return OnSums(0, /*read=*/true, text, {after});
  }

  LowerContext& c_;
  llvm::IRBuilder<>& b_;
  const Instr& instr_;
  const OperandOf& operand_;
};

}  // namespace

int64_t TensorMapsAt(const Kernel& kernel) {
  return RoundUp(FrameWords(kernel) * int64_t{sizeof(uint64_t)}, int64_t{kTensorMapBytes});
}

void LowerRegisters(LowerContext& c, int registers, bool more) {
  const llvm::Intrinsic::ID id = more ? Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32
                                      : Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32;
  c.builder.CreateIntrinsic(id, {c.builder.getInt32(static_cast<uint32_t>(registers))});
}

std::vector<llvm::Value*> LowerWarpgroup(LowerContext& c, const Instr& instr,
                                         const OperandOf& operand) {
  return WarpgroupLowering(c, instr, operand).Lower();
}

}  // namespace tektite::loop
