// Shape arithmetic: integer ops on tensors whose elements are known as dimension expressions.
//
//   strided_slice(shape(x), 0, 1) * 2   with x: f32[n,768]   has the contents {2*n}
//
// Limits: s32, s64 and bool of at most kMaxContents elements; ops that would need to know a sign or
// an order of symbolic sizes are left to ordinary import.  So is a result whose type or shape is
// not what ordinary import infers: its rules decide, whatever a folding function does.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTENTS_CONTENTS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTENTS_CONTENTS_H_

#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// If every input's elements are known and the op is understood, sets the results and is true.
bool FoldContents(NodeImport& op);

// An error where the results that were folded are not of the shapes that ordinary import infers.
absl::Status CheckFolded(const NodeImport& op);

// Whether the op's results are known when its inputs are, so that a need for the one is a need for
// the others.
bool ContentsComeFromContents(absl::string_view op);

// ---- for contents_*.cc ----

// Each folds one op whose inputs' elements are all known.  An error means "not this time": the op
// is then imported in the ordinary way.
#define TEKTITE_CONTENTS(op, function) absl::Status function(NodeImport& op_import);
#include "clustering/importer/contents/contents_list.inc"
#undef TEKTITE_CONTENTS

// Of constants, those that leave room for any product of two; beyond that 32-bit data would wrap
// around.
inline bool IsTame(const Dim& d) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return !d.is_constant() || (d.value() >= -kMost && d.value() <= kMost);
}

inline absl::Status NotShapeArithmetic() {
  return absl::UnimplementedError("not shape arithmetic");
}
// Empty for an input that a damaged graph lacks.
inline const Dims& KnownElements(const NodeImport& op, int i) {
  static const Dims& none = *new Dims;
  return op.HasContents(i) ? *op.InputInfo(i).contents : none;
}

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTENTS_CONTENTS_H_
