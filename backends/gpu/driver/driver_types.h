// Types and numbers of NVIDIA's driver interface, as far as they are used here.
//
// The build needs no CUDA toolkit: what libcuda's functions take and return is declared by hand.
// Handles are pointers to objects that only the driver knows.  The numbers are part of the driver's
// binary interface, which never changes.  tests/gpu/driver_declarations_test.cc compares all of
// this with NVIDIA's header where a machine has it.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_DRIVER_TYPES_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_DRIVER_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace tektite::gpu {

using CuResult = int;
using CuDevice = int;
using CuAddress = unsigned long long;  // in a card's memory
using CuContext = struct CuContextObject*;
using CuEvent = struct CuEventObject*;
using CuFunction = struct CuFunctionObject*;
using CuGraph = struct CuGraphObject*;
using CuGraphExec = struct CuGraphExecObject*;
using CuMemoryPool = struct CuMemoryPoolObject*;
using CuModule = struct CuModuleObject*;
using CuStream = struct CuStreamObject*;

// Results that are told apart; all others are errors of their name.
enum : CuResult {
  kCuSuccess = 0,
  kCuInvalidValue = 1,
  kCuOutOfMemory = 2,
  kCuDeinitialized = 4,
  kCuStubLibrary = 34,
  kCuDeviceUnavailable = 46,
  kCuNoDevice = 100,
  kCuEccUncorrectable = 214,
  kCuNvlinkUncorrectable = 220,
  kCuNotReady = 600,
  kCuIllegalAddress = 700,
  kCuLaunchTimeout = 702,
  kCuContextIsDestroyed = 709,
  kCuAssert = 710,
  kCuHardwareStackError = 714,
  kCuIllegalInstruction = 715,
  kCuMisalignedAddress = 716,
  kCuInvalidAddressSpace = 717,
  kCuInvalidPc = 718,
  kCuLaunchFailed = 719,
  kCuUnknown = 999,
};

enum CuDeviceAttribute : int {
  kCuMultiprocessorCount = 16,
  kCuCapabilityMajor = 75,
  kCuCapabilityMinor = 76,
  kCuMemoryPoolsSupported = 115,
};

enum CuFunctionAttribute : int {
  kCuRegisters = 4,
  kCuMostDynamicShared = 8,  // that a launch may ask for, in bytes
};

enum CuMemoryPoolAttribute : int { kCuReleaseThreshold = 4 };  // a uint64_t
enum CuCaptureMode : int { kCuCaptureOfThread = 1 };
enum CuJitOption : int { kCuErrorLog = 5, kCuErrorLogBytes = 6 };

enum CuTensorType : int { kCuTensorF16 = 6, kCuTensorBF16 = 9 };
enum CuTensorInterleave : int { kCuNoInterleave = 0 };
enum CuTensorSwizzle : int { kCuSwizzle128 = 3 };  // chunks of 16 bytes in rows of 128
enum CuTensorPromotion : int {
  kCuPromotion256 = 3
};                                            // what the L2 cache fetches at once, in bytes
enum CuTensorFill : int { kCuFillZero = 0 };  // what lies outside of the tensor

// A tensor as the card's copy engine sees it; only the driver knows how.
struct alignas(128) CuTensorMap {
  uint64_t words[16];
};

inline constexpr unsigned kCuNonBlockingStream = 1;
inline constexpr unsigned kCuEventWithoutTiming = 2;

struct CuMemoryPoolProperties {
  int allocation_type = 1;  // memory that stays where it is
  int handle_types = 0;     // not for other processes
  int location_type = 1;    // a device, of this number:
  int location = 0;
  void* security_attributes = nullptr;
  size_t most_bytes = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_DRIVER_TYPES_H_
