// Shape arithmetic: integer ops on tensors whose elements are known as dimension expressions.
//
//   strided_slice(shape(x), 0, 1) * 2   with x: f32[n,768]   has the contents {2*n}
//
// Limits: s32 and s64 of at most kMaxContents elements; ops that would need to know a sign or an
// order of symbolic sizes are left to ordinary import.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTENTS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTENTS_H_

#include "absl/strings/string_view.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// If every input's elements are known and the op is understood, sets the results and is true.
bool FoldContents(NodeImport& op);

// Whether the op's results are known when its inputs are, so that a need for the one is a need for
// the others.
bool ContentsComeFromContents(absl::string_view op);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTENTS_H_
