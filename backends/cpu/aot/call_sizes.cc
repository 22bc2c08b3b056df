#include "backends/cpu/aot/call_sizes.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/size_code.h"
#include "backends/cpu/aot/team_code.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::cpu {
namespace {

using runtime::kMostBytes;

// Turns of a loop that are taken into account, as powers of 2: 16, as the runtime assumes, and as
// many for each loop around.
constexpr int kTurnsShift = 4, kMostTurnsShift = 12;

constexpr char kTooLarge[] = "a tensor of these sizes is larger than memory can be";

}  // namespace

void CallSizes::Compute(absl::Span<llvm::Value* const> symbols, FailIf fail) {
  CheckGraph(symbols, fail);
  ComputeLaunches(symbols, fail);
  PlaceSlots(fail);
}

void CallSizes::CheckGraph(absl::Span<llvm::Value* const> symbols, FailIf fail) {
  const runtime::StepGraph& graph = library_.graph;
  for (size_t i = 0; i < symbols.size(); ++i) {
    fail(b_.CreateICmpSLT(symbols[i], b_.getInt64(0)),
         absl::StrCat("the size ", library_.sizes[i], " is negative"));
  }
  SizeCode code(&b_);
  table_ = code.Run(graph.program, symbols);
  fail(code.wraps(), kTooLarge);
  for (const runtime::SizeCheck& check : graph.checks) {
    llvm::Value *low = table_[check.low], *high = table_[check.high];
    fail(check.equal ? b_.CreateICmpNE(low, high) : b_.CreateICmpSGT(low, high),
         absl::StrCat("the code needs ", check.text));
  }
  llvm::Value* too_large = b_.getFalse();
  for (const runtime::Buffer& buffer : graph.buffers) {
    too_large =
        b_.CreateOr(too_large, b_.CreateICmpUGT(table_[buffer.place], b_.getInt64(kMostBytes)));
  }
  fail(too_large, kTooLarge);
}

void CallSizes::ComputeLaunches(absl::Span<llvm::Value* const> symbols, FailIf fail) {
  SizeCode code(&b_);
  scratch_ = b_.getInt64(0);
  cost_ = b_.getInt64(0);
  llvm::Value* too_large = b_.getFalse();
  for (const auto& [s, place] : frame_.kernels()) {
    const runtime::Step& step = library_.graph.steps[s];
    const backend::LaunchFacts& facts = place.kernel->facts();
    std::vector<llvm::Value*> own;
    for (int symbol : step.symbols) own.push_back(symbols[symbol]);
    LaunchValues& launch = launches_[s];
    launch.table = code.Run(facts.sizes, own);
    const std::vector<llvm::Value*> values = code.Run(facts.launch, own);
    launch.chunks = values[facts.num_chunks];
    llvm::Value* const scratch = values[facts.scratch_bytes];
    too_large = b_.CreateOr(too_large, b_.CreateICmpUGT(scratch, b_.getInt64(kMostBytes)));
    scratch_ = code.Max(scratch_, scratch);
    llvm::Value* const cost = values[facts.cost];
    const int turns = std::min(kTurnsShift * place.loops, kMostTurnsShift);
    cost_ = b_.CreateAdd(cost_, b_.CreateShl(cost, static_cast<uint64_t>(turns)));
    const auto shared = static_cast<uint64_t>(kSharedNs * backend::LaunchFacts::kCostPerNs);
    launch.claim = b_.CreateSelect(b_.CreateICmpULT(cost, b_.getInt64(shared)),
                                   code.Max(launch.chunks, b_.getInt64(1)), b_.getInt64(1));
  }
  fail(code.wraps(), kTooLarge);
  fail(too_large, kTooLarge);
  scratch_ = code.AlignUp(scratch_);
}

void CallSizes::PlaceSlots(FailIf fail) {
  SizeCode code(&b_);
  const std::vector<int64_t>& typical = library_.plan.arena.layout().offsets;
  const std::vector<int>& buffers = library_.plan.slots;
  const size_t count = buffers.size();
  const auto end = [&](size_t i) {
    return typical[i] + runtime::AlignUp(library_.graph.buffers[buffers[i]].typical_bytes);
  };
  std::vector<size_t> by_offset(count), by_end;
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::sort(by_offset.begin(), by_offset.end(), [&](size_t a, size_t b) {
    return std::tuple(typical[a], end(a), a) < std::tuple(typical[b], end(b), b);
  });
  std::vector<size_t> position(count);
  for (size_t i = 0; i < count; ++i) position[by_offset[i]] = i;
  by_end = by_offset;
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](size_t a, size_t b) { return end(a) < end(b); });

  slots_.resize(count);
  std::vector<llvm::Value*> ends(count);
  llvm::Value *below = b_.getInt64(0), *all = b_.getInt64(0);
  size_t next = 0;  // of by_end: all before it are below
  for (size_t slot : by_offset) {
    // A buffer that ends where this one begins stands before it in by_offset.
    for (; next < count; ++next) {
      const size_t other = by_end[next];
      if (end(other) > typical[slot] || position[other] >= position[slot]) break;
      below = code.Max(below, ends[other]);
    }
    slots_[slot] = below;
    ends[slot] = b_.CreateAdd(below, code.AlignUp(Bytes(buffers[slot])));
    all = code.Max(all, ends[slot]);
  }
  for (const runtime::UpdatePlace& update : library_.plan.updates) {
    updates_.push_back(update.in_place ? nullptr : all);
    if (update.in_place) continue;
    all = b_.CreateAdd(all, code.AlignUp(Bytes(library_.graph.outputs[update.output].buffer)));
  }
  buffers_bytes_ = all;
  // Sums of offsets fit 64 bits as long as there are fewer than 2^15 slots of 2^47 bytes.
  fail(b_.CreateICmpUGT(all, b_.getInt64(kMostBytes)), kTooLarge);
}

llvm::Value* CallSizes::SlotAt(int slot) const {
  return b_.CreateAdd(slots_[slot], b_.getInt64(frame_.bytes()));
}

llvm::Value* CallSizes::UpdateAt(size_t update) const {
  return updates_[update] == nullptr ? nullptr
                                     : b_.CreateAdd(updates_[update], b_.getInt64(frame_.bytes()));
}

llvm::Value* CallSizes::ScratchAt() const {
  return b_.CreateAdd(buffers_bytes_, b_.getInt64(frame_.bytes()));
}

llvm::Value* CallSizes::ArenaBytes(llvm::Value* threads) const {
  return b_.CreateAdd(ScratchAt(), b_.CreateMul(threads, scratch_));
}

}  // namespace tektite::cpu
