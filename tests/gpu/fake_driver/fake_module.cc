// libcuda's functions for code, by the stand-in (fake_driver.h).
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "tests/gpu/fake_driver/fake_call.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {
namespace {

// Shared memory of a block of the newest cards, and what a multiprocessor keeps for each block.
constexpr int kMostShared = 227 << 10, kOfABlock = 1 << 10;

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

}  // extern "C"

}  // namespace tektite::gpu::fake
