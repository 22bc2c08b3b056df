// Known elements of several operands side by side, broadcast as NumPy does.
//
//   TEKTITE_ASSIGN_OR_RETURN(const KnownBroadcast x, KnownBroadcast::Of(op, 2));
//   x.dims();          // [3,4], of operands [3,1] and [4]
//   x.Element(0, 5);   // operand 0's element for place [1,1]: its second one
//
// Limits: known sizes, and at most kMaxContents elements; anything else is not shape arithmetic.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTENTS_KNOWN_BROADCAST_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTENTS_KNOWN_BROADCAST_H_

#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

class KnownBroadcast {
 public:
  // Of the first `count` inputs, whose elements are known.
  static absl::StatusOr<KnownBroadcast> Of(const NodeImport& op, int count);

  const Dims& dims() const { return dims_; }
  int64_t size() const { return size_; }  // elements of the result
  // The operand's element that belongs to element i of the result.
  const Dim& Element(int operand, int64_t i) const;

 private:
  struct Operand {
    const Dims* elements;
    std::vector<int64_t> strides;  // by the result's dimensions; 0 where it is stretched
  };

  Dims dims_;
  std::vector<int64_t> sizes_;
  int64_t size_ = 1;
  std::vector<Operand> operands_;
};

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTENTS_KNOWN_BROADCAST_H_
