#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

constexpr ImportFunction kFunctions[] = {
#define TEKTITE_IMPORT(op, function, inputs, work, traits) function,
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
};

}  // namespace

ImportFunction ImportFunctionOf(const clustering::OpFacts& facts) {
  return facts.import_row < 0 ? nullptr : kFunctions[facts.import_row];
}

}  // namespace tektite::importer
