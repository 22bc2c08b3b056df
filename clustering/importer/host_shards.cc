#include "clustering/importer/host_shards.h"

#include <algorithm>

#include "jit/base/rounding.h"

namespace tektite::importer {
namespace {

constexpr double kStartCycles = 100000, kThreadCycles = 100000, kPieceCycles = 40000;
constexpr int64_t kPiecesPerThread = 4;

// Of the threads' time while `pieces` are being worked on.
double Efficiency(int64_t pieces, int64_t threads) {
  return static_cast<double>(pieces) / static_cast<double>(RoundUp(pieces, threads));
}

}  // namespace

bool IsOneHostShard(int64_t n, int64_t cycles) {
  const double all = static_cast<double>(n) * static_cast<double>(cycles);
  return n == 1 || (all - kStartCycles) / kThreadCycles + 0.9 < 2;
}

int64_t HostShard(int64_t n, int64_t cycles, int64_t threads) {
  if (threads <= 1 || IsOneHostShard(n, cycles)) return n;
  const auto wanted = static_cast<int64_t>(kPieceCycles / static_cast<double>(cycles));
  int64_t rows = std::min(n, std::max(CeilDiv(n, kPiecesPerThread * threads), wanted));
  const int64_t most = std::min(n, 2 * rows);
  int64_t pieces = CeilDiv(n, rows);
  double best = Efficiency(pieces, threads);
  while (best < 1 && pieces > 1) {
    const int64_t larger = CeilDiv(n, pieces - 1);
    if (larger > most) break;
    pieces = CeilDiv(n, larger);
    const double efficiency = Efficiency(pieces, threads);
    if (efficiency + 0.01 < best) continue;
    rows = larger;
    best = std::max(best, efficiency);
  }
  return rows;
}

}  // namespace tektite::importer
