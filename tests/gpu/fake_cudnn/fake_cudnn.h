// A stand-in for cuDNN's graph interface, on the stand-in driver's streams (fake_driver.h).
//
//   const FakeCudnn& fake = FakeCudnn::Opened();
//   absl::StatusOr<const gpu::Cudnn*> dnn = gpu::Cudnn::Open(FakeCudnn::path());
//   fake.fail("cudnnBackendExecute", 5000, /*times=*/1);
//   fake.set_microseconds(3);                      // what events see of a convolution
//
// It computes convolutions of f32, f16 and bf16, their gradients, and attention, with the host,
// when their stream comes to them.  Its heuristic proposes engines as the library's does: the
// fastest come first, and for f32 these round operands to TF32, which it then really does.
//
// It refuses what the library would refuse or only accept by luck: attributes of another type,
// descriptors that are not finalized or are gone, sizes that do not belong together, memory that is
// none of the card's or less aligned than promised.
#ifndef TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_CUDNN_H_
#define TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_CUDNN_H_

#include <cstddef>
#include <cstdint>

namespace tektite::testing {

struct FakeCudnn {
  void (*reset)();
  // Calls of a function return `status`, so many times (-1: always).
  void (*fail)(const char* symbol, int status, int times);
  void (*set_microseconds)(double microseconds);
  // Of every engine.
  void (*set_workspace)(int64_t bytes);
  int64_t (*calls)(const char* symbol);
  int64_t (*convolutions)();  // that have run
  int64_t (*attentions)();
  int64_t (*held_things)();  // handles, descriptors

  static const char* path();
  // The same library that Cudnn::Open(path()) opens.
  static const FakeCudnn& Opened();
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_CUDNN_H_
