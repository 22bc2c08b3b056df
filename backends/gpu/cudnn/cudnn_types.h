// Types and numbers of cuDNN's graph interface, as far as they are used here.
//
// The build needs no cuDNN: what its functions take and return is declared by hand, as for the
// driver (driver/driver_types.h).  The interface is that of cuDNN 9, whose numbers stay.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_TYPES_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_TYPES_H_

#include <cstddef>
#include <cstdint>

#include "backends/gpu/driver/driver_types.h"

namespace tektite::gpu {

using DnnStatus = int;
using DnnHandle = struct DnnHandleObject*;
using DnnDescriptor = struct DnnDescriptorObject*;

enum DnnNumber : int {
#define TEKTITE_CUDNN_NUMBER(name, symbol, number) name = number,
#include "backends/gpu/cudnn/cudnn_number_list.inc"
#undef TEKTITE_CUDNN_NUMBER
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_TYPES_H_
