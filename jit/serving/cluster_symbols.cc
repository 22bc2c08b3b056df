#include "jit/serving/cluster_symbols.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tektite::serving {

using ir::Dim;

std::string SizeSymbol(int number) { return absl::StrCat("s", number); }

std::vector<ArgInfo> WithSymbols(std::vector<ArgInfo> args, absl::Span<const KeyWord> words,
                                 const CallKey& key, const std::vector<int>& symbols) {
  for (size_t i = 0; i < words.size(); ++i) {
    const KeyWord& word = words[i];
    ArgInfo& arg = args[word.argument];
    if (word.kind == KeyWord::Kind::kDimension && symbols[i] >= 0) {
      arg.shape.set_dim(word.index, Dim::Symbol(SizeSymbol(symbols[i])));
    } else if (word.kind == KeyWord::Kind::kElement) {
      if (!arg.elements) arg.elements.emplace();
      arg.elements->push_back(symbols[i] < 0 ? Dim(key[i]) : Dim::Symbol(SizeSymbol(symbols[i])));
    }
  }
  for (ArgInfo& arg : args) {
    if (!arg.elements) continue;
    bool symbolic = false;
    for (const Dim& d : *arg.elements) symbolic |= !d.is_constant();
    if (symbolic) {
      arg.value.reset();
    } else {
      arg.elements.reset();
    }
  }
  return args;
}

std::map<std::string, int64_t> SymbolSizes(const CallKey& key, const std::vector<int>& symbols) {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < key.size(); ++i) {
    if (symbols[i] >= 0) sizes[SizeSymbol(symbols[i])] = key[i];
  }
  return sizes;
}

std::string GenericNote(size_t choice, const ShapeRules& rules) {
  ByteWriter note;
  note.U64(choice);
  rules.Write(&note);
  return note.Take();
}

bool ReadGenericNote(absl::string_view note, size_t* choice, ShapeRules* rules) {
  ByteReader in(note);
  *choice = in.U64();
  return rules->Read(&in) && in.AtEnd();
}

}  // namespace tektite::serving
