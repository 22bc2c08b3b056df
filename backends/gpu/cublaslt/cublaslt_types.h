// Types and numbers of cuBLASLt's interface, as far as they are used here.
//
// The build needs no CUDA toolkit: what the library's functions take and return is declared by
// hand, as for the driver (driver/driver_types.h).  The numbers are the same from CUDA 11 to 13;
// tests/gpu/cublaslt_declarations_test.cc compares all of this with NVIDIA's header where a machine
// has it.
#ifndef TEKTITE_BACKENDS_GPU_CUBLASLT_CUBLASLT_TYPES_H_
#define TEKTITE_BACKENDS_GPU_CUBLASLT_CUBLASLT_TYPES_H_

#include <cstddef>
#include <cstdint>

#include "backends/gpu/driver/driver_types.h"

namespace tektite::gpu {

using LtStatus = int;
using LtHandle = struct LtHandleObject*;
using LtLayout = struct LtLayoutObject*;
using LtOperation = struct LtOperationObject*;
using LtPreference = struct LtPreferenceObject*;

// Statuses that are told apart; all others are errors of their number.
enum : LtStatus {
  kLtSuccess = 0,
  kLtAllocationFailed = 3,
  kLtInvalidValue = 7,
  kLtArchitectureMismatch = 8,
  kLtExecutionFailed = 13,
  kLtNotSupported = 15,
};

enum LtType : int { kLtF32 = 0, kLtF16 = 2, kLtS8 = 3, kLtS32 = 10, kLtBF16 = 14 };
// Sums in f32, and operands of f32 as they are: not rounded to TF32; sums in s32.
enum LtCompute : int { kLtComputeF32 = 68, kLtComputeS32 = 72 };
enum LtLayoutAttribute : int { kLtBatchCount = 5, kLtBatchStride = 6 };  // int32_t, int64_t
enum LtOperationAttribute : int {
  kLtTransposeA = 3,  // int32_t, as the next: 1 for a transposed operand
  kLtTransposeB = 4,
  kLtEpilogue = 7,     // uint32_t
  kLtBiasPointer = 8,  // an address
};
enum LtEpilogueKind : uint32_t { kLtNoEpilogue = 1, kLtBias = 4 };
enum LtPreferenceAttribute : int {
  kLtMostWorkspace = 1,     // uint64_t
  kLtReductionSchemes = 3,  // uint32_t
  kLtAlignmentA = 5,        // uint32_t, as those that follow
  kLtAlignmentB = 6,
  kLtAlignmentC = 7,
  kLtAlignmentD = 8,
};
// Parts of a sum are added up in the workspace, in the type of the computation.
inline constexpr uint32_t kLtReduceInComputeType = 2;

struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  LtStatus status;
  float waves;
  int reserved[4];
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUBLASLT_CUBLASLT_TYPES_H_
