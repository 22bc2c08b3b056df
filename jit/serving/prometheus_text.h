// Counters in the text format that Prometheus' collectors read, version 0.0.4.
//
// Example(const CounterSnapshot& snapshot):
//   const std::string text = PrometheusText(snapshot);
//   // # HELP tektite_runs_total calls of clusters
//   // # TYPE tektite_runs_total counter
//   // tektite_runs_total{pid="17"} 3
//
// For `tektite stats --prometheus`.  Gauges are amounts that are held, all others only grow.
#ifndef TEKTITE_JIT_SERVING_PROMETHEUS_TEXT_H_
#define TEKTITE_JIT_SERVING_PROMETHEUS_TEXT_H_

#include <string>

#include "jit/base/counter_file.h"

namespace tektite::serving {

std::string PrometheusText(const CounterSnapshot& snapshot);

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_PROMETHEUS_TEXT_H_
