// libcuda's functions for devices and memory, by the stand-in (fake_driver.h).
#include "tests/gpu/fake_driver/fake_driver.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include "tests/gpu/fake_driver/fake_call.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {
namespace {

bool IsPinned(const void* memory, size_t bytes) {
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto* const begin = static_cast<const char*>(memory);
  auto after = state.pinned.upper_bound(const_cast<void*>(memory));
  if (after == state.pinned.begin()) return false;
  const auto& [block, room] = *std::prev(after);
  return begin + bytes <= static_cast<const char*>(block) + room;
}

CuResult TellCopy(CuStream stream, Work work) {
  Of(stream)->Tell(std::move(work));
  return kCuSuccess;
}

}  // namespace

extern "C" {

CuResult cuInit(unsigned) {
  State& state = State::Get();
  ENTER(state.Enter("cuInit", false));
  state.process = getpid();
  return state.cards == 0 ? kCuNoDevice : kCuSuccess;
}

CuResult cuDriverGetVersion(int* version) {
  ENTER(State::Get().Enter("cuDriverGetVersion", false));
  *version = State::Get().version;
  return kCuSuccess;
}

CuResult cuGetErrorName(CuResult result, const char** name) {
  switch (result) {
    case kCuOutOfMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return kCuSuccess;
    case kCuLaunchFailed:
      *name = "CUDA_ERROR_LAUNCH_FAILED";
      return kCuSuccess;
    default:
      return kCuInvalidValue;
  }
}

CuResult cuGetErrorString(CuResult result, const char** sentence) {
  if (result != kCuLaunchFailed) return kCuInvalidValue;
  *sentence = "unspecified launch failure";
  return kCuSuccess;
}

CuResult cuDeviceGetCount(int* count) {
  ENTER(Enter("cuDeviceGetCount"));
  *count = State::Get().cards;
  return kCuSuccess;
}

CuResult cuDeviceGet(CuDevice* device, int number) {
  ENTER(Enter("cuDeviceGet"));
  *device = number;
  return number < State::Get().cards ? kCuSuccess : kInvalidDevice;
}

CuResult cuDeviceGetName(char* name, int bytes, CuDevice) {
  ENTER(Enter("cuDeviceGetName"));
  std::strncpy(name, "card that is not there", static_cast<size_t>(bytes));
  return kCuSuccess;
}

CuResult cuDeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice) {
  ENTER(Enter("cuDeviceGetAttribute"));
  State& state = State::Get();
  switch (attribute) {
    case kCuMultiprocessorCount:
      *value = 8;
      return kCuSuccess;
    case kCuCapabilityMajor:
      *value = state.major;
      return kCuSuccess;
    case kCuCapabilityMinor:
      *value = state.minor;
      return kCuSuccess;
    case kCuMemoryPoolsSupported:
      *value = 1;
      return kCuSuccess;
  }
  return kCuInvalidValue;
}

CuResult cuDeviceTotalMem_v2(size_t* bytes, CuDevice) {
  ENTER(Enter("cuDeviceTotalMem_v2"));
  *bytes = State::Get().card_bytes;
  return kCuSuccess;
}

CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  ENTER(Enter("cuDevicePrimaryCtxRetain"));
  *context = HandleOf<CuContext>(device);
  return kCuSuccess;
}

CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) { return Enter("cuDevicePrimaryCtxRelease_v2"); }

CuResult cuCtxPushCurrent_v2(CuContext context) {
  ENTER(Enter("cuCtxPushCurrent_v2"));
  contexts.push_back(context);
  return kCuSuccess;
}

CuResult cuCtxPopCurrent_v2(CuContext* context) {
  ENTER(Enter("cuCtxPopCurrent_v2"));
  if (contexts.empty()) return kInvalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return kCuSuccess;
}

CuResult cuMemPoolCreate(CuMemoryPool* pool, const CuMemoryPoolProperties* properties) {
  ENTER(Enter("cuMemPoolCreate"));
  if (properties->allocation_type != 1 || properties->location_type != 1) return kCuInvalidValue;
  *pool = HandleOf<CuMemoryPool>(properties->location);
  return kCuSuccess;
}

CuResult cuMemPoolDestroy(CuMemoryPool) { return Enter("cuMemPoolDestroy"); }

CuResult cuMemPoolSetAttribute(CuMemoryPool, CuMemoryPoolAttribute attribute, void*) {
  ENTER(Enter("cuMemPoolSetAttribute"));
  return attribute == kCuReleaseThreshold ? kCuSuccess : kCuInvalidValue;
}

CuResult cuMemPoolTrimTo(CuMemoryPool, size_t) { return Enter("cuMemPoolTrimTo"); }

CuResult cuMemAllocFromPoolAsync(CuAddress* address, size_t bytes, CuMemoryPool, CuStream stream) {
  ENTER(EnterOn("cuMemAllocFromPoolAsync", stream));
  State& state = State::Get();
  if (static_cast<size_t>(state.memory.held_bytes()) + bytes > state.card_bytes) {
    return kCuOutOfMemory;
  }
  *address = state.memory.Allocate(bytes);
  return *address == 0 ? kCuOutOfMemory : kCuSuccess;
}

CuResult cuMemFreeAsync(CuAddress address, CuStream stream) {
  ENTER(EnterOn("cuMemFreeAsync", stream));
  return State::Get().memory.Free(address) ? kCuSuccess : kCuInvalidValue;
}

CuResult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  ENTER(EnterContext("cuMemHostAlloc"));
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.pinned[*memory] = bytes;
  ++state.things;
  return kCuSuccess;
}

CuResult cuMemFreeHost(void* memory) {
  ENTER(EnterContext("cuMemFreeHost"));
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.pinned.erase(memory) == 0) return kCuInvalidValue;
  std::free(memory);
  --state.things;
  return kCuSuccess;
}

CuResult cuMemcpyHtoDAsync_v2(CuAddress to, const void* from, size_t bytes, CuStream stream) {
  ENTER(EnterOn("cuMemcpyHtoDAsync_v2", stream));
  if (!IsPinned(from, bytes)) return kCuInvalidValue;
  return TellCopy(stream, [=] {
    void* const reached = State::Get().memory.Reach(to, bytes);
    if (reached == nullptr) return static_cast<int>(kCuIllegalAddress);
    std::memcpy(reached, from, bytes);
    return static_cast<int>(kCuSuccess);
  });
}

CuResult cuMemcpyDtoHAsync_v2(void* to, CuAddress from, size_t bytes, CuStream stream) {
  ENTER(EnterOn("cuMemcpyDtoHAsync_v2", stream));
  if (!IsPinned(to, bytes)) return kCuInvalidValue;
  return TellCopy(stream, [=] {
    const void* const reached = State::Get().memory.Reach(from, bytes);
    if (reached == nullptr) return static_cast<int>(kCuIllegalAddress);
    std::memcpy(to, reached, bytes);
    return static_cast<int>(kCuSuccess);
  });
}

CuResult cuMemcpyDtoDAsync_v2(CuAddress to, CuAddress from, size_t bytes, CuStream stream) {
  ENTER(EnterOn("cuMemcpyDtoDAsync_v2", stream));
  return TellCopy(stream, [=] {
    void* const target = State::Get().memory.Reach(to, bytes);
    const void* const source = State::Get().memory.Reach(from, bytes);
    if (target == nullptr || source == nullptr) return static_cast<int>(kCuIllegalAddress);
    std::memcpy(target, source, bytes);
    return static_cast<int>(kCuSuccess);
  });
}

}  // extern "C"

}  // namespace tektite::gpu::fake
