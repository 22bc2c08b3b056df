// What tests ask of the stand-in, and tell it (fake_driver.h).
#include <mutex>
#include <utility>

#include "tests/gpu/fake_driver/fake_call.h"
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {

extern "C" {

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
