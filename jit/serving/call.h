// A call of a cluster, as any host makes it.
//
//   Tensor x{data, dims, ir::DType::kF32};
//   Call call;
//   call.args = {&x, 1};
//   call.host = &host;                                   // its threads and its memory
//   TEKTITE_RETURN_IF_ERROR(cluster->Run(call));
#ifndef TEKTITE_JIT_SERVING_CALL_H_
#define TEKTITE_JIT_SERVING_CALL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "jit/ir/dtype.h"
#include "jit/runtime/executable.h"

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

// Borrows everything.
struct Call {
  absl::Span<const Tensor> args;
  runtime::CallHost* host = nullptr;
  // Set to the number of the code that ran, newer code's being higher; may be null.
  uint64_t* artifact = nullptr;
  // The code that runs must depend on the graph and the sizes alone.
  bool reproducible = false;
  // Nanoseconds that the host's own kernels have taken for this cluster so far; null: unknown, and
  // code is made at the first call (deferred_compiles.h).
  const int64_t* host_ns = nullptr;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_CALL_H_
