// From a choice of symbols for the words of a call's key (shape_history.h) to the arguments and
// sizes that code is made from.
//
//   WithSymbols(args, words, key, symbols)    // f32[8,4] becomes f32[s0,4]
//   SymbolSizes(key, symbols)                 // {"s0": 8}
#ifndef TEKTITE_JIT_SERVING_CLUSTER_SYMBOLS_H_
#define TEKTITE_JIT_SERVING_CLUSTER_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/serving/call_key.h"
#include "jit/serving/graph_source.h"
#include "jit/serving/shape_history.h"

namespace tektite::serving {

std::string SizeSymbol(int number);
// The arguments with symbols for the words of the key that have one.
std::vector<ArgInfo> WithSymbols(std::vector<ArgInfo> args, absl::Span<const KeyWord> words,
                                 const CallKey& key, const std::vector<int>& symbols);
std::map<std::string, int64_t> SymbolSizes(const CallKey& key, const std::vector<int>& symbols);

// The note kept on disk with a generic program: which choice of several it was made for, and which
// calls it serves.  With a refusal, which calls it holds for.
std::string GenericNote(size_t choice, const ShapeRules& rules);
bool ReadGenericNote(absl::string_view note, size_t* choice, ShapeRules* rules);

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_CLUSTER_SYMBOLS_H_
