// Loops over all elements of tensors at once, for functions by series and continued fractions.
//
//   // sums[i] = 1 + x[i] + x[i]^2 + ...
//   const Step step = [](FuncBuilder& r, const Values& s, const Values& fixed) {
//     const Value term = r.Mul(s[0], fixed[0]), sum = r.Add(s[1], term);
//     return Turn{{term, sum}, r.Not(IsSettled(r, term, sum))};
//   };
//   const Value sums = Iterate(b, {one, one}, {x}, step)[1];
//
// A loop ends when no element goes on, so all of them take as many turns as the slowest one.
// Limits: kMostTurns, which is TensorFlow's own bound for such series.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_ELEMENT_LOOPS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_ELEMENT_LOOPS_H_

#include <functional>
#include <vector>

#include "clustering/importer/tensor_info.h"

namespace tektite::importer {

inline constexpr int kMostTurns = 2000;

using Values = std::vector<Value>;

// A turn: the state after it and which elements go on, from the state and what no turn changes.
struct Turn {
  Values state;
  Value goes_on;  // bool
};
using Step = std::function<Turn(FuncBuilder& b, const Values& state, const Values& fixed)>;

// The state in the end; null values where the builder has failed.
Values Iterate(FuncBuilder& b, const Values& state, const Values& fixed, const Step& step);

// bool: a change too small to matter beside `of`, in results that are rounded to 24 bits.
Value IsSettled(FuncBuilder& b, Value change, Value of);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_ELEMENT_LOOPS_H_
