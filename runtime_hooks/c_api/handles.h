// The objects that the handles of tektite.h point to.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_HANDLES_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_HANDLES_H_

#include <memory>

#include "jit/serving/cluster.h"
#include "jit/serving/compiler_state.h"
#include "runtime_hooks/c_api/tektite.h"

// Clusters hold the state too, so handles may be destroyed in any order.
struct tektite_compiler {
  std::shared_ptr<tektite::serving::CompilerState> state;
};

struct tektite_cluster {
  std::shared_ptr<tektite::serving::Cluster> cluster;
};

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_HANDLES_H_
