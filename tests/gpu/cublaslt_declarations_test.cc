// What backends/gpu/cublaslt declares by hand of cuBLASLt is what NVIDIA's header declares.  Built
// where a machine has the header; nothing of the library is called.
#include <cublasLt.h>

#include <cstddef>
#include <type_traits>

#include "backends/gpu/cublaslt/cublaslt_types.h"
#include "gtest/gtest.h"
#include "tests/gpu/called_alike.h"

namespace tektite::gpu {
namespace {

#define TEKTITE_CUBLASLT_FUNCTION(name, symbol, parameters) \
  static_assert(IsCalledAlike<LtStatus(*) parameters, decltype(&symbol)>::value, #symbol);
#include "backends/gpu/cublaslt/cublaslt_function_list.inc"
#undef TEKTITE_CUBLASLT_FUNCTION
static_assert(std::is_same_v<decltype(&cublasLtGetVersion), size_t (*)()>);

static_assert(int{kLtSuccess} == int{CUBLAS_STATUS_SUCCESS});
static_assert(int{kLtAllocationFailed} == int{CUBLAS_STATUS_ALLOC_FAILED});
static_assert(int{kLtInvalidValue} == int{CUBLAS_STATUS_INVALID_VALUE});
static_assert(int{kLtArchitectureMismatch} == int{CUBLAS_STATUS_ARCH_MISMATCH});
static_assert(int{kLtExecutionFailed} == int{CUBLAS_STATUS_EXECUTION_FAILED});
static_assert(int{kLtNotSupported} == int{CUBLAS_STATUS_NOT_SUPPORTED});

static_assert(int{kLtF32} == int{CUDA_R_32F});
static_assert(int{kLtF16} == int{CUDA_R_16F});
static_assert(int{kLtBF16} == int{CUDA_R_16BF});
static_assert(int{kLtS8} == int{CUDA_R_8I});
static_assert(int{kLtS32} == int{CUDA_R_32I});
static_assert(int{kLtComputeF32} == int{CUBLAS_COMPUTE_32F});
static_assert(int{kLtComputeS32} == int{CUBLAS_COMPUTE_32I});
static_assert(int{kLtBatchCount} == int{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT});
static_assert(int{kLtBatchStride} == int{CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET});
static_assert(int{kLtTransposeA} == int{CUBLASLT_MATMUL_DESC_TRANSA});
static_assert(int{kLtTransposeB} == int{CUBLASLT_MATMUL_DESC_TRANSB});
static_assert(int{kLtEpilogue} == int{CUBLASLT_MATMUL_DESC_EPILOGUE});
static_assert(int{kLtBiasPointer} == int{CUBLASLT_MATMUL_DESC_BIAS_POINTER});
static_assert(int{kLtNoEpilogue} == int{CUBLASLT_EPILOGUE_DEFAULT});
static_assert(int{kLtBias} == int{CUBLASLT_EPILOGUE_BIAS});
static_assert(int{kLtMostWorkspace} == int{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES});
static_assert(int{kLtReductionSchemes} == int{CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK});
static_assert(int{kLtAlignmentA} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES});
static_assert(int{kLtAlignmentB} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES});
static_assert(int{kLtAlignmentC} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES});
static_assert(int{kLtAlignmentD} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES});
static_assert(kLtReduceInComputeType == uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));

TEST(CublasLtDeclarations, NoSchemeRoundsPartsOfSums) {
  EXPECT_EQ(kLtReduceInComputeType & uint32_t{CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}, 0u);
  EXPECT_EQ(kLtReduceInComputeType & uint32_t{CUBLASLT_REDUCTION_SCHEME_INPLACE}, 0u);
}

}  // namespace
}  // namespace tektite::gpu
