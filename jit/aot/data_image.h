// The bytes that a library reads: constants of its graph, and what is computed from them alone.
//
//   DataImage image;
//   TEKTITE_ASSIGN_OR_RETURN(image.groups, AddGroups(graph, kept, &image));
//   image.Add(literal.raw(), literal.num_bytes());   // where it lies
//
// Equal pieces lie at one place.  Every piece begins at a multiple of kAlignment.
#ifndef TEKTITE_JIT_AOT_DATA_IMAGE_H_
#define TEKTITE_JIT_AOT_DATA_IMAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "jit/base/hash.h"
#include "jit/runtime/step_graph.h"

namespace tektite::aot {

struct DataImage {
  static constexpr int64_t kAbsent = -1;
  std::string bytes;
  std::vector<int64_t> constants;  // by constant of the graph: its offset, or kAbsent
  std::vector<int64_t> groups;     // the same by weight group

  // Returns its offset.
  int64_t Add(const void* data, int64_t size);

 private:
  std::map<Fingerprint, int64_t> places_;  // by content
};

// Computes the group's kept results, all from constants, and adds them.
absl::Status AddGroup(const runtime::StepGraph& graph, int group, DataImage* image);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_DATA_IMAGE_H_
