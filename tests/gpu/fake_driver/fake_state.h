// What the stand-in driver knows; internal to it.
#ifndef TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_STATE_H_
#define TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_STATE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backends/gpu/driver/driver_types.h"
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/island/closed_memory.h"

namespace tektite::gpu::fake {

using testing::FakeDriver;
using testing::FakeRunner;

using Work = std::function<int()>;  // returns a CuResult

// The memory of all cards, by the numbers that the driver has for addresses.
class Memory {
 public:
  // 0: there is none.
  uint64_t Allocate(size_t bytes) { return reinterpret_cast<uint64_t>(closed_.Allocate(bytes)); }
  bool Free(uint64_t address) { return closed_.Free(Pointer(address)); }
  // Null where that is not all in one allocation.
  void* Reach(uint64_t address, size_t bytes) const {
    const size_t room = Room(address);
    return room == 0 || room < bytes ? nullptr : closed_.Open(Pointer(address));
  }
  // From the address to its allocation's end.
  size_t Room(uint64_t address) const { return closed_.Room(Pointer(address)); }
  int64_t held_bytes() const { return closed_.held_bytes(); }

 private:
  static const void* Pointer(uint64_t address) { return reinterpret_cast<const void*>(address); }
  testing::ClosedMemory closed_{
      "card", {/*all=*/size_t{8} << 30, /*granule=*/512, /*spoiled=*/size_t{1} << 20}};
};

class Stream {
 public:
  Stream();
  ~Stream();
  // Runs it later, or records it.
  void Tell(Work work);
  void Wait();
  void BeginCapture();
  bool EndCapture(std::vector<Work>* recorded);
  bool is_recording() const { return recorded_ != nullptr; }
  // Of the stream that runs the caller's work: what the card's clock shows, and time that passes.
  static double Now();
  static void Pass(double microseconds);

 private:
  void Serve();
  std::unique_ptr<std::vector<Work>> recorded_;
  std::mutex mutex_;
  std::condition_variable more_, idle_;
  std::deque<Work> waiting_;  // null: the last
  bool runs_ = false;
  double clock_ = 0;  // microseconds; of thread_ alone
  std::thread thread_;
};

struct Event {
  bool has_time = false;
  std::shared_ptr<std::atomic<bool>> reached = std::make_shared<std::atomic<bool>>(true);
  std::shared_ptr<double> time = std::make_shared<double>(0);  // before it is reached
};

struct Module {
  uint64_t image;
  std::string text;  // to find functions in
};

struct Function {
  std::string name;
  uint64_t image;
  std::shared_ptr<std::atomic<int>> most_dynamic_shared =
      std::make_shared<std::atomic<int>>(48 << 10);
};

struct Failure {
  int result, after, times;
};

// Of PTX or a cubin: where it ends, and what tells it from others.
size_t ImageBytes(const void* image);
uint64_t ImageKey(const void* image);

struct State {
  static State& Get();
  void Reset();
  // Counts a call; what it must answer instead of doing its work, or 0.
  int Enter(const char* symbol, bool wants_context);
  void Lose(int result);

  Memory memory;
  std::mutex mutex;  // guards what follows
  int version, cards, major, minor;
  size_t card_bytes;
  double launch_microseconds;
  FakeRunner runner = nullptr;
  std::map<std::string, Failure> failures;
  std::map<std::string, int64_t> calls;
  std::map<void*, size_t> pinned;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::atomic<int> lost{0};
  std::set<void*> made;  // what the driver's user has not destroyed, such as a lost card's
  std::atomic<int64_t> launches{0}, things{0};
  int process = 0;  // that called cuInit

 private:
  State();
};

}  // namespace tektite::gpu::fake

#endif  // TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_STATE_H_
