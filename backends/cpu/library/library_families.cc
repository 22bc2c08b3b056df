// The kernel of any family, and a kernel from plain numbers.
#include "backends/cpu/library/library_kernel.h"

namespace tektite::cpu {

using ir::Op;

KernelPtr MakeKernelOfFamily(const SizedOp& op, Buffers buffers) {
  switch (op.op()) {
    case Op::kSort:
    case Op::kTopK:
      return MakeOrderKernel(op, std::move(buffers));
    case Op::kCompact:
    case Op::kNonzero:
    case Op::kNonMaxSuppression:
    case Op::kUnique:
    case Op::kIsMember:
      return MakeSelectionKernel(op, std::move(buffers));
    case Op::kFft:
    case Op::kRealFft:
    case Op::kInverseRealFft:
      return MakeSpectrumKernel(op, std::move(buffers));
    default:
      return MakeMatrixKernel(op, std::move(buffers));
  }
}

KernelPtr KernelOfWords(const int64_t* words) {
  Buffers buffers;
  for (std::vector<int>* places : {&buffers.operands, &buffers.results}) {
    for (int64_t count = *words++; count > 0; --count) {
      places->push_back(static_cast<int>(*words++));
    }
  }
  return MakeKernelOfFamily(SizedOp(words), std::move(buffers));
}

}  // namespace tektite::cpu
