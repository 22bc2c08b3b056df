// In the place of runtime_hooks/c_api/backend_list.cc: the back end for cards has those of the
// stand-in driver, whose kernels the device interpreter computes.
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#include "jit/base/status.h"
#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::c_api {
namespace {

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateOnStandIn(const Flags& flags) {
  int number = 0;
  if (!absl::SimpleAtoi(absl::StripPrefix(flags.device, "gpu:"), &number)) {
    return absl::InvalidArgumentError(flags.device);
  }
  TEKTITE_ASSIGN_OR_RETURN(const gpu::Driver* const driver,
                           gpu::Driver::Open(testing::FakeDriver::path()));
  TEKTITE_ASSIGN_OR_RETURN(std::shared_ptr<gpu::Card> card, gpu::Card::Open(driver, number));
  gpu::CardOptions options;
  options.hook = testing::InterpretOnFakeDriver();
  return gpu::CreateCardBackend(std::move(card), /*assembler=*/nullptr, std::move(options));
}

}  // namespace

compiler::BackendList AllBackends() {
  static constexpr compiler::BackendInfo kBackends[] = {
      {"gpu", &CreateOnStandIn, /*is_for_card=*/true, &gpu::DescribeImage},
      {"cpu", &cpu::CreateCpuBackend},
      {compiler::kReference, &reference::ReferenceBackend::Create},
  };
  return {kBackends, &reference::Evaluate};
}

absl::StatusOr<std::unique_ptr<aot::CodeWriter>> LibraryWriter(const std::string& cpu,
                                                               const Flags& flags) {
  return absl::UnimplementedError("no libraries on a stand-in");
}

std::string DescribeImage(absl::string_view backend, absl::string_view image) { return ""; }

}  // namespace tektite::c_api
