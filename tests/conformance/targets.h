// What the conformance suite runs on.  The program that links the suite defines these functions:
// own_targets.cc for Tektite's back ends, one_target.h for a back end of another project.
#ifndef TEKTITE_TESTS_CONFORMANCE_TARGETS_H_
#define TEKTITE_TESTS_CONFORMANCE_TARGETS_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "jit/backend/backend.h"
#include "jit/compiler/backend_info.h"

namespace tektite::testing {

struct ConformanceTarget {
  std::string name, backend, cpu = "native";
  bool is_device = false;   // its kernels run on its own streams alone
  bool may_refuse = false;  // fusions that it has no kernels for: NoteRefusals counts them
  friend std::ostream& operator<<(std::ostream& out, const ConformanceTarget& t) {
    return out << t.name;
  }
};

const std::vector<ConformanceTarget>& ConformanceTargets();

struct TestedOptions {
  bool rounds_f32 = false;  // --f32_products=tf32 of GPUs, bf16x3 of CPUs
  bool warpgroups = false;  // for GPUs: all products that fit, by wgmma
};
std::unique_ptr<backend::Backend> CreateTested(const ConformanceTarget& target,
                                               const TestedOptions& options);
// The back ends that stand behind a tested one, the interpreter at least.
compiler::BackendList BackendsBehind();
// The end of a test on a target that may refuse: so many of its graphs had a part without a kernel.
void NoteRefusals(const ConformanceTarget& target, const std::string& test, int graphs);

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_TARGETS_H_
