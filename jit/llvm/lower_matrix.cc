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
      parts.push_back(b_.CreateBitCast(word, Part(b_.getInt16Ty())));
    }
    return parts;
  }

  static llvm::Type* Part(llvm::Type* element) {
    return llvm::FixedVectorType::get(element, kMatrixPartLanes);
  }

  llvm::Value* WarpMultiply() {
    const bool is_f16 = instr_.operands[0].dtype() == DType::kF16;
    constexpr int kParts = kLeftParts + kRightParts;
    std::vector<llvm::Value*> arguments;
    for (int i = 0; i < kParts; ++i) {
      llvm::Type* type = is_f16 ? Part(b_.getHalfTy()) : b_.getInt32Ty();
      arguments.push_back(b_.CreateBitCast(operand_(i), type));
    }
    llvm::Value* sums = operand_(kParts);
    for (uint64_t i = 0; i < kSumLanes; ++i) {
      arguments.push_back(b_.CreateExtractElement(sums, i));
    }
    llvm::Value* results = b_.CreateIntrinsic(is_f16 ? Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                                     : Intrinsic::nvvm_mma_m16n8k16_row_col_bf16,
                                              {}, arguments);
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
