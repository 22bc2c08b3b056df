// What clustering knows of the importer: which ops it takes, and which inputs it needs the values
// of.
//
//   const ImportInfo* info = FindImport("Sum");  // compile_time = {1}; nullptr for other ops
//
// The table is importer/import_list.inc; the functions it names are the importer's own matter.
#ifndef TEKTITE_CLUSTERING_IMPORT_TABLE_H_
#define TEKTITE_CLUSTERING_IMPORT_TABLE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::clustering {

struct ImportInfo {
  std::vector<int> compile_time;  // -1: the last data input
};

const ImportInfo* FindImport(absl::string_view op);

// Calls `fn(input index)` for each compile-time input that `node` really has.
template <typename Fn>
void ForEachCompileTimeInput(const graph_def::NodeDef& node, const ImportInfo& info, Fn&& fn) {
  if (info.compile_time.empty()) return;
  const int inputs = node.NumDataInputs();
  for (int index : info.compile_time) {
    const int input = index < 0 ? inputs + index : index;
    if (input >= 0 && input < inputs) fn(input);
  }
}

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_IMPORT_TABLE_H_
