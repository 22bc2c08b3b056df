// What backends/gpu/cudnn declares by hand of cuDNN is what NVIDIA's header declares.  Built where
// a machine has the header; nothing of the library is called.
#include <cudnn_graph.h>

#include <type_traits>

#include "backends/gpu/cudnn/cudnn_types.h"
#include "gtest/gtest.h"
#include "tests/gpu/called_alike.h"

// Older versions of cuDNN 9 need some of what newer ones advise against.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace tektite::gpu {
namespace {

#define TEKTITE_CUDNN_FUNCTION(name, symbol, parameters) \
  static_assert(IsCalledAlike<DnnStatus(*) parameters, decltype(&symbol)>::value, #symbol);
#include "backends/gpu/cudnn/cudnn_function_list.inc"
#undef TEKTITE_CUDNN_FUNCTION
static_assert(std::is_same_v<decltype(&cudnnGetVersion), size_t (*)()>);

#define TEKTITE_CUDNN_NUMBER(name, symbol, number) static_assert(int{name} == int{symbol}, #symbol);
#include "backends/gpu/cudnn/cudnn_number_list.inc"
#undef TEKTITE_CUDNN_NUMBER

// Elements of attributes are passed by address.
static_assert(sizeof(cudnnDataType_t) == sizeof(DnnNumber));
static_assert(sizeof(cudnnPointwiseMode_t) == sizeof(DnnNumber));
static_assert(sizeof(cudnnConvolutionMode_t) == sizeof(DnnNumber));
static_assert(sizeof(cudnnBackendHeurMode_t) == sizeof(DnnNumber));
static_assert(sizeof(cudnnBackendNumericalNote_t) == sizeof(int));
static_assert(sizeof(cudnnNanPropagation_t) == sizeof(DnnNumber));

TEST(CudnnDeclarations, AreOfCudnn9) { EXPECT_EQ(CUDNN_MAJOR, 9); }

}  // namespace
}  // namespace tektite::gpu
