// Results of work that depends on a text alone, kept for texts that come again.
//
//   RepeatCache<Replacement> cache;
//   std::shared_ptr<const Replacement> known = cache.Find(key);
//   if (known == nullptr) {
//     ... work ...
//     cache.Offer(key, result);
//   }
//
// Most texts come once, and keeping their results would only take memory: one is kept when its text
// is offered for the second time.  Texts are compared in full, so two different ones are never
// confused.  Thread-safe.  Limits: the last 32 that were used are kept; the second time is noticed
// when fewer than 256 other texts came between.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REPEAT_CACHE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REPEAT_CACHE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tektite::tf_hook {

template <typename Result>
class RepeatCache {
 public:
  static constexpr size_t kMostKept = 32;
  static constexpr size_t kMostRemembered = 256;

  // Null when nothing is kept for this text.
  std::shared_ptr<const Result> Find(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = FindKept(text);
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().result;
  }

  // Equal texts have equal results: it does not matter whose result is kept.
  void Offer(std::string text, std::shared_ptr<const Result> result) {
    const size_t hash = std::hash<std::string>()(text);
    std::list<Kept> one_too_many;  // destroyed when the mutex is free
    const std::lock_guard<std::mutex> lock(mutex_);
    // Another text of that hash is kept sooner, which does no harm.
    if (std::find(remembered_.begin(), remembered_.end(), hash) == remembered_.end()) {
      remembered_[next_++ % kMostRemembered] = hash;
      return;
    }
    if (FindKept(text) != kept_.end()) return;
    kept_.push_front({std::move(text), std::move(result)});
    if (kept_.size() > kMostKept) {
      one_too_many.splice(one_too_many.end(), kept_, std::prev(kept_.end()));
    }
  }

 private:
  struct Kept {
    std::string text;
    std::shared_ptr<const Result> result;
  };

  typename std::list<Kept>::iterator FindKept(const std::string& text) {
    return std::find_if(kept_.begin(), kept_.end(),
                        [&](const Kept& one) { return one.text == text; });
  }

  std::mutex mutex_;
  std::list<Kept> kept_;                                 // the last used first
  std::array<size_t, kMostRemembered> remembered_ = {};  // hashes of texts
  size_t next_ = 0;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REPEAT_CACHE_H_
