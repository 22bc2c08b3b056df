// Which parts of a cluster's calls differ from call to call, and which generic code serves a call.
//
//   ShapeHistory history(KeyLayout(source, call));
//   history.Observe(key);                                    // every new key
//   // A symbol for each word of the key, or -1: -1, -1, 0, 1, -1, 0.
//   std::vector<int> symbols = history.ChooseSymbols(key, choice);
//   TEKTITE_ASSIGN_OR_RETURN(ShapeRules rules, ShapeRules::Of(graph, words, key));
//   rules.Match(other_key)                                   // that graph's code serves this call
//
// A size becomes a symbol when it has differed between calls, or when the graph says that it may.
// Sizes that have always been equal to each other share a symbol (the batch of two inputs), so that
// code need not ask; when they differ one day, rules do not match and other code is made.  A size
// that has always been 1 stays 1: it is what broadcasting looks at.
#ifndef TEKTITE_JIT_SERVING_SHAPE_HISTORY_H_
#define TEKTITE_JIT_SERVING_SHAPE_HISTORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/base/bytes.h"
#include "jit/ir/graph.h"
#include "jit/serving/call_key.h"

namespace tektite::serving {

class ShapeHistory {
 public:
  // `sizes[i]`: what the graph says of word i.
  ShapeHistory(std::vector<KeyWord> words, std::vector<GraphSource::Size> sizes)
      : words_(std::move(words)), sizes_(std::move(sizes)) {}

  const std::vector<KeyWord>& words() const { return words_; }
  // Keys of calls with this layout.
  void Observe(const CallKey& key);

  struct Choice {
    bool everything = false;  // every size but those of weights
    bool elements = true;     // elements of arguments, not only sizes
    bool ones = true;         // sizes that are 1 in this call, if they have not always been
    bool leading = false;     // first dimensions only, those that are 1 with `everything`
  };
  // By word: the number of its symbol, or -1.  All -1: nothing is known to vary.
  std::vector<int> ChooseSymbols(const CallKey& key, const Choice& choice) const;

 private:
  std::vector<KeyWord> words_;
  std::vector<GraphSource::Size> sizes_;
  CallKey first_;
  std::vector<bool> varies_;
  std::vector<int> class_of_;  // words of a class have had equal values in every call
};

// Which keys a graph's code serves.
class ShapeRules {
 public:
  // From the parameters of a graph made for `key`: constant dimensions and elements must be as they
  // are, symbols may be anything from 1 up.  Unimplemented when a dimension is neither.
  static absl::StatusOr<ShapeRules> Of(const ir::Graph& graph, absl::Span<const KeyWord> words,
                                       const CallKey& key);
  // Those that are equal to `key`.
  static ShapeRules Exactly(const CallKey& key);
  bool Match(const CallKey& key) const;
  int num_symbols() const { return num_symbols_; }

  void Write(ByteWriter* out) const;
  bool Read(ByteReader* in);  // false for bytes that are no rules

 private:
  struct Rule {
    int symbol = -1;
    int64_t value = 0;  // without a symbol
  };
  std::vector<Rule> rules_;  // by word
  int num_symbols_ = 0;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_SHAPE_HISTORY_H_
