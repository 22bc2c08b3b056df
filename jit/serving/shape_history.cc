#include "jit/serving/shape_history.h"

#include <set>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "jit/base/status.h"

namespace tektite::serving {

using Kind = KeyWord::Kind;

void ShapeHistory::Observe(const CallKey& key) {
  if (first_.empty()) {
    first_ = key;
    varies_.assign(key.size(), false);
    class_of_.assign(key.size(), 0);
  }
  std::map<std::pair<int, int64_t>, int> classes;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] != first_[i]) varies_[i] = true;
    const std::pair<int, int64_t> next{class_of_[i], key[i]};
    class_of_[i] = classes.try_emplace(next, static_cast<int>(classes.size())).first->second;
  }
}

std::vector<int> ShapeHistory::ChooseSymbols(const CallKey& key, const Choice& choice) const {
  std::vector<int> symbols(key.size(), -1);
  std::map<int, int> of_class;
  for (size_t i = 0; i < key.size(); ++i) {
    const KeyWord& word = words_[i];
    const bool size = word.kind == Kind::kDimension && !word.versioned;
    if (!size && !(word.kind == Kind::kElement && choice.elements)) continue;
    if (sizes_[i] == GraphSource::Size::kFixed) continue;
    const bool open =
        varies_[i] || (size && (sizes_[i] == GraphSource::Size::kVaries || choice.everything));
    if (!open || key[i] < 1 || (choice.leading && word.index != 0)) continue;
    const bool one = choice.leading && choice.everything;
    if (key[i] == 1 && !one && (!varies_[i] || !choice.ones)) continue;
    symbols[i] =
        of_class.try_emplace(class_of_[i], static_cast<int>(of_class.size())).first->second;
  }
  return symbols;
}

absl::StatusOr<ShapeRules> ShapeRules::Of(const ir::Graph& graph, absl::Span<const KeyWord> words,
                                          const CallKey& key) {
  ShapeRules rules;
  std::map<std::string, int> numbers;
  for (size_t i = 0; i < words.size(); ++i) {
    const KeyWord& word = words[i];
    const ir::Node& parameter = *graph.parameter(word.argument);
    const ir::Dims* dims = nullptr;
    if (word.kind == Kind::kDimension) dims = &parameter.shape().dims();
    if (word.kind == Kind::kElement) dims = &parameter.attrs().GetDims(ir::Attr::sizes);
    Rule rule{-1, key[i]};
    if (dims != nullptr && word.index < static_cast<int>(dims->size())) {
      const ir::Dim& d = (*dims)[word.index];
      std::set<std::string> names;
      d.CollectSymbols(&names);
      if (names.size() > 1 || (names.size() == 1 && d != ir::Dim::Symbol(*names.begin()))) {
        return Unimplemented("argument ", word.argument, " has a size of ", d.ToString());
      }
      if (names.empty()) {
        rule.value = d.value();
      } else {
        rule.symbol =
            numbers.try_emplace(*names.begin(), static_cast<int>(numbers.size())).first->second;
      }
    }
    rules.rules_.push_back(rule);
  }
  rules.num_symbols_ = static_cast<int>(numbers.size());
  return rules;
}

ShapeRules ShapeRules::Exactly(const CallKey& key) {
  ShapeRules rules;
  for (int64_t value : key) rules.rules_.push_back({-1, value});
  return rules;
}

bool ShapeRules::Match(const CallKey& key) const {
  if (key.size() != rules_.size()) return false;
  absl::InlinedVector<int64_t, 16> values(num_symbols_, 0);
  for (size_t i = 0; i < key.size(); ++i) {
    const Rule& rule = rules_[i];
    if (rule.symbol < 0) {
      if (key[i] != rule.value) return false;
      continue;
    }
    int64_t& value = values[rule.symbol];
    if (value == 0) value = key[i];
    if (key[i] < 1 || value != key[i]) return false;
  }
  return true;
}

void ShapeRules::Write(ByteWriter* out) const {
  out->U32(static_cast<uint32_t>(num_symbols_));
  out->U64(rules_.size());
  for (const Rule& rule : rules_) {
    out->U32(static_cast<uint32_t>(rule.symbol + 1));
    out->I64(rule.value);
  }
}

bool ShapeRules::Read(ByteReader* in) {
  const uint32_t symbols = in->U32();
  rules_.resize(in->Count(sizeof(uint32_t) + sizeof(int64_t)));
  for (Rule& rule : rules_) {
    const uint32_t symbol = in->U32();
    if (symbol > symbols) return false;
    rule.symbol = static_cast<int>(symbol) - 1;
    rule.value = in->I64();
  }
  num_symbols_ = static_cast<int>(symbols);
  return in->ok() && symbols <= rules_.size();
}

}  // namespace tektite::serving
