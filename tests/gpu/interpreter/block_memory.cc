// How the threads of a block read and write memory.
#include <algorithm>

#include "jit/base/status.h"
#include "jit/llvm/alignment.h"
#include "tests/gpu/interpreter/block_execution.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;

absl::Status BlockExecution::RunAccess(const Instr& instr, const Mask& mask) {
  // As the lowering has it: a vector is one access as far as its address is known to allow it.
  int64_t alignment = ir::DTypeBytes(instr.access);
  const bool writes = instr.code == Code::kStore || instr.code == Code::kScatter;
  const bool is_vector = instr.operands.size() == (writes ? 3u : 2u) &&
                         (instr.code == Code::kLoad || instr.code == Code::kStore);
  if (is_vector) {
    const int lanes = writes ? instr.operands[2].lanes() : instr.results[0].lanes;
    const int64_t bytes = int64_t{lanes} * ir::DTypeBytes(instr.access);
    const int64_t known = KnownAlignment(instr.operands[0], instr.access, instr.operands[1]);
    alignment = std::max(alignment, std::min(known, bytes & -bytes));
  }
  if (!writes && mask.count == threads_ && IsOnePlace(instr)) {
    // What two threads may read all may; the others get what they got.
    ThreadValues& result = Result(instr);
    for (int t : {0, 1}) {
      if (absl::Status fault = AccessOfThread(instr, t, alignment); !fault.ok()) {
        return Fault(instr, t, fault);
      }
    }
    const auto bytes = static_cast<size_t>(result.thread_bytes());
    for (int t = 2; t < threads_; ++t) CopyBytes(result.at(t), result.at(0), bytes);
    return absl::OkStatus();
  }
  for (int t = 0; t < threads_; ++t) {
    if (mask.on[t] == 0) continue;
    if (absl::Status fault = AccessOfThread(instr, t, alignment); !fault.ok()) {
      return Fault(instr, t, fault);
    }
  }
  return absl::OkStatus();
}

// Whether all threads load from the same address.
bool BlockExecution::IsOnePlace(const Instr& instr) {
  if (instr.code != Code::kLoad || instr.operands.size() > 2) return false;
  return Operand(instr, 1).IsSameInAll() && Operand(instr, 0).IsSameInAll();
}

absl::Status BlockExecution::AccessOfThread(const Instr& instr, int thread, int64_t alignment) {
  const bool writes = instr.code == Code::kStore || instr.code == Code::kScatter;
  const bool indexed = instr.code == Code::kGather || instr.code == Code::kScatter;
  const size_t mask_at = writes ? 3 : 2;
  const bool masked = instr.operands.size() > mask_at;
  ThreadValues& value = writes ? Operand(instr, 2) : Result(instr);
  ThreadValues& index = Operand(instr, 1);
  const Place start = Operand(instr, 0).Get<Place>(thread);
  const int64_t element = ir::DTypeBytes(instr.access);
  const int lanes = value.thread_bytes() / value.element_bytes();

  const auto access = [&](int64_t at, int lane, int64_t count) {
    const Place place = {start.region, start.offset + at * element};
    std::byte* lane_data = value.at(thread, lane);
    const absl::Status status =
        writes ? memory_.Write(thread, place, count * element, alignment, lane_data)
               : memory_.Read(thread, place, count * element, alignment, lane_data);
    if (!writes && instr.access == ir::DType::kBool) {
      for (int64_t i = 0; i < count; ++i) lane_data[i] = std::byte{lane_data[i] != std::byte{0}};
    }
    return status;
  };

  if (!masked && !indexed) return access(index.Get<int64_t>(thread), 0, lanes);
  for (int lane = 0; lane < lanes; ++lane) {
    if (masked && Operand(instr, static_cast<int>(mask_at)).Get<uint8_t>(thread, lane) == 0) {
      if (!writes) std::memset(value.at(thread, lane), 0, static_cast<size_t>(element));
      continue;
    }
    int64_t at = 0;
    if (!indexed) {
      at = index.Get<int64_t>(thread) + lane;
    } else if (instr.operands[1].dtype() == ir::DType::kS32) {
      at = index.Get<int32_t>(thread, lane);
    } else {
      at = index.Get<int64_t>(thread, lane);
    }
    TEKTITE_RETURN_IF_ERROR(access(at, lane, 1));
  }
  return absl::OkStatus();
}

}  // namespace tektite::gpu
