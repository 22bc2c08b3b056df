// Parts of the suite's targets, for tests of what not all of them do.
#ifndef TEKTITE_TESTS_CONFORMANCE_SOME_TARGETS_H_
#define TEKTITE_TESTS_CONFORMANCE_SOME_TARGETS_H_

#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "tests/conformance/targets.h"

namespace tektite::testing {

template <typename Keep>
std::vector<ConformanceTarget> TargetsWhere(const Keep& keep) {
  std::vector<ConformanceTarget> targets;
  absl::c_copy_if(ConformanceTargets(), std::back_inserter(targets), keep);
  return targets;
}

// The CPU's targets; with AVX-512 alone, too, where the machine may have AMX beside it.
inline std::vector<ConformanceTarget> CpuTargets(bool has_avx512) {
  std::vector<ConformanceTarget> targets =
      TargetsWhere([](const ConformanceTarget& target) { return target.backend == "cpu"; });
  if (has_avx512) targets.push_back({"cpu_avx512", "cpu", "avx512"});
  return targets;
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_SOME_TARGETS_H_
