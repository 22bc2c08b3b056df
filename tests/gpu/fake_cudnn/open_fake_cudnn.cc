// How tests reach the stand-in for cuDNN.
#include "tests/gpu/fake_cudnn/fake_cudnn.h"
#include "tests/gpu/open_stand_in.h"

namespace tektite::testing {

const char* FakeCudnn::path() { return TEKTITE_FAKE_CUDNN_FILE; }

const FakeCudnn& FakeCudnn::Opened() {
  static const FakeCudnn& fake = OpenStandIn<FakeCudnn>(path(), "fake_cudnn_controls");
  return fake;
}

}  // namespace tektite::testing
