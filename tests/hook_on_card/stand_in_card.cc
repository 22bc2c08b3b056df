#include "tests/hook_on_card/stand_in_card.h"

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::gpu {
extern "C" {
#define TEKTITE_DRIVER_FUNCTION(name, symbol, parameters) CuResult symbol parameters;
#include "backends/gpu/driver/driver_function_list.inc"
#undef TEKTITE_DRIVER_FUNCTION
}
}  // namespace tektite::gpu

namespace tektite::testing {
namespace {

void Check(gpu::CuResult result, const char* what) {
  if (result == gpu::kCuSuccess) return;
  std::fprintf(stderr, "stand-in card: %s: %d\n", what, result);
  std::abort();
}

class Scope {
 public:
  explicit Scope(gpu::CuContext context) { Check(gpu::cuCtxPushCurrent_v2(context), "push"); }
  ~Scope() {
    gpu::CuContext context = nullptr;
    Check(gpu::cuCtxPopCurrent_v2(&context), "pop");
  }
};

}  // namespace

int StandInCard::Count() {
  Check(gpu::cuInit(0), "cuInit");
  int count = 0;
  Check(gpu::cuDeviceGetCount(&count), "count");
  return count;
}

StandInCard& StandInCard::Get(int number) {
  static auto& cards = *[] {
    auto* const made = new std::vector<StandInCard*>;
    for (int n = 0; n < Count(); ++n) made->push_back(new StandInCard(n));
    return made;
  }();
  return *cards[static_cast<size_t>(number)];
}

StandInCard::StandInCard(int number) : number_(number) {
  Check(gpu::cuDevicePrimaryCtxRetain(&context_, number), "context");
  const Scope scope(context_);
  Check(gpu::cuStreamCreate(&stream_, gpu::kCuNonBlockingStream), "stream");
  gpu::CuMemoryPoolProperties properties;
  properties.location = number;
  Check(gpu::cuMemPoolCreate(&pool_, &properties), "pool");
}

void* StandInCard::Allocate(size_t bytes) {
  const Scope scope(context_);
  gpu::CuAddress address = 0;
  const gpu::CuResult result = gpu::cuMemAllocFromPoolAsync(&address, bytes, pool_, stream_);
  return result == gpu::kCuSuccess ? reinterpret_cast<void*>(address) : nullptr;
}

void StandInCard::Free(void* memory) {
  Tell([memory, this] {
    const Scope scope(context_);
    Check(gpu::cuMemFreeAsync(reinterpret_cast<gpu::CuAddress>(memory), stream_), "free");
  });
}

void* StandInCard::Reach(const void* memory, size_t bytes) {
  return FakeDriver::Opened().reach(reinterpret_cast<uint64_t>(memory), bytes);
}

void StandInCard::Tell(std::function<void()> work) {
  const Scope scope(context_);
  FakeDriver::Opened().tell(
      stream_,
      [work = std::move(work)] {
        work();
        return int{gpu::kCuSuccess};
      },
      0);
}

void StandInCard::Synchronize() {
  const Scope scope(context_);
  Check(gpu::cuStreamSynchronize(stream_), "wait");
}

int64_t StandInCard::Waits() {
  const FakeDriver& fake = FakeDriver::Opened();
  return fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize");
}

}  // namespace tektite::testing
