// A test that is skipped for a reason that tests/test_main.cc does not list: CTest expects this
// program to fail.
#include "gtest/gtest.h"

TEST(UnlistedSkip, MakesTheProgramFail) { GTEST_SKIP() << "for no reason that is listed"; }
