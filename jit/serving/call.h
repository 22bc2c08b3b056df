// A call of a cluster, as any host makes it.
//
//   Tensor x{data, dims, ir::DType::kF32};
//   Call call;
//   call.args = {&x, 1};
//   call.host = &host;                                   // its threads and its memory
//   call.host_kernels = &kernels;                        // if it can run the call by itself, too
//   TEKTITE_RETURN_IF_ERROR(cluster->Run(call, &why));
#ifndef TEKTITE_JIT_SERVING_CALL_H_
#define TEKTITE_JIT_SERVING_CALL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/ir/dtype.h"
#include "jit/runtime/executable.h"
#include "jit/serving/fallback.h"

namespace tektite::serving {

struct Tensor {
  const void* data = nullptr;  // in `space`, row-major; null is fine when there are no elements
  absl::Span<const int64_t> dims;
  ir::DType dtype = ir::DType::kF32;
  // 0: the content may change between calls.  Otherwise: calls of one cluster that pass the same
  // version for this argument pass the same content.
  uint64_t version = 0;
  runtime::MemorySpace space =
      runtime::MemorySpace::kHost;  // values that code depends on: the host
};

// The kernels that a host has of its own for one call.
class HostKernels {
 public:
  virtual ~HostKernels() = default;
  // Runs the call, and returns how it failed if it did.  `refusal`: the compiler's, if it refused
  // the call.  Of Fallback::MEASURING_HOST, Unavailable says that the kernels are still to be made,
  // and nothing has happened.  The call's arguments are not read afterwards.
  virtual absl::Status Run(Fallback why, const absl::Status& refusal) = 0;
};

// Borrows everything.
struct Call {
  absl::Span<const Tensor> args;
  runtime::CallHost* host = nullptr;
  HostKernels* host_kernels = nullptr;  // null: code runs whatever it can
  // Without kernels here: the caller can make the call in another way, which has them, and is
  // served only where code is known to be faster, and no comparison is due.
  bool if_won = false;
  double host_extra_ns = 0;  // nanoseconds that such a call takes beside the kernels
  // The code that runs must depend on the graph and the sizes alone.
  bool reproducible = false;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_CALL_H_
