// Requirements on every input of a fuzz target.  Where one does not hold, the process ends, which a
// fuzzer reports as a crash with the input.
//
//   Require(again.ok(), "what was printed parses");
//
// Limits: for fuzz targets alone; tests use GoogleTest.
#ifndef TEKTITE_TESTS_FUZZ_REQUIRE_H_
#define TEKTITE_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

namespace tektite::testing {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_FUZZ_REQUIRE_H_
