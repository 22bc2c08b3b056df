// A stand-in for NVIDIA's driver: libcuda.so.1 with cards that are not there.
//
//   const FakeDriver& fake = FakeDriver::Opened();
//   absl::StatusOr<const gpu::Driver*> driver = gpu::Driver::Open(FakeDriver::path());
//   fake.set_runner(run);                           // run(launch) computes what a kernel would
//   fake.fail("cuLaunchKernel", 719, /*after=*/3);  // the fourth launch fails
//
// It has the functions of driver_function_list.inc and behaves as a driver does where the runtime
// could rely on something that is not so:
//   - A card's memory is closed to the host (PROT_NONE); copies and kernels reach it another way.
//   - Streams run late, on threads of their own; what they read must still be there then.
//   - Copies want pinned memory on the host's side, all but a few calls want a current context.
//   - Recorded launches run when their graph does, with what their frames then hold.
//   - After a fault of a kernel every call fails with that error.
//   - A call in a child of the process that called cuInit aborts.
//   - Events that have a time show one that a test decides: so much for each launch.
// Without a runner a kernel does nothing.
//
// A process that does not open it by itself sets it up by the variable TEKTITE_FAKE_DRIVER:
//   LD_LIBRARY_PATH=<its folder> TEKTITE_FAKE_DRIVER=cards=0 tektite run --device=gpu ...
// with words separated by commas: version=12040, cards=2, capability=90, memory=BYTES,
// fail=cuMemPoolCreate:801.
#ifndef TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_DRIVER_H_
#define TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "backends/gpu/driver/driver_types.h"

namespace tektite::testing {

// A launch of a kernel, when it runs.
struct FakeLaunch {
  const char* kernel;  // the function's name
  uint64_t image;      // FakeDriver::image_key of what was loaded
  unsigned blocks, threads;
  const uint64_t* frame;  // where the fake itself reaches it
  size_t frame_bytes;     // to the end of the memory that it lies in
};
// What a tensor map holds, for a runner to look at.
struct FakeTensor {
  uint64_t address;
  uint64_t sizes[3], strides[2];  // in elements, in bytes
  uint32_t box[3];
  int type;
};
// Whether the kernel ended well.
using FakeRunner = bool (*)(const FakeLaunch& launch);

struct FakeDriver {
  // Puts everything back to how it was, but for memory that somebody holds.
  void (*reset)();
  void (*set_version)(int version);
  void (*set_cards)(int cards);
  void (*set_capability)(int major, int minor);
  void (*set_memory)(size_t bytes);
  void (*set_runner)(FakeRunner runner);
  // What events see of a launch.
  void (*set_launch_microseconds)(double microseconds);
  // Calls of a function return `result` after `after` more that do not, so many times (-1: always).
  void (*fail)(const char* symbol, int result, int after, int times);
  // How often a function was called.
  int64_t (*calls)(const char* symbol);
  int64_t (*launches)();  // that have run
  // Where the fake reaches `bytes` of a card's memory; null where that is not all allocated.
  void* (*reach)(uint64_t address, size_t bytes);
  // For a library that launches on a stream: runs `work` there, or records it; what it returns, and
  // what this returns, is a CuResult.
  int (*tell)(gpu::CuStream stream, std::function<int()> work, double microseconds);
  int64_t (*held_bytes)();   // of cards' memory
  int64_t (*held_things)();  // streams, events, modules, graphs, pinned memory
  uint64_t (*image_key)(const void* image);

  static const char* path();
  // The same library that Driver::Open(path()) opens.
  static const FakeDriver& Opened();
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_FAKE_DRIVER_FAKE_DRIVER_H_
