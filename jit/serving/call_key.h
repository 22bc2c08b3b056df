// The properties of a call that its code may depend on, as a row of integers.
//
//   CallKey key;
//   TEKTITE_RETURN_IF_ERROR(MakeCallKey(source, call, &key));
//   std::vector<KeyWord> words = KeyLayout(source, call);   // what key[i] is
//
// A key holds each argument's element type and rank, its dimensions, and the elements of those
// arguments whose values code depends on (axes, shapes).  Calls with equal keys may share any code.
#ifndef TEKTITE_JIT_SERVING_CALL_KEY_H_
#define TEKTITE_JIT_SERVING_CALL_KEY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "jit/serving/call.h"
#include "jit/serving/graph_source.h"

namespace tektite::serving {

using CallKey = std::vector<int64_t>;

struct KeyWord {
  // kBytes: a part of the value of an argument that is no vector of s32 or s64.
  enum class Kind : uint8_t { kType, kDimension, kElement, kBytes };
  Kind kind = Kind::kType;
  int argument = 0;
  int index = 0;           // of the dimension or the element
  bool versioned = false;  // the argument is a weight

  friend bool operator==(const KeyWord& a, const KeyWord& b) {
    return a.kind == b.kind && a.argument == b.argument && a.index == b.index;
  }
};

// InvalidArgument for arguments that do not fit the source, Unimplemented for those that no code
// can be made for.
absl::Status MakeCallKey(const GraphSource& source, const Call& call, CallKey* key);
// For a call that has a key.
std::vector<KeyWord> KeyLayout(const GraphSource& source, const Call& call);

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_CALL_KEY_H_
