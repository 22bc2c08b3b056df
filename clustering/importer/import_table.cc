#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

constexpr ImportFunction kFunctions[] = {
#define TEKTITE_IMPORT(op, function, inputs, work, traits) function,
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
};

constexpr ImportFunction kComplexFunctions[] = {
#define TEKTITE_COMPLEX(op, function) function,
#include "clustering/importer/math/complex_list.inc"
#undef TEKTITE_COMPLEX
};

}  // namespace

ImportFunction ImportFunctionOf(const clustering::OpFacts& facts) {
  return facts.import_row < 0 ? nullptr : kFunctions[facts.import_row];
}

ImportFunction ComplexImportFunctionOf(const clustering::OpFacts& facts) {
  if (facts.complex_row >= 0) return kComplexFunctions[facts.complex_row];
  // Loops, branches and calls hand values on.
  const bool knows =
      facts.Is(clustering::OpFacts::kOfComplex) || facts.Is(clustering::OpFacts::kRunsFunctions);
  return knows ? ImportFunctionOf(facts) : nullptr;
}

}  // namespace tektite::importer
