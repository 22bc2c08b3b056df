#include "jit/runtime/loader.h"

namespace tektite::runtime {
namespace {

// How long a worker looks for the next call before it returns to the host, which takes 70 to 150 us
// to wake it again.
constexpr int64_t kSpinNs = 300'000;

}  // namespace

std::shared_ptr<Executable> Loader::Load(StepGraph steps, Options options) const {
  Executable::Options made;
  made.arenas = arenas_;
  made.weights = options.weights == nullptr ? NewWeightStore() : std::move(options.weights);
  made.roles = std::move(options.roles);
  made.spin_ns = kSpinNs;
  made.profile = options.profile;
  return Executable::Create(std::move(steps), std::move(made));
}

void Loader::WaitForStream(void* host_stream) {
  backend::StreamOptions options;
  options.host_stream = host_stream;
  const auto wait = [](backend::Stream& stream) { return stream.Synchronize(); };
  arenas_->device()->WithStream(options, wait).IgnoreError();
}

}  // namespace tektite::runtime
