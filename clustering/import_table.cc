#include "clustering/import_table.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tektite::clustering {
namespace {

struct Row {
  absl::string_view op;
  absl::string_view compile_time;
};

constexpr Row kRows[] = {
#define TEKTITE_IMPORT(op, function, compile_time) {#op, compile_time},
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
};

using Table = absl::flat_hash_map<absl::string_view, ImportInfo>;

Table* MakeTable() {
  auto* table = new Table;
  for (const Row& row : kRows) {
    ImportInfo info;
    for (absl::string_view text : absl::StrSplit(row.compile_time, ',', absl::SkipWhitespace())) {
      int index = 0;
      if (absl::SimpleAtoi(text, &index)) info.compile_time.push_back(index);
    }
    table->emplace(row.op, std::move(info));
  }
  return table;
}

}  // namespace

const ImportInfo* FindImport(absl::string_view op) {
  static const Table* const table = MakeTable();  // never destroyed: threads may outlive main
  auto it = table->find(op);
  return it == table->end() ? nullptr : &it->second;
}

}  // namespace tektite::clustering
