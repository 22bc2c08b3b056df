// The table of TensorFlow ops that can be imported: import_list.inc as code.
//
//   if (const ImportRule* rule = FindImportRule("Reshape")) rule->compile_time_inputs;  // {1}
#ifndef TEKTITE_CLUSTERING_IMPORTER_IMPORT_TABLE_H_
#define TEKTITE_CLUSTERING_IMPORTER_IMPORT_TABLE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clustering/graph_def/graph_def.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

#define TEKTITE_IMPORT(op, function, inputs) absl::Status function(NodeImport& op_import);
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT

struct ImportRule {
  absl::Status (*import)(NodeImport& op);
  // Data inputs whose value is needed; negative ones count from the last.
  std::vector<int> compile_time_inputs;
  bool needs_all_values = false;

  bool NeedsValue(const graph_def::NodeDef& node, int input) const;
};

// nullptr when the op cannot be imported.
const ImportRule* FindImportRule(absl::string_view op);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_IMPORT_TABLE_H_
