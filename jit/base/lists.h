// Questions about lists of numbers, such as dimensions and strides.
//
//   Contains(dims, 2)      AllAre(strides, 1)      CountsUp(permutation)
#ifndef TEKTITE_JIT_BASE_LISTS_H_
#define TEKTITE_JIT_BASE_LISTS_H_

#include <algorithm>

namespace tektite {

template <typename List, typename Value>
bool Contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

template <typename List, typename Value>
bool AllAre(const List& list, const Value& value) {
  return std::all_of(list.begin(), list.end(), [&](const auto& v) { return v == value; });
}

// Whether it is 0, 1, 2, ...
template <typename List>
bool CountsUp(const List& list) {
  auto next = typename List::value_type{0};
  return std::all_of(list.begin(), list.end(), [&](const auto& v) { return v == next++; });
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_LISTS_H_
