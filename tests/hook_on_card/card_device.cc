// A device "GPU" for TensorFlow on a card of the stand-in driver, and a few kernels for it.
//
//   ctypes.CDLL("libcard_device.so")        # before TensorFlow looks for devices
//   with tf.device("/GPU:0"): ...
//
// It behaves as TensorFlow's own does where the hook could rely on something that is not so: its
// memory is closed to the host, its kernels return before the card has run them, int32 lies in the
// host's memory.  Kernels of ops that have no code here fail, so that a test sees who ran them.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_factory.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tests/hook_on_card/executor.h"
#include "tests/hook_on_card/stand_in_card.h"
#include "xla/tsl/framework/device_id_manager.h"

namespace tektite::testing {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

class CardAllocator final : public tensorflow::Allocator {
 public:
  explicit CardAllocator(StandInCard* card) : card_(*card) {}
  std::string Name() override { return "card"; }
  void* AllocateRaw(size_t, size_t bytes) override { return card_.Allocate(bytes); }
  void DeallocateRaw(void* memory) override { card_.Free(memory); }
  tensorflow::AllocatorMemoryType GetMemoryType() const override {
    return tensorflow::AllocatorMemoryType::kDevice;
  }

 private:
  StandInCard& card_;
};

class CardContext final : public tensorflow::DeviceContext {
 public:
  CardContext(StandInCard* card, se::Stream* stream) : card_(*card), stream_(stream) {}
  StandInCard& card() const { return card_; }
  se::Stream* stream() const override { return stream_; }
  void CopyCPUTensorToDevice(const Tensor* from, tensorflow::Device*, Tensor* to,
                             tensorflow::StatusCallback done, bool) const override {
    const size_t bytes = from->TotalBytes();
    card_.Tell([from = *from, to = *to, bytes] {
      if (bytes > 0) std::memcpy(StandInCard::Reach(to.data(), bytes), from.data(), bytes);
    });
    done(absl::OkStatus());
  }
  void CopyTensorInSameDevice(const Tensor* from, tensorflow::Device*, Tensor* to,
                              tensorflow::StatusCallback done) const override {
    const size_t bytes = from->TotalBytes();
    card_.Tell([from = *from, to = *to, bytes] {
      if (bytes == 0) return;
      std::memcpy(StandInCard::Reach(to.data(), bytes), StandInCard::Reach(from.data(), bytes),
                  bytes);
    });
    done(absl::OkStatus());
  }
  void CopyDeviceTensorToCPU(const Tensor* from, absl::string_view, tensorflow::Device*, Tensor* to,
                             tensorflow::StatusCallback done) override {
    const size_t bytes = from->TotalBytes();
    card_.Synchronize();
    if (bytes > 0) std::memcpy(to->data(), StandInCard::Reach(from->data(), bytes), bytes);
    done(absl::OkStatus());
  }

 private:
  StandInCard& card_;
  se::Stream* const stream_;
};

class CardDevice final : public tensorflow::LocalDevice {
 public:
  CardDevice(const tensorflow::SessionOptions& options, const std::string& name, StandInCard* card)
      : LocalDevice(options, BuildDeviceAttributes(name, tensorflow::DEVICE_GPU,
                                                   tensorflow::Bytes(1 << 30), {}, "a stand-in")),
        card_(*card),
        executor_(card->number()),
        stream_(card, &executor_),
        allocator_(card),
        context_(new CardContext(card, &stream_)) {
    info_.stream = &stream_;
    info_.default_context = context_;
    info_.gpu_id = card->number();
    set_tensorflow_accelerator_device_info(&info_);
  }
  tensorflow::Allocator* GetAllocator(tensorflow::AllocatorAttributes attributes) override {
    return attributes.on_host() ? tensorflow::cpu_allocator() : &allocator_;
  }
  absl::Status Sync() override {
    card_.Synchronize();
    return absl::OkStatus();
  }
  absl::Status TryGetDeviceContext(tensorflow::DeviceContext** context) override {
    context_->Ref();
    *context = context_;
    return absl::OkStatus();
  }
  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                   const tensorflow::AllocatorAttributes attributes,
                                   Tensor* tensor) override {
    Tensor parsed(proto.dtype());
    if (!parsed.FromProto(tensorflow::cpu_allocator(), proto)) {
      return absl::InvalidArgumentError("not a tensor");
    }
    *tensor = parsed;
    if (attributes.on_host()) return absl::OkStatus();
    *tensor = Tensor(&allocator_, parsed.dtype(), parsed.shape());
    context_->CopyCPUTensorToDevice(
        &parsed, this, tensor, [](const absl::Status&) {}, true);
    return absl::OkStatus();
  }

 private:
  StandInCard& card_;
  CardExecutor executor_;
  CardStream stream_;
  CardAllocator allocator_;
  CardContext* const context_;
  AcceleratorDeviceInfo info_;
};

