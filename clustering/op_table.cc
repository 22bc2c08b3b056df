#include "clustering/op_table.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tektite::clustering {
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

// The rows name enumerators of OpFacts as its members do.
struct Rows : OpFacts {
  using Table = absl::flat_hash_map<absl::string_view, OpFacts>;

  static Table MakeTable() {
    Table table;
    int row = 0;
#define TEKTITE_IMPORT(op, function, inputs, work, traits)                              \
  table.emplace(#op, OpFacts{Kind::kCompiled, Work::work, traits, ParseIndices(inputs), \
                             inputs == kAllInputs, row++});
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
    row = 0;
#define TEKTITE_COMPLEX(op, function) table.at(#op).complex_row = row++;
#include "clustering/importer/math/complex_list.inc"
#undef TEKTITE_COMPLEX
#define TEKTITE_HOST_OP(op, kind, traits) \
  table.emplace(#op, OpFacts{Kind::kind, Work::kNone, traits});
#include "clustering/host_op_list.inc"
#undef TEKTITE_HOST_OP
    return table;
  }
};

}  // namespace

bool OpFacts::NeedsValue(int input, int num_data_inputs) const {
  if (needs_all_values) return input < num_data_inputs;
  return std::any_of(compile_time_inputs.begin(), compile_time_inputs.end(),
                     [&](int i) { return input == (i < 0 ? i + num_data_inputs : i); });
}

const OpFacts& FactsOf(absl::string_view op) {
  static const auto& table = *new Rows::Table(Rows::MakeTable());
  static const auto& unlisted = *new OpFacts;
  const auto it = table.find(op);
  return it == table.end() ? unlisted : it->second;
}

}  // namespace tektite::clustering
