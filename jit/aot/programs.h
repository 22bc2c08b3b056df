// Programs in C around a library, on request: one that tests it, and one that measures it.
//
//   WriteTestProgram(library, goldens)    // NAME_test.c: arguments, and results to expect
//   WriteBenchProgram(library)            // NAME_bench.c: the first call, and a usual one
//
// Arguments are pseudo-random by a rule that FillArgument and the programs share, so that no file
// has to hold them: floats from -1 to 1, integers 0 or 1, which are indices of nearly anything.
#ifndef TEKTITE_JIT_AOT_PROGRAMS_H_
#define TEKTITE_JIT_AOT_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "jit/aot/library.h"

namespace tektite::aot {

// Elements of argument number `number`.
std::string FillArgument(ir::DType dtype, int64_t elements, int number);

// What a call of the library at its typical sizes is to return.
struct Goldens {
  std::vector<std::string> results, state;  // bytes, in the header's order
};

std::string WriteTestProgram(const Library& library, const Goldens& goldens);
std::string WriteBenchProgram(const Library& library);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_PROGRAMS_H_
