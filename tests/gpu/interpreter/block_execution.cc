#include "tests/gpu/interpreter/block_execution.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;
using loop::kWarpThreads;
using loop::Value;

namespace {
constexpr int64_t kNarrowEnd = int64_t{1} << 31;
}  // namespace

BlockExecution::BlockExecution(const loop::Kernel& kernel,
                               const std::vector<HostFunction>& functions,
                               absl::Span<const int64_t> sizes, std::vector<TensorShape> tensors,
                               int64_t blocks, int scratch, CheckedMemory* memory)
    : kernel_(kernel),
      functions_(functions),
      sizes_(sizes),
      blocks_(blocks),
      memory_(*memory),
      threads_(kernel.launch.threads),
      scratch_(scratch),
      shared_(memory->AddShared(kernel.launch.shared_bytes)),
      copies_(static_cast<size_t>(threads_)),
      tensors_(std::move(tensors)),
      background_(threads_ / kWarpThreads),
      values_(kernel.body().arena->instrs.size()) {
  for (const auto& [key, leaf] : kernel.body().arena->leaves) {
    MakeResults(*leaf);
    SetLeaf(*leaf);
  }
  MakeValues(kernel.body());
}

void BlockExecution::MakeResults(const Instr& instr) {
  for (const loop::Type& type : instr.results) values_[instr.number].emplace_back(type, threads_);
}

void BlockExecution::MakeValues(const loop::Block& block) {
  if (block.arguments != nullptr) MakeResults(*block.arguments);
  for (const Instr* instr : block.instrs) {
    MakeResults(*instr);
    if (instr->body != nullptr) MakeValues(*instr->body);
    if (instr->otherwise != nullptr) MakeValues(*instr->otherwise);
  }
}

// ---- leaves ----

int64_t BlockExecution::NumberOf(const Instr& leaf, int thread) const {
  switch (leaf.code) {
    case Code::kSize:
      return sizes_[static_cast<size_t>(leaf.immediate)];
    case Code::kThreadIndex:
      return thread;
    case Code::kBlockIndex:
      return block_;
    case Code::kBlockCount:
      return blocks_;
    default:
      return leaf.immediate;  // a constant's bits
  }
}

void BlockExecution::SetLeaf(const Instr& leaf) {
  ThreadValues& v = Result(leaf);
  const loop::Type type = leaf.results[0];
  for (int t = 0; t < threads_; ++t) {
    if (leaf.code == Code::kBuffer) {
      v.Set(t, Place{leaf.immediate, 0});
    } else if (type.pointer) {
      v.Set(t, Place{leaf.code == Code::kShared ? shared_ : scratch_, leaf.immediate});
    } else {
      for (int lane = 0; lane < type.lanes; ++lane) {
        int64_t bits = NumberOf(leaf, t);
        if (leaf.code == Code::kIota) {
          bits = static_cast<int64_t>(ir::IsFloat(type.dtype) ? loop::BitsOfFloat(type.dtype, lane)
                                                              : loop::BitsOfInt(type.dtype, lane));
        }
        std::memcpy(v.at(t, lane), &bits, static_cast<size_t>(v.element_bytes()));
      }
    }
  }
}

// ---- control ----

absl::Status BlockExecution::Run(int64_t block) {
  block_ = block;
  memory_.BeginBlock(&background_);
  for (Copies& copies : copies_) copies = {};
  background_.BeginBlock();
  acquired_.clear();
  for (const auto& [key, leaf] : kernel_.body().arena->leaves) {
    if (leaf->code == Code::kBlockIndex) SetLeaf(*leaf);
  }
  return RunBlock(kernel_.body(),
                  {std::vector<uint8_t>(static_cast<size_t>(threads_), 1), threads_});
}

BlockExecution::Mask BlockExecution::Among(const Mask& mask, ThreadValues& condition,
                                           bool wanted) const {
  Mask result{mask.on, 0};
  for (int t = 0; t < threads_; ++t) {
    result.on[t] = mask.on[t] != 0 && (condition.Get<uint8_t>(t) != 0) == wanted;
    result.count += result.on[t];
  }
  return result;
}

void BlockExecution::CopyWhere(const Mask& mask, ThreadValues& to, ThreadValues& from) const {
  const auto bytes = static_cast<size_t>(to.thread_bytes());
  to.set_product(from.product());
  if (mask.count == threads_) {
    std::memcpy(to.data(), from.data(), bytes * static_cast<size_t>(threads_));
    return;
  }
  for (int t = 0; t < threads_; ++t) {
    if (mask.on[t] != 0) CopyBytes(to.at(t), from.at(t), bytes);
  }
}

absl::Status BlockExecution::RunBlock(const loop::Block& block, const Mask& mask) {
  for (const Instr* instr : block.instrs) TEKTITE_RETURN_IF_ERROR(RunInstr(*instr, mask));
  return absl::OkStatus();
}

