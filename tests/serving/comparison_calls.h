// Calls of a cluster whose sides take the times that a test sets, by a clock of the test's own.
//
//   Calls calls;
//   calls.compiled = 50;                       // the host's kernels take 100
//   calls.Make(200, /*shape_class=*/1);
//   calls.comparison.Summary().compiled           // 1
//
// Limits: one thread.
#ifndef TEKTITE_TESTS_SERVING_COMPARISON_CALLS_H_
#define TEKTITE_TESTS_SERVING_COMPARISON_CALLS_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "jit/serving/comparison.h"

namespace tektite::serving {

inline int64_t now = 0;
inline int64_t FakeClock() { return now; }

class Calls {
 public:
  using Side = Comparison::Side;

  explicit Calls(std::vector<Decision> earlier = {}) : comparison(&FakeClock, std::move(earlier)) {}

  double compiled = 100, host = 100;
  std::function<double()> noise = [] { return 1.0; };
  uint64_t generation = 0;
  uint64_t artifact = 0;
  Comparison comparison;
  int64_t compiled_calls = 0, host_calls = 0, demoted_calls = 0;

  Side Make(uint64_t shape_class = 1, double work = 1) {
    Comparison::Turn turn = comparison.Begin(shape_class, work, generation);
    turn.artifact = turn.side == Side::kCompiled ? artifact : 0;
    now += static_cast<int64_t>((turn.side == Side::kCompiled ? compiled : host) * noise() * work);
    comparison.End(turn);
    ++(turn.side == Side::kCompiled ? compiled_calls : host_calls);
    demoted_calls += turn.is_demoted ? 1 : 0;
    return turn.side;
  }
  void Make(int count, uint64_t shape_class, double work = 1) {
    for (int i = 0; i < count; ++i) Make(shape_class, work);
  }
};

}  // namespace tektite::serving
#endif  // TEKTITE_TESTS_SERVING_COMPARISON_CALLS_H_
