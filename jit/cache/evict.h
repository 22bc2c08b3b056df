// Keeps a cache directory within a bound: the entries that were not used for longest go.
//
//   Evicted evicted = EvictTo(directory, max_bytes);
//
// The counter files of processes (counter_files.h) take part of the bound; those of processes that
// are gone go first.
//
// The file "evicted" lists removed entries, so that a later miss can be told from a first one.
// Processes that do this at once do no harm: a file that is gone already is passed over.
#ifndef TEKTITE_JIT_CACHE_EVICT_H_
#define TEKTITE_JIT_CACHE_EVICT_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "jit/cache/directory.h"

namespace tektite::cache {

struct Evicted {
  int64_t entries = 0, bytes = 0;  // removed
  int64_t left = 0, bytes_left = 0;
  int64_t counter_bytes = 0;  // of counter files that stay
};
// The notes take at most `most_note_bytes`; the oldest go.
Evicted EvictTo(const Directory& directory, int64_t max_bytes,
                int64_t most_note_bytes = int64_t{256} << 10);

// Keys in hexadecimal.
absl::flat_hash_set<std::string> EvictedKeys(const Directory& directory);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_EVICT_H_
