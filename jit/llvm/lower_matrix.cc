// Matrices of a warp, copies in the background and products of four bytes, as the instructions that
// NVIDIA's GPUs have for them since compute capability 8.0, 6.1 the last.
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
      parts.push_back(b_.CreateBitCast(word, TypeOfPart(instr_.access)));
    }
    return parts;
  }

  llvm::Type* TypeOfPart(DType dtype) {
    switch (ir::DTypeBytes(dtype)) {
      case 1:
        return llvm::FixedVectorType::get(b_.getInt8Ty(), 4);
      case 2:
        return Pair(b_.getInt16Ty());
      default:
        return b_.getFloatTy();
    }
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

  static ID MultiplyOf(DType left, DType right) {
    const bool is_signed = right == DType::kS8;
    switch (left) {
      case DType::kS8:
        return is_signed ? Intrinsic::nvvm_mma_m16n8k32_row_col_s8
                         : Intrinsic::nvvm_mma_m16n8k32_row_col_s8_u8;
      case DType::kU8:
        return is_signed ? Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8
                         : Intrinsic::nvvm_mma_m16n8k32_row_col_u8;
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
    const ID id = MultiplyOf(instr_.operands[0].dtype(), instr_.operands[kLeftParts].dtype());
    llvm::Value* results = b_.CreateIntrinsic(id, {}, arguments);
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

llvm::Value* LowerDotBytesOfDevice(LowerContext& c, const Instr& instr, const OperandOf& operand) {
  llvm::IRBuilder<>& b = c.builder;
  const bool left = instr.operands[0].dtype() == DType::kS8,
             right = instr.operands[1].dtype() == DType::kS8;
  const ID id = left ? (right ? Intrinsic::nvvm_idp4a_s_s : Intrinsic::nvvm_idp4a_s_u)
                     : (right ? Intrinsic::nvvm_idp4a_u_s : Intrinsic::nvvm_idp4a_u_u);
  llvm::Value* sums = operand(2);
  llvm::Value *x = b.CreateBitCast(operand(0), sums->getType()),
              *y = b.CreateBitCast(operand(1), sums->getType());
  const int lanes = instr.results[0].lanes;
  if (lanes == 1) return b.CreateIntrinsic(id, {}, {x, y, sums});
  for (uint64_t i = 0; i < static_cast<uint64_t>(lanes); ++i) {
    llvm::Value* sum =
        b.CreateIntrinsic(id, {},
                          {b.CreateExtractElement(x, i), b.CreateExtractElement(y, i),
                           b.CreateExtractElement(sums, i)});
    sums = b.CreateInsertElement(sums, sum, i);
  }
  return sums;
}

std::vector<llvm::Value*> LowerMatrix(LowerContext& c, const Instr& instr,
                                      const OperandOf& operand) {
  return MatrixLowering(c, instr, operand).Lower();
}

}  // namespace tektite::loop
