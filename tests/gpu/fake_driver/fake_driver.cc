// libcuda's functions, by the stand-in (fake_driver.h).
#include "tests/gpu/fake_driver/fake_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/gpu/driver/driver_types.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {
namespace {

constexpr CuResult kNotFound = 500, kInvalidHandle = 400, kNotInitialized = 3,
                   kInvalidContext = 201, kInvalidDevice = 101, kCaptureUnsupported = 900,
                   kNotReady = 600;

// Shared memory of a block of the newest cards, and what a multiprocessor keeps for each block.
constexpr int kMostShared = 227 << 10, kOfABlock = 1 << 10;

thread_local std::vector<CuContext> contexts;

// A pool is its device's number, and so is a context, from 1.
template <typename Handle>
Handle HandleOf(int number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number) + 1);
}

Stream* Of(CuStream stream) { return reinterpret_cast<Stream*>(stream); }

bool IsPinned(const void* memory, size_t bytes) {
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto* const begin = static_cast<const char*>(memory);
  auto after = state.pinned.upper_bound(const_cast<void*>(memory));
  if (after == state.pinned.begin()) return false;
  const auto& [block, room] = *std::prev(after);
  return begin + bytes <= static_cast<const char*>(block) + room;
}

// What must be true of a call on a stream beside its own arguments.
int EnterOn(const char* symbol, CuStream stream) {
  if (const int result = State::Get().Enter(symbol, /*wants_context=*/true)) return result;
  if (contexts.empty()) return kInvalidContext;
  return stream == nullptr ? kInvalidHandle : kCuSuccess;
}

int EnterContext(const char* symbol) {
  if (const int result = State::Get().Enter(symbol, /*wants_context=*/true)) return result;
  return contexts.empty() ? kInvalidContext : kCuSuccess;
}

int Enter(const char* symbol) {
  State& state = State::Get();
  if (const int result = state.Enter(symbol, /*wants_context=*/false)) return result;
  return state.process == 0 ? kNotInitialized : kCuSuccess;
}

#define ENTER(how)                                            \
  do {                                                        \
    if (const int result = (how); result != 0) return result; \
  } while (false)

CuResult TellCopy(CuStream stream, Work work) {
  Of(stream)->Tell(std::move(work));
  return kCuSuccess;
}

template <typename T>
CuResult Made(T** handle, T* thing) {
  *handle = thing;
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.made.insert(thing);
  ++state.things;
  return kCuSuccess;
}

template <typename T>
CuResult Gone(T* thing) {
  {
    State& state = State::Get();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.made.erase(thing) == 0) return kCuInvalidValue;
    --state.things;
  }
  delete thing;
  return kCuSuccess;
}

int RunKernel(const Function& function, unsigned blocks, unsigned threads, CuAddress frame) {
  State& state = State::Get();
  FakeRunner runner;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    runner = state.runner;
  }
  const void* const words = state.memory.Reach(frame, sizeof(uint64_t));
  if (words == nullptr) return kCuIllegalAddress;
  ++state.launches;
  Stream::Pass(state.launch_microseconds);
  if (runner == nullptr) return kCuSuccess;
  const bool ended_well = runner({function.name.c_str(), function.image, blocks, threads,
                                  static_cast<const uint64_t*>(words), state.memory.Room(frame)});
  return ended_well ? kCuSuccess : kCuLaunchFailed;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))
#define TEKTITE_DRIVER_FUNCTION(name, symbol, parameters) EXPORT CuResult symbol parameters;
#include "backends/gpu/driver/driver_function_list.inc"
#undef TEKTITE_DRIVER_FUNCTION

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

CuResult cuStreamCreate(CuStream* stream, unsigned) {
  ENTER(EnterContext("cuStreamCreate"));
  return Made(reinterpret_cast<Stream**>(stream), new Stream());
}

CuResult cuStreamDestroy_v2(CuStream stream) {
  ENTER(EnterOn("cuStreamDestroy_v2", stream));
  return Gone(Of(stream));
}

CuResult cuStreamSynchronize(CuStream stream) {
  ENTER(EnterOn("cuStreamSynchronize", stream));
  if (Of(stream)->is_recording()) return kCaptureUnsupported;
  Of(stream)->Wait();
  return State::Get().lost.load();
}

