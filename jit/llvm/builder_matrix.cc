// Builder's instructions for matrices of a warp, and for copies in the background.
#include <utility>

#include "jit/llvm/instr.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::loop {

Value Builder::WarpMultiply(absl::Span<const Value> a, absl::Span<const Value> b, Value sums) {
  Instr* instr = kernel_->body().arena->New(Code::kWarpMultiply);
  instr->operands.assign(a.begin(), a.end());
  instr->operands.insert(instr->operands.end(), b.begin(), b.end());
  instr->operands.push_back(sums);
  instr->results.push_back(sums.type());
  return Emit(instr);
}

std::vector<Value> Builder::LoadMatrices(Value pointer, DType dtype, Value index, int count,
                                         bool transposed) {
  Instr* instr = kernel_->body().arena->New(Code::kLoadMatrices);
  instr->operands = {pointer, index};
  instr->access = dtype;
  instr->immediate = transposed ? 1 : 0;
  std::vector<Value> parts;
  for (int i = 0; i < count; ++i) {
    instr->results.push_back({dtype, PartLanes(ir::DTypeBytes(dtype))});
    parts.emplace_back(instr, i);
  }
  Emit(instr);
  return parts;
}

void Builder::CopyAsync(Value to, Value to_index, Value from, Value from_index, DType dtype,
                        Value condition) {
  Instr* instr = kernel_->body().arena->New(Code::kCopyAsync);
  instr->operands = {to, to_index, from, from_index};
  if (condition) instr->operands.push_back(condition);
  instr->access = dtype;
  Emit(instr);
}

void Builder::CommitCopies() { Emit(kernel_->body().arena->New(Code::kCommitCopies)); }

void Builder::WaitForCopies(int under_way) {
  Instr* instr = kernel_->body().arena->New(Code::kWaitForCopies);
  instr->immediate = under_way;
  Emit(instr);
}

}  // namespace tektite::loop
