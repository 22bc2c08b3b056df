// The pieces into which TensorFlow divides a kernel's work among its threads.
//
// Why: some random ops begin another stretch of their stream with each piece, so that their numbers
// depend on how many threads the host has.
//
//   const int64_t rows = HostShard(n, cycles, threads);   // piece i begins with row i * rows
//
// The rule is that of Eigen's thread pool (its cost model with TensorFlow's estimate of cycles a
// row): pieces of some 40,000 cycles, at most four times as many as threads, and a little larger
// where that leaves no thread idle at the end.
#ifndef TEKTITE_CLUSTERING_IMPORTER_HOST_SHARDS_H_
#define TEKTITE_CLUSTERING_IMPORTER_HOST_SHARDS_H_

#include <cstdint>

namespace tektite::importer {

// Rows of a piece, of n > 0 of them that take `cycles` each; n where one thread does all.
int64_t HostShard(int64_t n, int64_t cycles, int64_t threads);
// Whether the pieces are the same for any number of threads.
bool IsOneHostShard(int64_t n, int64_t cycles);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_HOST_SHARDS_H_
