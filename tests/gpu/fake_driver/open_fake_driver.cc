// How tests reach the stand-in driver.
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/gpu/open_stand_in.h"

namespace tektite::testing {

const char* FakeDriver::path() { return TEKTITE_FAKE_DRIVER_FILE; }

const FakeDriver& FakeDriver::Opened() {
  static const FakeDriver& fake = OpenStandIn<FakeDriver>(path(), "fake_driver_controls");
  return fake;
}

}  // namespace tektite::testing
