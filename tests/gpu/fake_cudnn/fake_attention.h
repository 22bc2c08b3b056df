// Attention as the stand-in for cuDNN computes it: the one form that the library has fused engines
// for (backends/gpu/cudnn/prepared_attention.h).
#ifndef TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_ATTENTION_H_
#define TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_ATTENTION_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/gpu/fake_cudnn/fake_graph.h"

namespace tektite::gpu::fake {

struct Attention {
  Tensor query, key, value, result, scale;  // the key with its width before its length
  bool is_causal = false, has_offset = false;
  Tensor nothing, offset;
  // Of what is passed by value.
  float scale_value = 1, nothing_value = 0;
  int32_t offset_value = 0;

  // False where the operations are not of that form, or sizes do not belong together.
  static bool Of(const std::vector<DnnDescriptor>& operations, Attention* attention);
  // Reads what the host passes, which is gone when a launch runs.  False where it is missing.
  bool TakeValues(const std::map<int64_t, uint64_t>& addresses);
  bool IsPassed(int64_t id) const;
  // Addresses on the card, by id.  A CuResult.
  int Run(const std::map<int64_t, uint64_t>& addresses) const;
};

}  // namespace tektite::gpu::fake

#endif  // TEKTITE_TESTS_GPU_FAKE_CUDNN_FAKE_ATTENTION_H_
