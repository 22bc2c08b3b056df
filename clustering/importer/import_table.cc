#include "clustering/importer/import_table.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tektite::importer {
namespace {

constexpr absl::string_view kAllInputs = "all";

std::vector<int> ParseIndices(absl::string_view text) {
  std::vector<int> indices;
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int index = 0;
    if (absl::SimpleAtoi(word, &index)) indices.push_back(index);
  }
  return indices;
}

absl::flat_hash_map<absl::string_view, ImportRule> MakeTable() {
  absl::flat_hash_map<absl::string_view, ImportRule> table;
#define TEKTITE_IMPORT(op, function, inputs) \
  table.emplace(#op, ImportRule{function, ParseIndices(inputs), inputs == kAllInputs});
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
  return table;
}

}  // namespace

bool ImportRule::NeedsValue(const graph_def::NodeDef& node, int input) const {
  int n = node.NumDataInputs();
  if (needs_all_values) return input < n;
  return std::any_of(compile_time_inputs.begin(), compile_time_inputs.end(),
                     [&](int i) { return input == (i < 0 ? i + n : i); });
}

const ImportRule* FindImportRule(absl::string_view op) {
  static const auto& table = *new absl::flat_hash_map<absl::string_view, ImportRule>(MakeTable());
  auto it = table.find(op);
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace tektite::importer
