// The functions that import TensorFlow ops, by the rows of import_list.inc.
//
//   const ImportFunction import = ImportFunctionOf(index.facts(node));
//   if (import == nullptr) ...      // the op cannot be imported
//   TEKTITE_RETURN_IF_ERROR(import(op));
//
// The list's other columns are clustering/op_table.h's.
#ifndef TEKTITE_CLUSTERING_IMPORTER_IMPORT_TABLE_H_
#define TEKTITE_CLUSTERING_IMPORTER_IMPORT_TABLE_H_

#include "absl/status/status.h"
#include "clustering/importer/node_import.h"
#include "clustering/op_table.h"

namespace tektite::importer {

#define TEKTITE_IMPORT(op, function, inputs, work, traits) \
  absl::Status function(NodeImport& op_import);
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT

// Those of complex numbers (complex_list.inc, complex.h).
#define TEKTITE_COMPLEX(op, function) absl::Status function(NodeImport& op_import);
#include "clustering/importer/math/complex_list.inc"
#undef TEKTITE_COMPLEX

using ImportFunction = absl::Status (*)(NodeImport& op);

// nullptr when the op cannot be imported.
ImportFunction ImportFunctionOf(const clustering::OpFacts& facts);
// The same where an operand or a result is complex.
ImportFunction ComplexImportFunctionOf(const clustering::OpFacts& facts);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_IMPORT_TABLE_H_