absl::Status BlockExecution::RunFor(const Instr& loop, const Mask& mask) {
  auto& arguments = values_[loop.body->arguments->number];
  auto& results = values_[loop.number];  // what is carried, after as many trips as there were
  for (size_t i = 0; i < results.size(); ++i) {
    CopyWhere(mask, results[i], Operand(loop, static_cast<int>(i) + 2));
  }
  CopyWhere(mask, arguments[0], Operand(loop, 0));
  Mask running = mask;
  while (true) {
    running.count = 0;
    for (int t = 0; t < threads_; ++t) {
      running.on[t] =
          running.on[t] != 0 && arguments[0].Get<int64_t>(t) < Operand(loop, 1).Get<int64_t>(t);
      running.count += running.on[t];
    }
    if (running.count == 0) return absl::OkStatus();
    for (size_t i = 0; i < results.size(); ++i) CopyWhere(running, arguments[i + 1], results[i]);
    TEKTITE_RETURN_IF_ERROR(RunBlock(*loop.body, running));
    for (size_t i = 0; i < results.size(); ++i) {
      CopyWhere(running, results[i], Of(loop.body->results[i]));
    }
    for (int t = 0; t < threads_; ++t) {
      arguments[0].Set(t, arguments[0].Get<int64_t>(t) + (running.on[t] != 0 ? loop.immediate : 0));
    }
  }
}