class CardFactory final : public tensorflow::DeviceFactory {
 public:
  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    for (int n = 0; n < StandInCard::Count(); ++n) {
      devices->push_back(absl::StrCat("/physical_device:GPU:", n));
    }
    return absl::OkStatus();
  }
  absl::Status CreateDevices(const tensorflow::SessionOptions& options, const std::string& prefix,
                             std::vector<std::unique_ptr<tensorflow::Device>>* devices) override {
    for (int n = 0; n < StandInCard::Count(); ++n) {
      TF_RETURN_IF_ERROR(tsl::DeviceIdManager::InsertTfPlatformDeviceIdPair(
          tsl::DeviceType(tensorflow::DEVICE_GPU), tsl::TfDeviceId(n), tsl::PlatformDeviceId(n)));
      devices->push_back(std::make_unique<CardDevice>(
          options, absl::StrCat(prefix, "/device:GPU:", n), &StandInCard::Get(n)));
    }
    return absl::OkStatus();
  }
};
REGISTER_LOCAL_DEVICE_FACTORY("GPU", CardFactory, 210);

// ---- kernels -------------------------------------------------------------

using Unary = float (*)(float);
using Binary = float (*)(float, float);

// Of float32, the shapes being equal or the second a scalar.
class MapKernel : public OpKernel {
 public:
  MapKernel(OpKernelConstruction* construction, Unary unary, Binary binary)
      : OpKernel(construction), unary_(unary), binary_(binary) {}
  void Compute(OpKernelContext* context) override {
    const Tensor x = context->input(0);
    const Tensor y = context->input(context->num_inputs() - 1);
    Tensor* result = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &result));
    OP_REQUIRES(context, y.NumElements() == x.NumElements() || y.NumElements() == 1,
                absl::UnimplementedError("shapes"));
    const int64_t n = x.NumElements(), step = y.NumElements() == n ? 1 : 0;
    static_cast<CardContext*>(context->op_device_context())
        ->card()
        .Tell([x, y, n, step, result = *result, unary = unary_, binary = binary_] {
          if (n == 0) return;
          const auto at = [](const Tensor& tensor) {
            return static_cast<float*>(StandInCard::Reach(tensor.data(), tensor.TotalBytes()));
          };
          const float *const a = at(x), *const b = at(y);
          float* const r = at(result);
          for (int64_t i = 0; i < n; ++i)
            r[i] = unary != nullptr ? unary(a[i]) : binary(a[i], b[i * step]);
        });
  }

 private:
  const Unary unary_;
  const Binary binary_;
};

// Ops that only compiled code computes here.
class NoKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    context->SetStatus(absl::UnimplementedError("TensorFlow's kernel has run on the card"));
  }
};

// TensorFlow adds int32 on the host, whatever device that is placed on.
class HostAdd : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor &x = context->input(0), &y = context->input(1);
    Tensor* result = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &result));
    OP_REQUIRES(context, x.shape() == y.shape(), absl::UnimplementedError("shapes"));
    const auto at = [](const Tensor& tensor) { return static_cast<int32_t*>(tensor.data()); };
    for (int64_t i = 0; i < x.NumElements(); ++i) at(*result)[i] = at(x)[i] + at(y)[i];
  }
};

using Factory = OpKernel* (*)(OpKernelConstruction*);

void Register(tensorflow::KernelDefBuilder& builder, Factory factory) {
  const tensorflow::kernel_factory::OpKernelRegistrar registrar(
      builder.Device(tensorflow::DEVICE_GPU).Build(), "CardKernel", factory);
}

const bool kRegistered = [] {
  using Builder = tensorflow::KernelDefBuilder;
  Register(Builder("AddV2").TypeConstraint<float>("T"), [](OpKernelConstruction* c) -> OpKernel* {
    return new MapKernel(c, nullptr, [](float a, float b) { return a + b; });
  });
  Register(
      Builder("AddV2").TypeConstraint<int32_t>("T").HostMemory("x").HostMemory("y").HostMemory("z"),
      [](OpKernelConstruction* c) -> OpKernel* { return new HostAdd(c); });
  Register(Builder("Mul").TypeConstraint<float>("T"), [](OpKernelConstruction* c) -> OpKernel* {
    return new MapKernel(c, nullptr, [](float a, float b) { return a * b; });
  });
  Register(Builder("Exp").TypeConstraint<float>("T"), [](OpKernelConstruction* c) -> OpKernel* {
    return new MapKernel(
        c, [](float a) { return std::exp(a); }, nullptr);
  });
  const Factory none = [](OpKernelConstruction* c) -> OpKernel* { return new NoKernel(c); };
  for (const char* op : {"MatMul", "Softmax", "Relu", "BiasAdd", "Tanh"}) {
    Register(Builder(op).TypeConstraint<float>("T"), none);
  }
  Register(Builder("Sum").TypeConstraint<float>("T").HostMemory("reduction_indices"), none);
  Register(Builder("Mean").TypeConstraint<float>("T").HostMemory("reduction_indices"), none);
  Register(Builder("GatherV2").TypeConstraint<float>("Tparams").HostMemory("axis"), none);
  Register(Builder("ArgMax").TypeConstraint<float>("T").HostMemory("dimension"), none);
  Register(Builder("AssignAddVariableOp").TypeConstraint<float>("dtype").HostMemory("resource"),
           none);
  Register(Builder("AssignSubVariableOp").TypeConstraint<float>("dtype").HostMemory("resource"),
           none);
  return true;
}();

}  // namespace
}  // namespace tektite::testing

extern "C" __attribute__((visibility("default"))) int64_t card_device_waits() {
  return tektite::testing::StandInCard::Waits();
}
