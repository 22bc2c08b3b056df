#include "runtime_hooks/tensorflow/hook/run/output_allocator.h"

#include <string>

#include "runtime_hooks/tensorflow/hook/run/block_pool.h"
#include "runtime_hooks/tensorflow/hook/run/host_memory.h"
#include "tensorflow/core/framework/allocator.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Tensor;

class PoolAllocator : public tensorflow::Allocator {
 public:
  explicit PoolAllocator(size_t most_bytes) : pool_(most_bytes) {}

  std::string Name() override { return "tektite_output_pool"; }
  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    return alignment > BlockPool::kAlignment ? nullptr : pool_.Allocate(num_bytes);
  }
  void DeallocateRaw(void* ptr) override { pool_.Free(ptr); }

 private:
  BlockPool pool_;
};

// Of freed results that wait for later calls.
constexpr size_t kMostKeptBytes = size_t{64} << 20;

}  // namespace

bool AllocatePooled(tensorflow::OpKernelContext* context, int index, tensorflow::DataType dtype,
                    const tensorflow::TensorShape& shape, Tensor* output) {
  const size_t bytes = shape.num_elements() * tensorflow::DataTypeSize(dtype);
  if (bytes < BlockPool::kSmallest || context->track_allocations()) return false;
  const tensorflow::AllocatorAttributes wanted = context->output_alloc_attr(index);
  if (wanted.gpu_compatible() || wanted.nic_compatible() || wanted.scope_id != 0) return false;
  if (KeepsBlocks(context->get_allocator(wanted))) return false;
  // Never destroyed: tensors are freed until the process ends.
  static tensorflow::Allocator* const allocator = new PoolAllocator(kMostKeptBytes);
  *output = Tensor(allocator, dtype, shape);
  return output->IsInitialized();
}

}  // namespace tektite::tf_hook
