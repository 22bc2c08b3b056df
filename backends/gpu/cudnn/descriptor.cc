#include "backends/gpu/cudnn/descriptor.h"

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::gpu {

void DescriptorSet::Destroy() {
  for (auto it = owned_.rbegin(); it != owned_.rend(); ++it) dnn_.DestroyDescriptor(*it);
  owned_.clear();
}

absl::StatusOr<DnnDescriptor> DescriptorSet::Create(DnnNumber kind) {
  DnnDescriptor descriptor = nullptr;
  TEKTITE_RETURN_IF_ERROR(DnnError(dnn_.CreateDescriptor(kind, &descriptor),
                                   absl::StrCat("making descriptor ", int{kind})));
  owned_.push_back(descriptor);
  return descriptor;
}

void DescriptorSet::PutBytes(DnnDescriptor to, DnnNumber attribute, DnnNumber type, int64_t count,
                             const void* elements) {
  if (!status_.ok()) return;
  status_ = DnnError(dnn_.SetAttribute(to, attribute, type, count, elements),
                     absl::StrCat("setting attribute ", int{attribute}));
}

absl::Status DescriptorSet::Finalize(DnnDescriptor descriptor) {
  TEKTITE_RETURN_IF_ERROR(status_);
  return DnnError(dnn_.Finalize(descriptor), "finalizing a descriptor");
}

absl::StatusOr<int64_t> DescriptorSet::Get(DnnDescriptor from, DnnNumber attribute, DnnNumber type,
                                           int64_t most, void* elements) const {
  int64_t count = 0;
  TEKTITE_RETURN_IF_ERROR(DnnError(dnn_.GetAttribute(from, attribute, type, most, &count, elements),
                                   absl::StrCat("reading attribute ", int{attribute})));
  return count;
}

}  // namespace tektite::gpu
