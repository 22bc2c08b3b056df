// How many nodes the builders of a thread may add as long as this lives: graphs from outside may
// ask for any number.
//
//   const NodeLimit limit(1 << 20);      // the builder's next node after so many is an error
//
// Tests let each step of a chain of builder calls fail by it, one after the other.
//
// Limits: an inner limit replaces the outer one while it lives.
#ifndef TEKTITE_JIT_OPS_NODE_LIMIT_H_
#define TEKTITE_JIT_OPS_NODE_LIMIT_H_

#include <cstdint>

namespace tektite::ops {

class NodeLimit {
 public:
  explicit NodeLimit(int64_t most);
  ~NodeLimit();
  NodeLimit(const NodeLimit&) = delete;
  NodeLimit& operator=(const NodeLimit&) = delete;

  // Counts one more node; false: there are too many.
  static bool TakeNode();

 private:
  const int64_t outer_;
};

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_NODE_LIMIT_H_
