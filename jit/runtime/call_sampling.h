// Which calls a profile measures, and how many calls each of them stands for.
//
// Example(std::atomic<int64_t>& calls, int64_t (*clock)(), int64_t (*run)()):
//   #include <atomic>
//   const int weight = WeightOfCall(calls.fetch_add(1));
//   const int64_t began = weight > 0 ? clock() : 0;
//   const int64_t ended = run();
//   const int64_t all = weight > 0 ? weight * (ended - began) : 0;
//
// Why: two readings of a clock take 50 ns, and the shortest calls 2 us.
#ifndef TEKTITE_JIT_RUNTIME_CALL_SAMPLING_H_
#define TEKTITE_JIT_RUNTIME_CALL_SAMPLING_H_

#include <cstdint>

namespace tektite::runtime {

// Of the call with this number, from 0; 0: it is not measured.  All of the first are, then every
// eighth, and in the long run one of 64.
inline int WeightOfCall(int64_t call) {
  constexpr int64_t kAll = 100, kMany = 1000;
  constexpr int kOneOfMany = 8, kOneIn = 64;
  if (call < kAll) return 1;
  const int one_in = call < kMany ? kOneOfMany : kOneIn;
  return call % one_in == 0 ? one_in : 0;
}

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_CALL_SAMPLING_H_
