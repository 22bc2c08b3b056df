#include "jit/ops/node_limit.h"

#include <limits>

namespace tektite::ops {
namespace {

thread_local int64_t nodes_left = std::numeric_limits<int64_t>::max();

}  // namespace

NodeLimit::NodeLimit(int64_t most) : outer_(nodes_left) { nodes_left = most; }

NodeLimit::~NodeLimit() { nodes_left = outer_; }

bool NodeLimit::TakeNode() {
  if (nodes_left <= 0) return false;
  --nodes_left;
  return true;
}

}  // namespace tektite::ops
