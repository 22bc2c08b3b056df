// How tests reach the stand-in for cuBLASLt.
#include "tests/gpu/fake_cublaslt/fake_cublaslt.h"
#include "tests/gpu/open_stand_in.h"

namespace tektite::testing {

const char* FakeCublasLt::path() { return TEKTITE_FAKE_CUBLASLT_FILE; }

const FakeCublasLt& FakeCublasLt::Opened() {
  static const FakeCublasLt& fake = OpenStandIn<FakeCublasLt>(path(), "fake_cublaslt_controls");
  return fake;
}

}  // namespace tektite::testing
