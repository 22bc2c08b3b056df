// The suite's target in a project of a back end of its own: link one_target.cc, and define
// CreateBackendUnderTest.
//
//   std::unique_ptr<backend::Backend> tektite::testing::CreateBackendUnderTest() {
//     return CreateMine();
//   }
//
// What the back end refuses (Unimplemented) is no failure: the interpreter computes it.  The
// program says at its end how many tests ran without that, and names the others.
#ifndef TEKTITE_TESTS_CONFORMANCE_ONE_TARGET_H_
#define TEKTITE_TESTS_CONFORMANCE_ONE_TARGET_H_

#include <memory>

#include "jit/backend/backend.h"

namespace tektite::testing {

std::unique_ptr<backend::Backend> CreateBackendUnderTest();

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_ONE_TARGET_H_
