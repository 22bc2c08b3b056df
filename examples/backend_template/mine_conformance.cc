// The conformance suite on this back end.
#include "mine_backend.h"
#include "tests/conformance/one_target.h"

std::unique_ptr<tektite::backend::Backend> tektite::testing::CreateBackendUnderTest() {
  return mine::CreateMine();
}
