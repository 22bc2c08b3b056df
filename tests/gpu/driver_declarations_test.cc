// What backends/gpu/driver declares by hand of NVIDIA's driver is what NVIDIA's header declares.
// Built where a machine has the header; nothing of the driver is called.
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "backends/gpu/driver/driver_types.h"
#include "gtest/gtest.h"
#include "tests/gpu/called_alike.h"

namespace tektite::gpu {
namespace {

// The header's names of functions are macros for the versions' names.
#define TEKTITE_DRIVER_FUNCTION(name, symbol, parameters) \
  static_assert(IsCalledAlike<CuResult(*) parameters, decltype(&symbol)>::value, #symbol);
#include "backends/gpu/driver/driver_function_list.inc"
#undef TEKTITE_DRIVER_FUNCTION

static_assert(int{kCuSuccess} == int{CUDA_SUCCESS} &&
              int{kCuInvalidValue} == int{CUDA_ERROR_INVALID_VALUE});
static_assert(int{kCuOutOfMemory} == int{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(int{kCuDeinitialized} == int{CUDA_ERROR_DEINITIALIZED});
static_assert(int{kCuStubLibrary} == int{CUDA_ERROR_STUB_LIBRARY});
static_assert(int{kCuDeviceUnavailable} == int{CUDA_ERROR_DEVICE_UNAVAILABLE});
static_assert(int{kCuNoDevice} == int{CUDA_ERROR_NO_DEVICE});
static_assert(int{kCuEccUncorrectable} == int{CUDA_ERROR_ECC_UNCORRECTABLE});
static_assert(int{kCuNvlinkUncorrectable} == int{CUDA_ERROR_NVLINK_UNCORRECTABLE});
static_assert(int{kCuIllegalAddress} == int{CUDA_ERROR_ILLEGAL_ADDRESS});
static_assert(int{kCuLaunchTimeout} == int{CUDA_ERROR_LAUNCH_TIMEOUT});
static_assert(int{kCuContextIsDestroyed} == int{CUDA_ERROR_CONTEXT_IS_DESTROYED});
static_assert(int{kCuAssert} == int{CUDA_ERROR_ASSERT});
static_assert(int{kCuHardwareStackError} == int{CUDA_ERROR_HARDWARE_STACK_ERROR});
static_assert(int{kCuIllegalInstruction} == int{CUDA_ERROR_ILLEGAL_INSTRUCTION});
static_assert(int{kCuMisalignedAddress} == int{CUDA_ERROR_MISALIGNED_ADDRESS});
static_assert(int{kCuInvalidAddressSpace} == int{CUDA_ERROR_INVALID_ADDRESS_SPACE});
static_assert(int{kCuInvalidPc} == int{CUDA_ERROR_INVALID_PC});
static_assert(int{kCuLaunchFailed} == int{CUDA_ERROR_LAUNCH_FAILED});
static_assert(int{kCuUnknown} == int{CUDA_ERROR_UNKNOWN});

static_assert(int{kCuMultiprocessorCount} == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(int{kCuCapabilityMajor} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
static_assert(int{kCuCapabilityMinor} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
static_assert(int{kCuMemoryPoolsSupported} == int{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED});
static_assert(int{kCuRegisters} == int{CU_FUNC_ATTRIBUTE_NUM_REGS});
static_assert(int{kCuMostDynamicShared} == int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
static_assert(int{kCuReleaseThreshold} == int{CU_MEMPOOL_ATTR_RELEASE_THRESHOLD});
static_assert(int{kCuCaptureOfThread} == int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
static_assert(int{kCuErrorLog} == int{CU_JIT_ERROR_LOG_BUFFER});
static_assert(int{kCuErrorLogBytes} == int{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES});
static_assert(kCuNonBlockingStream == unsigned{CU_STREAM_NON_BLOCKING});
static_assert(kCuEventWithoutTiming == unsigned{CU_EVENT_DISABLE_TIMING});

static_assert(int{kCuTensorF16} == int{CU_TENSOR_MAP_DATA_TYPE_FLOAT16});
static_assert(int{kCuTensorBF16} == int{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16});
static_assert(int{kCuNoInterleave} == int{CU_TENSOR_MAP_INTERLEAVE_NONE});
static_assert(int{kCuSwizzle128} == int{CU_TENSOR_MAP_SWIZZLE_128B});
static_assert(int{kCuPromotion256} == int{CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
static_assert(int{kCuFillZero} == int{CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE});
static_assert(sizeof(CuTensorMap) == sizeof(CUtensorMap));
static_assert(alignof(CuTensorMap) == alignof(CUtensorMap));

static_assert(sizeof(CuMemoryPoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(CuMemoryPoolProperties, handle_types) ==
              offsetof(CUmemPoolProps, handleTypes));
static_assert(offsetof(CuMemoryPoolProperties, location_type) ==
              offsetof(CUmemPoolProps, location.type));
static_assert(offsetof(CuMemoryPoolProperties, location) == offsetof(CUmemPoolProps, location.id));
static_assert(offsetof(CuMemoryPoolProperties, security_attributes) ==
              offsetof(CUmemPoolProps, win32SecurityAttributes));
static_assert(offsetof(CuMemoryPoolProperties, most_bytes) == offsetof(CUmemPoolProps, maxSize));

TEST(DriverDeclarations, PoolsAreOfACardAndOfThisProcess) {
  const CuMemoryPoolProperties properties;
  EXPECT_EQ(properties.allocation_type, int{CU_MEM_ALLOCATION_TYPE_PINNED});
  EXPECT_EQ(properties.handle_types, int{CU_MEM_HANDLE_TYPE_NONE});
  EXPECT_EQ(properties.location_type, int{CU_MEM_LOCATION_TYPE_DEVICE});
}

}  // namespace
}  // namespace tektite::gpu
