#include "jit/llvm/alignment.h"

#include <algorithm>

#include "jit/llvm/instr.h"

namespace tektite::loop {

namespace {

constexpr int64_t kMost = 64, kBufferAlignment = 16, kSharedAlignment = 16;
// Sums of many terms are followed no further than this.
constexpr int kMostDepth = 16;

int64_t LowestBit(int64_t v) { return v == 0 ? kMost : std::min(v & -v, kMost); }

int64_t Multiple(Value v, int depth) {
  if (v.IsConstantIndex()) return LowestBit(v.constant_index());
  const Instr& instr = *v.instr();
  if (instr.code == Code::kArguments && v.result() == 0 && depth < kMostDepth) {
    return std::min(Multiple(instr.operands[0], depth + 1), LowestBit(instr.immediate));
  }
  const bool is_select = instr.code == Code::kSelect;
  if ((instr.code != Code::kBinary && !is_select) || depth == kMostDepth) return 1;
  const auto operand = [&](int i) { return Multiple(instr.operands[i], depth + 1); };
  if (is_select) return std::min(operand(1), operand(2));
  switch (instr.op) {
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMin:
    case ir::Op::kMax:
      return std::min(operand(0), operand(1));
    case ir::Op::kMul:
      return std::min(operand(0) * operand(1), kMost);
    case ir::Op::kRem:
      return std::min(operand(0), operand(1));
    default:
      return 1;
  }
}

}  // namespace

int64_t KnownMultiple(Value index) { return Multiple(index, 0); }

int64_t KnownAlignment(Value pointer, DType dtype, Value index) {
  const int64_t alignment = KnownMultiple(index) * ir::DTypeBytes(dtype);
  const Instr& instr = *pointer.instr();
  switch (instr.code) {
    case Code::kBuffer:
      return std::min(alignment, kBufferAlignment);
    case Code::kScratch:
      return std::min(alignment, LowestBit(instr.immediate));
    case Code::kShared:
      return std::min({alignment, LowestBit(instr.immediate), kSharedAlignment});
    case Code::kOffset:
      return std::min(alignment,
                      KnownAlignment(instr.operands[0], instr.access, instr.operands[1]));
    default:
      return ir::DTypeBytes(dtype);
  }
}

const BufferInfo* BufferOf(const Kernel& kernel, Value pointer) {
  const Instr& instr = *pointer.instr();
  if (instr.code == Code::kOffset) return BufferOf(kernel, instr.operands[0]);
  return instr.code == Code::kBuffer ? &kernel.buffers()[instr.immediate] : nullptr;
}

}  // namespace tektite::loop
