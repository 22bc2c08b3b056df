// What flags say about marking any graph, once for the host's graphs and for explain.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_MARKING_OPTIONS_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_MARKING_OPTIONS_H_

#include "clustering/compilability.h"
#include "jit/base/flags.h"

namespace tektite::c_api {

inline clustering::MarkOptions MarkOptionsOf(const Flags& flags) {
  clustering::MarkOptions options;
  options.min_cluster_ops = flags.min_cluster_cost == 0 ? 1 : 2;
  options.min_cluster_cost = flags.min_cluster_cost;
  options.keep_loops = flags.keep_loops;
  options.take_over_xla = flags.take_over_xla;
  return options;
}

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_MARKING_OPTIONS_H_
