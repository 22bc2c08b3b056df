// A descriptor of cuDNN's graph interface: a bag of attributes that is finalized and then fixed.
//
//   DescriptorSet set(dnn);
//   TEKTITE_ASSIGN_OR_RETURN(DnnDescriptor tensor, set.Create(kDnnTensor));
//   set.Put(tensor, kDnnTensorId, kDnnTypeOfI64, int64_t{1});
//   set.PutAll(tensor, kDnnTensorDimensions, kDnnTypeOfI64, {8, 64, 56, 56});
//   TEKTITE_RETURN_IF_ERROR(set.Finalize(tensor));          // also returns what Put met
//
// Descriptors name each other, so those of a plan are kept and destroyed together.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_DESCRIPTOR_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_DESCRIPTOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/cudnn/cudnn.h"

namespace tektite::gpu {

class DescriptorSet {
 public:
  // Borrows the library.
  explicit DescriptorSet(const Cudnn* dnn) : dnn_(*dnn) {}
  DescriptorSet(const DescriptorSet&) = delete;
  DescriptorSet& operator=(const DescriptorSet&) = delete;
  ~DescriptorSet() { Destroy(); }

  // The library may ask the driver to take back what a plan has: the card's context is current.
  void Destroy();
  // They stay until the process ends.
  void Abandon() { owned_.clear(); }

  absl::StatusOr<DnnDescriptor> Create(DnnNumber kind);
  // The first error is kept for Finalize.
  template <typename T>
  void Put(DnnDescriptor to, DnnNumber attribute, DnnNumber type, T value) {
    PutBytes(to, attribute, type, 1, &value);
  }
  template <typename T>
  void PutAll(DnnDescriptor to, DnnNumber attribute, DnnNumber type, const std::vector<T>& values) {
    PutBytes(to, attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  absl::Status Finalize(DnnDescriptor descriptor);

  // Up to `most` elements; returns how many there are.
  absl::StatusOr<int64_t> Get(DnnDescriptor from, DnnNumber attribute, DnnNumber type, int64_t most,
                              void* elements) const;

 private:
  void PutBytes(DnnDescriptor to, DnnNumber attribute, DnnNumber type, int64_t count,
                const void* elements);

  const Cudnn& dnn_;
  absl::Status status_;
  std::vector<DnnDescriptor> owned_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_DESCRIPTOR_H_
