// The parts of a library's data that each call reads from one end to the other.
//
//   for (auto [begin, end] : RangesReadWhole(library)) ...   // bytes of library.data
//
// Why: such pages are best made ready all at once (backends/cpu/aot/page_code.h).  A table of which
// calls look up a few rows is none of them.
#ifndef TEKTITE_JIT_AOT_READ_RANGES_H_
#define TEKTITE_JIT_AOT_READ_RANGES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/aot/library.h"

namespace tektite::aot {

// Ascending; ranges between which there is less than a megabyte are one.
std::vector<std::pair<int64_t, int64_t>> RangesReadWhole(const Library& library);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_READ_RANGES_H_
