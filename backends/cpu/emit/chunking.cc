#include "backends/cpu/emit/chunking.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/numeric/bits.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

// Nanoseconds a chunk should take at least: claiming one costs about 50 ns, waking a thread far
// more.
constexpr double kChunkNs = 10000;
// Chunks to have at least, if the work allows: enough for a dozen threads to share evenly.
constexpr int64_t kWantedChunks = 32;
constexpr double kSmallestChunkNs = 2000;
constexpr int64_t kMostChunks = 4096;

// Claiming a chunk, and entering the loops around its units.
constexpr double kEnterChunkNs = 150;
// With more chunks any number is shared evenly enough.
constexpr int64_t kManyChunks = 64;

// Teams that chunks are chosen for, and how much each counts.
struct Team {
  int threads;
  double weight;
};
constexpr Team kTeams[] = {{1, 1.0}, {2, 1.0}, {4, 0.5}, {8, 0.25}};

// Processor time of all teams for blocks of `block` units.
double CostOfBlock(int64_t outer, int64_t total, int64_t block, double unit_ns, double chunk_ns) {
  std::vector<double> chunks;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t at = 0; at < total; at += block) {
      chunks.push_back(static_cast<double>(std::min(block, total - at)) * unit_ns + chunk_ns);
    }
  }
  double sum = 0;
  for (const Team& team : kTeams) {
    sum += team.weight * team.threads * TeamTime(chunks, team.threads);
  }
  return sum;
}

}  // namespace

Dim Cost(const Dim& count, double ns) { return count * Dim(std::llround(ns * kCostPerNs)); }

double TeamTime(absl::Span<const double> chunks, int threads) {
  const auto count = static_cast<int64_t>(chunks.size());
  std::vector<int64_t> next(threads);
  std::vector<double> busy(threads, 0);
  for (int t = 0; t < threads; ++t) next[t] = count * t / threads;
  for (int64_t left = count; left > 0; --left) {
    const auto idle = std::min_element(busy.begin(), busy.end()) - busy.begin();
    auto part = static_cast<int>(idle);
    while (next[part] == count * (part + 1) / threads) part = (part + 1) % threads;
    busy[idle] += chunks[next[part]++];
  }
  return *std::max_element(busy.begin(), busy.end());
}

Dim EvenBlock(const Blocking& blocking) {
  const Dim most = Max(Min(blocking.most, blocking.total), 1);
  if (!blocking.total.is_constant() || !most.is_constant()) return most;
  if (blocking.total == Dim(0) || blocking.outer == Dim(0)) return most;
  if (!blocking.outer.is_constant() || !blocking.unit_cost.is_constant()) {
    return CeilDiv(blocking.total, CeilDiv(blocking.total, most));
  }
  const int64_t outer = blocking.outer.value(), total = blocking.total.value();
  const double unit_ns = static_cast<double>(blocking.unit_cost.value()) / kCostPerNs;
  const double chunk_ns = blocking.chunk_ns + kEnterChunkNs;
  int64_t best = most.value();
  double least = 1e300;
  for (int64_t blocks = CeilDiv(total, best); outer * blocks <= kManyChunks && blocks <= total;
       ++blocks) {
    const int64_t block = CeilDiv(total, blocks);
    const double cost = CostOfBlock(outer, total, block, unit_ns, chunk_ns);
    if (cost >= least) continue;
    least = cost;
    best = block;
  }
  return best;
}

Dim UnitsPerChunk(const Dim& units, const Dim& cost) {
  if (units == Dim(1)) return 1;
  Dim chunk = Max(Cost(1, kSmallestChunkNs), Min(Cost(1, kChunkNs), FloorDiv(cost, kWantedChunks)));
  chunk = Max(chunk, FloorDiv(cost, kMostChunks));
  const Dim per_unit = Max(FloorDiv(cost, Max(units, 1)), 1);
  return FittingBlock(units, EvenBlock({1, units, FloorDiv(chunk, per_unit), per_unit}));
}

Dim FittingBlock(const Dim& total, const Dim& block) {
  if (!total.is_constant() || !block.is_constant()) return block;
  if (CeilDiv(total.value(), block.value()) <= kManyChunks) return block;
  return static_cast<int64_t>(absl::bit_floor(static_cast<uint64_t>(block.value())));
}

Units UnitsOfCall(loop::Builder& b, const Dim& units, const Dim& units_per_chunk) {
  return {b.Mul(b.ChunkBegin(), b.Index(units_per_chunk)),
          b.Min(b.Mul(b.ChunkEnd(), b.Index(units_per_chunk)), b.Index(units))};
}

void ForEachUnit(loop::Builder& b, const Dim& units, const Dim& units_per_chunk,
                 const std::function<void(Value)>& body) {
  const Units of_call = UnitsOfCall(b, units, units_per_chunk);
  b.For(of_call.begin, of_call.end, 1, body);
}

}  // namespace tektite::cpu
