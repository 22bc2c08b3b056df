// Matrices of a warp and copies in the background, as the instructions that NVIDIA's GPUs have for
// them since compute capability 8.0.
#include "jit/llvm/lower_context.h"
#include "jit/llvm/warp_matrix.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tektite::loop {

namespace {

using llvm::Intrinsic::ID;
namespace Intrinsic = llvm::Intrinsic;

class MatrixLowering {
 public:
  MatrixLowering(LowerContext& c, const Instr& instr, const OperandOf& operand)
      : b_(c.builder), instr_(instr), operand_(operand) {}

  std::vector<llvm::Value*> Lower() {
    switch (instr_.code) {
      case Code::kCommitCopies:
        b_.CreateIntrinsic(Intrinsic::nvvm_cp_async_commit_group, {});
        return {};
      case Code::kWaitForCopies:
        b_.CreateIntrinsic(Intrinsic::nvvm_cp_async_wait_group,
                           {b_.getInt32(static_cast<uint32_t>(instr_.immediate))});
        return {};
      case Code::kCopyAsync:
        CopyAsync();
        return {};
      case Code::kLoadMatrices:
        return LoadMatrices();
      default:
        return {WarpMultiply()};
    }
  }

 private:
  llvm::Value* Address(int pointer) {
    llvm::Type* element = MemoryType(b_.getContext(), instr_.access);
    return b_.CreateGEP(element, operand_(pointer), operand_(pointer + 1));
  }

  void CopyAsync() {
    llvm::Value* bytes = b_.getInt32(kMatrixRowBytes);
    llvm::Value *to = Address(0), *from = Address(2);
    if (instr_.operands.size() == 4) {
      b_.CreateIntrinsic(Intrinsic::nvvm_cp_async_cg_shared_global_16, {to, from});
      return;
    }
    // What is not copied becomes zero, and its address is not read.
    b_.CreateIntrinsic(Intrinsic::nvvm_cp_async_cg_shared_global_16_s,
                       {to, from, b_.CreateSelect(operand_(4), bytes, b_.getInt32(0))});
  }

  std::vector<llvm::Value*> LoadMatrices() {
    const size_t count = instr_.results.size();
    const bool transposed = instr_.immediate != 0;
    const ID id = count == 1 ? (transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16
                                           : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16)
                  : count == 2
                      ? (transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                    : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16)
                      : (transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                    : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16);
    llvm::Value* address = Address(0);
    llvm::Value* words = b_.CreateIntrinsic(id, {address->getType()}, {address});
    std::vector<llvm::Value*> parts;
    for (unsigned i = 0; i < count; ++i) {
      llvm::Value* word = count == 1 ? words : b_.CreateExtractValue(words, i);
      parts.push_back(b_.CreateBitCast(
          word, instr_.access == DType::kF32 ? b_.getFloatTy() : Pair(b_.getInt16Ty())));
    }
    return parts;
  }

  static llvm::Type* Pair(llvm::Type* element) { return llvm::FixedVectorType::get(element, 2); }

  // A part as the instruction wants it.
  llvm::Value* Part(llvm::Value* part) {
    switch (instr_.operands[0].dtype()) {
      case DType::kF16:
        return b_.CreateBitCast(part, Pair(b_.getHalfTy()));
      case DType::kF32:  // equal ones of several products are rounded once
        return b_.CreateIntrinsic(Intrinsic::nvvm_f2tf32_rna, {}, {part});
      default:
        return b_.CreateBitCast(part, b_.getInt32Ty());
    }
  }

  ID MultiplyOf(DType dtype) {
    switch (dtype) {
      case DType::kF16:
        return Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32;
      case DType::kF32:
        return Intrinsic::nvvm_mma_m16n8k8_row_col_tf32;
      default:
        return Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    }
  }

  llvm::Value* WarpMultiply() {
    constexpr int kParts = kLeftParts + kRightParts;
    std::vector<llvm::Value*> arguments;
    for (int i = 0; i < kParts; ++i) arguments.push_back(Part(operand_(i)));
    llvm::Value* sums = operand_(kParts);
    for (uint64_t i = 0; i < kSumLanes; ++i) {
      arguments.push_back(b_.CreateExtractElement(sums, i));
    }
    llvm::Value* results =
        b_.CreateIntrinsic(MultiplyOf(instr_.operands[0].dtype()), {}, arguments);
    for (unsigned i = 0; i < kSumLanes; ++i) {
      sums = b_.CreateInsertElement(sums, b_.CreateExtractValue(results, i), uint64_t{i});
    }
    return sums;
  }

  llvm::IRBuilder<>& b_;
  const Instr& instr_;
  const OperandOf& operand_;
};

}  // namespace

std::vector<llvm::Value*> LowerMatrix(LowerContext& c, const Instr& instr,
                                      const OperandOf& operand) {
  return MatrixLowering(c, instr, operand).Lower();
}

}  // namespace tektite::loop