absl::Status BlockExecution::RunIf(const Instr& instr, const Mask& mask) {
  for (const bool taken : {true, false}) {
    const Mask inside = Among(mask, Operand(instr, 0), taken);
    if (inside.count == 0) continue;
    const loop::Block& block = taken ? *instr.body : *instr.otherwise;
    TEKTITE_RETURN_IF_ERROR(RunBlock(block, inside));
    for (size_t i = 0; i < instr.results.size(); ++i) {
      CopyWhere(inside, values_[instr.number][i], Of(block.results[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::RunInstr(const Instr& instr, const Mask& mask) {
  if (turns_ != nullptr) TEKTITE_RETURN_IF_ERROR(CheckSums(instr, mask));
  if (instr.code == Code::kBinary && instr.immediate != 0) {
    TEKTITE_RETURN_IF_ERROR(CheckNarrow(instr, mask));
  }
  if (const HostFunction function = functions_[instr.number]) {
    // In all threads: it touches nothing but its result, which no other thread of the block reads.
    absl::InlinedVector<void*, 4> arrays;
    for (const Value& v : instr.operands) arrays.push_back(Of(v).data());
    ThreadValues& result = Result(instr);
    arrays.push_back(result.data());
    function(
        arrays.data(), nullptr, nullptr, 0,
        instr.code == Code::kReduceLanes ? threads_ : CeilDiv(result.elements(), kLanesAtOnce));
    return absl::OkStatus();
  }
  if (loop::IsWarpgroupCode(instr.code)) return RunBackground(instr, mask);
  switch (instr.code) {
    case Code::kFor:
      return RunFor(instr, mask);
    case Code::kIf:
      return RunIf(instr, mask);
    case Code::kBarrier:
      return RunBarrier(instr, mask);
    case Code::kRoles:
      return RunRoles(instr, mask);
    case Code::kWarpDown:
    case Code::kWarpRead:
    case Code::kWarpVote:
    case Code::kWarpXor:
      return RunExchange(instr, mask);
    case Code::kCommitCopies:
    case Code::kCopyAsync:
    case Code::kLoadMatrices:
    case Code::kWaitForCopies:
    case Code::kWarpMultiply:
      return RunMatrix(instr, mask);
    case Code::kLoad:
    case Code::kStore:
    case Code::kGather:
    case Code::kScatter:
      return RunAccess(instr, mask);
    case Code::kPrefetch:
      return absl::OkStatus();
    default:
      RunLanes(instr);
      return absl::OkStatus();
  }
}

absl::Status BlockExecution::CheckNarrow(const Instr& instr, const Mask& mask) {
  for (int i = 0; i < 2; ++i) {
    for (int t = 0; t < threads_; ++t) {
      const int64_t v = Operand(instr, i).Get<int64_t>(t);
      if (mask.on[t] != 0 && (v < 0 || v >= kNarrowEnd)) {
        return Fault(instr, t, InvalidArgument(v, " is not from 0 to below 2^31"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status BlockExecution::Fault(const Instr& instr, int thread, const absl::Status& what) const {
  return InvalidArgument("kernel ", kernel_.name(), ": instruction ", instr.number, " (",
                         loop::CodeName(instr.code), "), thread ", thread, " of block ", block_,
                         ": ", what.message());
}

// ---- lanes and pointers ----

void BlockExecution::RunLanes(const Instr& instr) {
  ThreadValues& result = Result(instr);
  ThreadValues& x = Operand(instr, 0);
  const auto bytes = static_cast<size_t>(result.element_bytes());
  const int lanes = instr.results[0].lanes;
  for (int t = 0; t < threads_; ++t) {
    switch (instr.code) {
      case Code::kOffset: {
        Place place = x.Get<Place>(t);
        place.offset += Operand(instr, 1).Get<int64_t>(t) * ir::DTypeBytes(instr.access);
        result.Set(t, place);
        break;
      }
      case Code::kSelect:  // one condition for all lanes, or between pointers
        CopyBytes(result.at(t), Operand(instr, x.Get<uint8_t>(t) != 0 ? 1 : 2).at(t),
                  bytes * static_cast<size_t>(lanes));
        break;
      case Code::kSplat:
        for (int i = 0; i < lanes; ++i) CopyBytes(result.at(t, i), x.at(t), bytes);
        break;
      case Code::kExtractLane:
        CopyBytes(result.at(t), x.at(t, static_cast<int>(instr.immediate)), bytes);
        break;
      case Code::kInsertLane:
        CopyBytes(result.at(t), x.at(t), bytes * static_cast<size_t>(lanes));
        CopyBytes(result.at(t, static_cast<int>(instr.immediate)), Operand(instr, 1).at(t), bytes);
        break;
      case Code::kShuffle: {
        const int own = instr.operands[0].lanes();
        for (int i = 0; i < lanes; ++i) {
          const int from = instr.lanes[static_cast<size_t>(i)];
          std::byte* lane = from < own ? x.at(t, from) : Operand(instr, 1).at(t, from - own);
          CopyBytes(result.at(t, i), lane, bytes);
        }
        break;
      }
      case Code::kDotBytes:
        for (int i = 0; i < lanes; ++i) {
          auto sum = Operand(instr, 2).Get<uint32_t>(t, i);
          for (int j = 4 * i; j < 4 * i + 4; ++j) {
            const int32_t a = x.GetByte(instr.operands[0].dtype(), t, j);
            const int32_t b = Operand(instr, 1).GetByte(instr.operands[1].dtype(), t, j);
            sum += static_cast<uint32_t>(a * b);
          }
          result.Set(t, sum, i);
        }
        break;
      default: {  // mask_up_to
        const int64_t count = x.Get<int64_t>(t);
        for (int i = 0; i < lanes; ++i) result.Set(t, static_cast<uint8_t>(i < count), i);
      }
    }
  }
}

// ---- between threads ----

absl::Status BlockExecution::RunBarrier(const Instr& instr, const Mask& mask) {
  if (mask.count < threads_) {
    const auto missing = std::find(mask.on.begin(), mask.on.end(), 0) - mask.on.begin();
    return Fault(instr, static_cast<int>(missing),
                 InvalidArgument("divergent barrier: ", mask.count, " of ", threads_,
                                 " threads reach it, and not this one"));
  }
  memory_.Barrier();
  background_.Barrier();
  return absl::OkStatus();
}

absl::Status BlockExecution::CheckWarp(const Instr& instr, const Mask& mask, int warp,
                                       int there) const {
  if (there == kWarpThreads) return absl::OkStatus();
  const auto begin = mask.on.begin() + warp;
  const auto missing = std::find(begin, begin + kWarpThreads, 0) - mask.on.begin();
  return Fault(instr, static_cast<int>(missing),
               InvalidArgument("divergent exchange: ", there, " of ", kWarpThreads,
                               " threads of a warp reach it, and not this one"));
}

absl::Status BlockExecution::RunExchange(const Instr& instr, const Mask& mask) {
  ThreadValues& result = Result(instr);
  ThreadValues& x = Operand(instr, 0);
  const auto bytes = static_cast<size_t>(result.thread_bytes());
  for (int warp = 0; warp < threads_; warp += kWarpThreads) {
    const auto begin = mask.on.begin() + warp;
    const auto there = std::count(begin, begin + kWarpThreads, 1);
    if (there == 0) continue;
    TEKTITE_RETURN_IF_ERROR(CheckWarp(instr, mask, warp, static_cast<int>(there)));
    int ons = 0;
    if (instr.code == Code::kWarpVote) {
      for (int t = warp; t < warp + kWarpThreads; ++t) ons += x.Get<uint8_t>(t) != 0 ? 1 : 0;
    }
    for (int t = warp; t < warp + kWarpThreads; ++t) {
      int64_t from = t - warp;
      if (instr.code == Code::kWarpVote) {
        result.Set(t,
                   static_cast<uint8_t>(instr.op == ir::Op::kOr ? ons > 0 : ons == kWarpThreads));
        continue;
      }
      if (instr.code == Code::kWarpXor) from ^= instr.immediate;
      if (instr.code == Code::kWarpDown && from + instr.immediate < kWarpThreads) {
        from += instr.immediate;
      }
      if (instr.code == Code::kWarpRead) from = Operand(instr, 1).Get<int64_t>(t);
      if (from < 0 || from >= kWarpThreads) {
        return Fault(instr, t, InvalidArgument("a warp has no thread ", from));
      }
      CopyBytes(result.at(t), x.at(warp + static_cast<int>(from)), bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::gpu
