// What the stand-in's functions share (fake_driver.h): what must be true of a call, and handles.
#ifndef TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_CALL_H_
#define TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_CALL_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/gpu/driver/driver_types.h"
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {

constexpr CuResult kNotFound = 500, kInvalidHandle = 400, kNotInitialized = 3,
                   kInvalidContext = 201, kInvalidDevice = 101, kCaptureUnsupported = 900;

// This thread's, the current one last.
inline thread_local std::vector<CuContext> contexts;

// A pool is its device's number, and so is a context, from 1.
template <typename Handle>
Handle HandleOf(int number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number) + 1);
}

inline Stream* Of(CuStream stream) { return reinterpret_cast<Stream*>(stream); }

// What must be true of a call on a stream beside its own arguments.
inline int EnterOn(const char* symbol, CuStream stream) {
  if (const int result = State::Get().Enter(symbol, /*wants_context=*/true)) return result;
  if (contexts.empty()) return kInvalidContext;
  return stream == nullptr ? kInvalidHandle : kCuSuccess;
}

inline int EnterContext(const char* symbol) {
  if (const int result = State::Get().Enter(symbol, /*wants_context=*/true)) return result;
  return contexts.empty() ? kInvalidContext : kCuSuccess;
}

inline int Enter(const char* symbol) {
  State& state = State::Get();
  if (const int result = state.Enter(symbol, /*wants_context=*/false)) return result;
  return state.process == 0 ? kNotInitialized : kCuSuccess;
}

#define ENTER(how)                                            \
  do {                                                        \
    if (const int result = (how); result != 0) return result; \
  } while (false)

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

extern "C" {

#define EXPORT __attribute__((visibility("default")))
#define TEKTITE_DRIVER_FUNCTION(name, symbol, parameters) EXPORT CuResult symbol parameters;
#include "backends/gpu/driver/driver_function_list.inc"
#undef TEKTITE_DRIVER_FUNCTION

}  // extern "C"

}  // namespace tektite::gpu::fake

#endif  // TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_CALL_H_
