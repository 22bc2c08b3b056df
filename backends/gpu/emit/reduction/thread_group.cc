#include "backends/gpu/emit/reduction/thread_group.h"

#include <algorithm>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"

namespace tektite::gpu {
namespace {

// The longest row of a warp, and of a block of the given threads.
constexpr int64_t kWarpRow = 1024, kBlockRow = 8192, kLongRow = 16384;
constexpr int kBlockThreads = 256, kLongThreads = 512;
// Rows of warps in a block.
constexpr int64_t kWarps = 4;
constexpr int kManyResident = 1024, kManyResidentBlocks = 16;

}  // namespace

ThreadGroup ChooseGroup(const ir::Graph& region, const ir::Dims& sizes) {
  ThreadGroup group;
  const int64_t row = Product(sizes).value_or(kBlockRow);
  if (row > kWarpRow) {
    group.threads = row <= kBlockRow  ? kBlockThreads
                    : row <= kLongRow ? kLongThreads
                                      : loop::kMostThreads;
  }
  if (sizes.empty()) return group;
  const int64_t last = sizes.back().value_or(1);
  int64_t vector = VectorElements(region);
  while (vector > 1 && (last % vector != 0 || row < kWarpThreads * vector)) vector /= 2;
  group.vector = static_cast<int>(vector);
  return group;
}

void ForEachGroup(loop::Builder& b, const ThreadGroup& group, const Dim& rows,
                  const std::function<void(Value, Value)>& body) {
  loop::Launch& launch = b.kernel()->launch;
  if (group.is_block()) {
    launch.threads = group.threads;
    launch.blocks = rows;
    return body(b.BlockIndex(), b.ThreadIndex());
  }
  launch.threads = static_cast<int>(kWarps * kWarpThreads);
  launch.blocks = CeilDiv(rows, kWarps);
  const Value warp = b.Div(b.ThreadIndex(), b.Index(kWarpThreads));
  const Value member = b.Rem(b.ThreadIndex(), b.Index(kWarpThreads));
  const Value row = b.Add(b.Mul(b.BlockIndex(), b.Index(kWarps)), warp);
  const bool whole = rows.is_constant() && rows.value() % kWarps == 0;
  const Value exists = whole ? b.Int(ir::DType::kBool, 1) : b.Compare("lt", row, b.Index(rows));
  b.If(exists, [&] { body(row, member); });
}

void HoldManyThreads(loop::Launch* launch) {
  launch->resident_threads = std::min(kManyResident, kManyResidentBlocks * launch->threads);
}

}  // namespace tektite::gpu
