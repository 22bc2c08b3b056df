// TensorFlow's objects behind a device of a CUDA build, for a card of the stand-in driver: the part
// of them that TensorFlow and the hook ask for something.
#ifndef TEKTITE_TESTS_HOOK_ON_CARD_EXECUTOR_H_
#define TEKTITE_TESTS_HOOK_ON_CARD_EXECUTOR_H_

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "tests/hook_on_card/stand_in_card.h"
#include "xla/stream_executor/device_description.h"
#include "xla/stream_executor/event.h"
#include "xla/stream_executor/memory_allocation.h"
#include "xla/stream_executor/platform.h"
#include "xla/stream_executor/stream.h"
#include "xla/stream_executor/stream_executor.h"

namespace tektite::testing {

namespace se = stream_executor;

class CardPlatform final : public se::Platform {
 public:
  Id id() const override { return nullptr; }
  const std::string& Name() const override { return name_; }
  int VisibleDeviceCount() const override { return 1; }
  bool Initialized() const override { return true; }
  absl::Status Initialize() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<se::DeviceDescription>> DescriptionForDevice(int) const override {
    return absl::UnimplementedError("no description");
  }
  absl::StatusOr<se::StreamExecutor*> ExecutorForDevice(int) override {
    return absl::UnimplementedError("no other executor");
  }

 private:
  const std::string name_ = "CUDA";
};

class CardExecutor final : public se::StreamExecutor {
 public:
  explicit CardExecutor(int number) : number_(number) {}
  std::unique_ptr<se::ActivateContext> Activate() override { return nullptr; }
  const se::Platform* GetPlatform() const override { return &platform_; }
  absl::Status Init() override { return absl::OkStatus(); }
  int device_ordinal() const override { return number_; }
  absl::StatusOr<std::unique_ptr<se::Stream>> CreateStream(
      std::optional<std::variant<se::StreamPriority, int>>) override {
    return absl::UnimplementedError("one stream");
  }
  absl::StatusOr<std::unique_ptr<se::Event>> CreateEvent() override {
    return absl::UnimplementedError("no events");
  }
  const se::DeviceDescription& GetDeviceDescription() const override { std::abort(); }
  se::DeviceAddressBase Allocate(uint64_t, int64_t) override { return se::DeviceAddressBase(); }
  void Deallocate(se::DeviceAddressBase*) override {}
  absl::StatusOr<std::unique_ptr<se::MemoryAllocation>> HostMemoryAllocate(uint64_t) override {
    return absl::UnimplementedError("no pinned memory");
  }
  absl::Status SynchronousMemZero(se::DeviceAddressBase*, uint64_t) override {
    return absl::UnimplementedError("see CardContext");
  }
  absl::Status SynchronousMemcpy(se::DeviceAddressBase*, const void*, uint64_t) override {
    return absl::UnimplementedError("see CardContext");
  }
  absl::Status SynchronousMemcpy(void*, const se::DeviceAddressBase&, uint64_t) override {
    return absl::UnimplementedError("see CardContext");
  }
  absl::StatusOr<std::unique_ptr<se::DeviceDescription>> CreateDeviceDescription() const override {
    return absl::UnimplementedError("no description");
  }
  bool SynchronizeAllActivity() override { return false; }
  void DeallocateStream(se::Stream*) override {}
  absl::Status EnablePeerAccessTo(se::StreamExecutor*) override { return absl::OkStatus(); }
  bool CanEnablePeerAccessTo(se::StreamExecutor*) override { return false; }
  int64_t GetMemoryLimitBytes() const override { return 0; }

 private:
  const int number_;
  CardPlatform platform_;
};

class CardStream final : public se::Stream {
 public:
  CardStream(StandInCard* card, se::StreamExecutor* executor) : card_(*card), executor_(executor) {}
  PlatformSpecificHandle platform_specific_handle() const override { return {card_.stream()}; }
  bool ok() const override { return true; }
  absl::StatusOr<se::Stream*> GetOrCreateSubStream() override {
    return absl::UnimplementedError("one stream");
  }
  void ReturnSubStream(se::Stream*) override {}
  absl::Status WaitFor(se::Stream*) override { return absl::UnimplementedError("one stream"); }
  absl::Status WaitFor(se::Event*) override { return absl::UnimplementedError("no events"); }
  absl::Status RecordEvent(se::Event*) override { return absl::UnimplementedError("no events"); }
  absl::Status Memcpy(void*, const se::DeviceAddressBase&, uint64_t) override {
    return absl::UnimplementedError("see CardContext");
  }
  absl::Status Memcpy(se::DeviceAddressBase*, const void*, uint64_t) override {
    return absl::UnimplementedError("see CardContext");
  }
  absl::Status BlockHostUntilDone() override {
    card_.Synchronize();
    return absl::OkStatus();
  }
  absl::Status DoHostCallbackWithStatus(absl::AnyInvocable<absl::Status() &&>) override {
    return absl::UnimplementedError("no callbacks");
  }
  se::StreamExecutor* parent() const override { return executor_; }
  se::CudaComputeCapability GetCudaComputeCapability() const override { std::abort(); }
  se::RocmComputeCapability GetRocmComputeCapability() const override { std::abort(); }
  se::OneAPIComputeCapability GetOneAPIComputeCapability() const override { std::abort(); }
  std::variant<se::StreamPriority, int> priority() const override { return 0; }
  const std::string& GetName() const override { return name_; }
  void SetName(std::string name) override { name_ = std::move(name); }

 private:
  StandInCard& card_;
  se::StreamExecutor* const executor_;
  std::string name_ = "stream of the card";
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_HOOK_ON_CARD_EXECUTOR_H_
