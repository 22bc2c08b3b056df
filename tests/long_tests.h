// scripts/test --long: everything that the tests take turns with otherwise.
#ifndef TEKTITE_TESTS_LONG_TESTS_H_
#define TEKTITE_TESTS_LONG_TESTS_H_

#include <cstdlib>

namespace tektite {

inline bool TestsAreLong() {
  static const bool are_long = std::getenv("TEKTITE_TEST_LONG") != nullptr;
  return are_long;
}

}  // namespace tektite

#endif  // TEKTITE_TESTS_LONG_TESTS_H_