CuResult cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned) {
  ENTER(EnterOn("cuStreamWaitEvent", stream));
  if (Of(stream)->is_recording()) return kCaptureUnsupported;
  Of(stream)->Tell([reached = reinterpret_cast<Event*>(event)->reached] {
    while (!reached->load() && State::Get().lost.load() == 0) std::this_thread::yield();
    return static_cast<int>(kCuSuccess);
  });
  return kCuSuccess;
}

CuResult cuEventCreate(CuEvent* event, unsigned flags) {
  ENTER(EnterContext("cuEventCreate"));
  auto* const made = new Event();
  made->has_time = (flags & kCuEventWithoutTiming) == 0;
  return Made(reinterpret_cast<Event**>(event), made);
}

CuResult cuEventDestroy_v2(CuEvent event) {
  ENTER(EnterContext("cuEventDestroy_v2"));
  return Gone(reinterpret_cast<Event*>(event));
}

CuResult cuEventRecord(CuEvent event, CuStream stream) {
  ENTER(EnterOn("cuEventRecord", stream));
  if (Of(stream)->is_recording()) return kCaptureUnsupported;
  auto reached = std::make_shared<std::atomic<bool>>(false);
  reinterpret_cast<Event*>(event)->reached = reached;
  const auto time = reinterpret_cast<Event*>(event)->time;
  Of(stream)->Tell([reached, time] {
    *time = Stream::Now();
    reached->store(true);
    return static_cast<int>(kCuSuccess);
  });
  return kCuSuccess;
}

CuResult cuEventSynchronize(CuEvent event) {
  ENTER(EnterContext("cuEventSynchronize"));
  State& state = State::Get();
  const auto reached = reinterpret_cast<Event*>(event)->reached;
  while (!reached->load() && state.lost.load() == 0) std::this_thread::yield();
  return state.lost.load();
}

CuResult cuEventElapsedTime(float* milliseconds, CuEvent begin, CuEvent end) {
  ENTER(EnterContext("cuEventElapsedTime"));
  const auto &first = *reinterpret_cast<Event*>(begin), &second = *reinterpret_cast<Event*>(end);
  if (!first.has_time || !second.has_time) return kInvalidHandle;
  if (!first.reached->load() || !second.reached->load()) return kNotReady;
  *milliseconds = static_cast<float>((*second.time - *first.time) / 1000);
  return kCuSuccess;
}

CuResult cuModuleLoadDataEx(CuModule* module, const void* image, unsigned, CuJitOption*, void**) {
  ENTER(EnterContext("cuModuleLoadDataEx"));
  const auto* const bytes = static_cast<const char*>(image);
  return Made(reinterpret_cast<Module**>(module),
              new Module{ImageKey(image), std::string(bytes, ImageBytes(image))});
}

CuResult cuModuleUnload(CuModule module) {
  ENTER(EnterContext("cuModuleUnload"));
  return Gone(reinterpret_cast<Module*>(module));
}

CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  ENTER(EnterContext("cuModuleGetFunction"));
  const auto& loaded = *reinterpret_cast<Module*>(module);
  if (loaded.text.find(name) == std::string::npos) return kNotFound;
  State& state = State::Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  // Kept, as the code may be launched by graphs after its module has gone: seen as a name.
  auto& known = state.functions[name + std::to_string(loaded.image)];
  if (known == nullptr) known = std::make_unique<Function>(Function{name, loaded.image});
  *function = reinterpret_cast<CuFunction>(known.get());
  return kCuSuccess;
}

CuResult cuFuncGetAttribute(int* value, CuFunctionAttribute attribute, CuFunction) {
  ENTER(EnterContext("cuFuncGetAttribute"));
  *value = attribute == kCuRegisters ? 32 : 0;
  return kCuSuccess;
}

CuResult cuFuncSetAttribute(CuFunction function, CuFunctionAttribute attribute, int value) {
  ENTER(EnterContext("cuFuncSetAttribute"));
  if (attribute != kCuMostDynamicShared || value > kMostShared) return kCuInvalidValue;
  *reinterpret_cast<Function*>(function)->most_dynamic_shared = value;
  return kCuSuccess;
}

CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int threads,
                                                     size_t shared_bytes) {
  ENTER(EnterContext("cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  *blocks = std::min(2048 / threads,
                     (kMostShared + kOfABlock) / (static_cast<int>(shared_bytes) + kOfABlock));
  return kCuSuccess;
}

CuResult cuLaunchKernel(CuFunction function, unsigned blocks_x, unsigned blocks_y,
                        unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                        unsigned threads_z, unsigned shared_bytes, CuStream stream,
                        void** parameters, void**) {
  ENTER(EnterOn("cuLaunchKernel", stream));
  if (blocks_x == 0 || blocks_y != 1 || blocks_z != 1 || threads_x == 0 || threads_x > 1024 ||
      threads_y != 1 || threads_z != 1 ||
      static_cast<int>(shared_bytes) >
          *reinterpret_cast<Function*>(function)->most_dynamic_shared) {
    return kCuInvalidValue;
  }
  CuAddress frame;
  std::memcpy(&frame, parameters[0], sizeof(frame));
  const Function launched = *reinterpret_cast<Function*>(function);
  Of(stream)->Tell([=] { return RunKernel(launched, blocks_x, threads_x, frame); });
  return kCuSuccess;
}

CuResult cuStreamBeginCapture_v2(CuStream stream, CuCaptureMode) {
  ENTER(EnterOn("cuStreamBeginCapture_v2", stream));
  Of(stream)->BeginCapture();
  return kCuSuccess;
}

CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  ENTER(EnterOn("cuStreamEndCapture", stream));
  auto recorded = std::make_unique<std::vector<Work>>();
  if (!Of(stream)->EndCapture(recorded.get())) return kCuInvalidValue;
  return Made(reinterpret_cast<std::vector<Work>**>(graph), recorded.release());
}

CuResult cuGraphInstantiateWithFlags(CuGraphExec* executable, CuGraph graph, unsigned long long) {
  ENTER(EnterContext("cuGraphInstantiateWithFlags"));
  return Made(reinterpret_cast<std::vector<Work>**>(executable),
              new std::vector<Work>(*reinterpret_cast<std::vector<Work>*>(graph)));
}

CuResult cuGraphDestroy(CuGraph graph) {
  ENTER(EnterContext("cuGraphDestroy"));
  return Gone(reinterpret_cast<std::vector<Work>*>(graph));
}

CuResult cuGraphExecDestroy(CuGraphExec graph) {
  ENTER(EnterContext("cuGraphExecDestroy"));
  return Gone(reinterpret_cast<std::vector<Work>*>(graph));
}

CuResult cuGraphLaunch(CuGraphExec graph, CuStream stream) {
  ENTER(EnterOn("cuGraphLaunch", stream));
  for (const Work& work : *reinterpret_cast<std::vector<Work>*>(graph)) Of(stream)->Tell(work);
  return kCuSuccess;
}

EXPORT const FakeDriver* fake_driver_controls() {
  static const FakeDriver controls = [] {
    FakeDriver f = {};
    f.reset = [] {
      State& state = State::Get();
      std::lock_guard<std::mutex> lock(state.mutex);
      state.Reset();
    };
    f.set_version = [](int version) { State::Get().version = version; };
    f.set_cards = [](int cards) { State::Get().cards = cards; };
    f.set_capability = [](int major, int minor) {
      State::Get().major = major;
      State::Get().minor = minor;
    };
    f.set_memory = [](size_t bytes) { State::Get().card_bytes = bytes; };
    f.set_launch_microseconds = [](double microseconds) {
      State::Get().launch_microseconds = microseconds;
    };
    f.set_runner = [](FakeRunner runner) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      State::Get().runner = runner;
    };
    f.fail = [](const char* symbol, int result, int after, int times) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      State::Get().failures[symbol] = {result, after, times};
    };
    f.calls = [](const char* symbol) {
      std::lock_guard<std::mutex> lock(State::Get().mutex);
      return State::Get().calls[symbol];
    };
    f.launches = [] { return State::Get().launches.load(); };
    f.reach = [](uint64_t address, size_t bytes) {
      return State::Get().memory.Reach(address, bytes);
    };
    f.tell = [](gpu::CuStream stream, std::function<int()> work, double microseconds) {
      if (const int result = EnterOn("tell", stream)) return result;
      Of(stream)->Tell([work = std::move(work), microseconds] {
        Stream::Pass(microseconds);
        return work();
      });
      return static_cast<int>(kCuSuccess);
    };
    f.held_bytes = [] { return State::Get().memory.held_bytes(); };
    f.held_things = [] { return State::Get().things.load(); };
    f.image_key = ImageKey;
    return f;
  }();
  return &controls;
}

}  // extern "C"

}  // namespace tektite::gpu::fake
