// The conformance suite on kernels in C.
#include "c_backend.h"
#include "tests/conformance/one_target.h"

std::unique_ptr<tektite::backend::Backend> tektite::testing::CreateBackendUnderTest() {
  return backend_c::CreateBackendC();
}
