// The hook's own counters: graphs seen, clusters placed, and why it did not place or run one.
//
// Why: every answer "TensorFlow ran this" has a stable code that people can look up
// (docs/reasons.md).  Example, from
// tektite.stats()["host"]:
//   {"graphs": 3, "clusters_placed": 2, "runs": 40,
//    "not_placed": {"HOST_CYCLE": 1}, "fallbacks": {"HOST_VARIABLE_UNINITIALIZED": 1},
//    "contest": {"compiled": 2, "host": 0, "open": 1, "lost": {}}}    # by shape class
// Limits: counts are for the process and never reset.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_COUNTERS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/tensorflow/hook/run/host_time.h"

namespace tektite::tf_hook {

struct Counters {
  std::atomic<int64_t> graphs{0};              // graphs that may hold clusters
  std::atomic<int64_t> repeated_graphs{0};     // of these: marked as an equal one had been
  std::atomic<int64_t> clusters_placed{0};     // cluster nodes put into graphs
  std::atomic<int64_t> ops_placed{0};          // nodes they replaced
  std::atomic<int64_t> kept_loops{0};          // of these: loops and branches, kept whole
  std::atomic<int64_t> xla_calls{0};           // of these: calls of functions with jit_compile=True
  std::atomic<int64_t> lowered_loops{0};       // that were kept whole for no cluster
  std::atomic<int64_t> rebuilt_loops{0};       // taken apart by the program, and made whole again
  std::atomic<int64_t> unrebuilt_graphs{0};    // whose loops could not be made whole
  std::atomic<int64_t> runs{0};                // cluster nodes executed, however they ended
  std::atomic<int64_t> direct_runs{0};         // of these: without their graph (direct_calls.h)
  std::atomic<int64_t> prepared_fallbacks{0};  // functions instantiated in the background
  std::atomic<int64_t> remade_clusters{0};     // without a node that was refused, or a loop
  std::atomic<int64_t> runs_in_advance{0};     // of these: run once, to have oneDNN's kernels made
  std::atomic<int64_t> holds{0};               // times it took hold of a variable's buffer
  std::atomic<int64_t> releases{0};            // times it released one because the variable changed
  std::atomic<int64_t> updates{0};             // new values that compiled code wrote to variables
  std::atomic<int64_t> copied_updates{0};      // of these: in other memory than the old value's
};

Counters& HookCounters();

// Counts one cluster that was not placed, or one run that went to TensorFlow's kernels.
void CountNotPlaced(tektite_fallback why);
void CountFallback(tektite_fallback why);

// A cluster's contest is in the counters, under "contest", while it lives; `host_time` lives as
// long.
void AddContest(const tektite_contest* contest, const std::string& cluster,
                const HostTime& host_time);
void RemoveContest(const tektite_contest* contest);

// The counters above as a JSON object.
std::string HookCountersJson();

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_COUNTERS_H_
