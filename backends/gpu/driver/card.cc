#include "backends/gpu/driver/card.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card_stream.h"
#include "backends/gpu/driver/launch_graphs.h"
#include "backends/gpu/driver/unfinished_work.h"
#include "jit/base/log.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// After these the driver answers every call of the context with an error.
bool LosesTheCard(CuResult result) {
  switch (result) {
    case kCuDeinitialized:
    case kCuDeviceUnavailable:
    case kCuEccUncorrectable:
    case kCuNvlinkUncorrectable:
    case kCuIllegalAddress:
    case kCuLaunchTimeout:
    case kCuContextIsDestroyed:
    case kCuAssert:
    case kCuHardwareStackError:
    case kCuIllegalInstruction:
    case kCuMisalignedAddress:
    case kCuInvalidAddressSpace:
    case kCuInvalidPc:
    case kCuLaunchFailed:
    case kCuUnknown:
      return true;
    default:
      return false;
  }
}

// More than calls ever run at once.
constexpr size_t kMostIdleStreams = 64;

}  // namespace

Card::Scope::Scope(const Card& card) : driver_(card.driver_) {
  if (!card.status().ok()) return;  // what follows is not asked of the driver, or fails with this
  is_pushed_ = card.Check(driver_.CtxPushCurrent(card.context_), "entering its context").ok();
}

Card::Scope::~Scope() {
  CuContext context = nullptr;
  if (is_pushed_) driver_.CtxPopCurrent(&context);
}

Card::Card(const Driver* driver, int number)
    : driver_(*driver), name_(absl::StrCat("gpu:", number)) {}

absl::StatusOr<std::shared_ptr<Card>> Card::Open(const Driver* driver, int number,
                                                 int64_t memory_limit) {
  if (number < 0 || number >= driver->num_cards()) {
    return absl::UnavailableError(absl::StrCat("there is no gpu:", number,
                                               ": the NVIDIA driver finds ", driver->num_cards(),
                                               " card", driver->num_cards() == 1 ? "" : "s"));
  }
  std::shared_ptr<Card> card(new Card(driver, number));
  TEKTITE_RETURN_IF_ERROR(card->Start(number, memory_limit));
  return card;
}

absl::Status Card::Start(int number, int64_t memory_limit) {
  TEKTITE_RETURN_IF_ERROR(Check(driver_.DeviceGet(&device_, number), "finding it"));
  char model[256] = {};
  TEKTITE_RETURN_IF_ERROR(
      Check(driver_.DeviceGetName(model, sizeof(model) - 1, device_), "asking its name"));
  model_ = model;
  major_ = Attribute(kCuCapabilityMajor);
  minor_ = Attribute(kCuCapabilityMinor);
  multiprocessors_ = Attribute(kCuMultiprocessorCount);
  if (Attribute(kCuMemoryPoolsSupported) == 0) {
    return Unimplemented(name_, " (", model_, ") has no memory pools");
  }
  size_t bytes = 0;
  TEKTITE_RETURN_IF_ERROR(Check(driver_.DeviceTotalMem(&bytes, device_), "asking its memory"));
  TEKTITE_RETURN_IF_ERROR(
      Check(driver_.DevicePrimaryCtxRetain(&context_, device_), "making its context"));
  const Scope scope(*this);
  const auto all = static_cast<int64_t>(bytes);
  const int64_t limit = memory_limit > 0 && memory_limit < all ? memory_limit : all;
  TEKTITE_ASSIGN_OR_RETURN(memory_, CardMemory::Create(this, device_, limit));
  pinned_ = std::make_unique<PinnedMemory>(this);
  graphs_ = std::make_unique<LaunchGraphs>(this);
  unfinished_ = std::make_unique<UnfinishedWork>(this);
  return absl::OkStatus();
}

Card::~Card() {
  if (context_ == nullptr) return;
  {
    const Scope scope(*this);
    unfinished_.reset();
    graphs_.reset();
    pinned_.reset();
    if (takes_back()) {
      for (CuStream stream : idle_streams_) driver_.StreamDestroy(stream);
    }
    memory_.reset();
  }
  if (status().ok()) driver_.DevicePrimaryCtxRelease(device_);
}

int Card::Attribute(CuDeviceAttribute attribute) const {
  int value = 0;
  return driver_.DeviceGetAttribute(&value, attribute, device_) == kCuSuccess ? value : 0;
}

absl::Status Card::status() const {
  TEKTITE_RETURN_IF_ERROR(driver_.status());
  if (!is_lost_.load(std::memory_order_relaxed)) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(lost_mutex_);
  return absl::AbortedError(lost_);
}

absl::Status Card::Check(CuResult result, absl::string_view what) const {
  if (result == kCuSuccess) return absl::OkStatus();
  std::string message = absl::StrCat(name_, ": ", what, ": ", driver_.ErrorText(result));
  if (result == kCuOutOfMemory) return absl::ResourceExhaustedError(message);
  if (!LosesTheCard(result)) return absl::InternalError(message);
  std::lock_guard<std::mutex> lock(lost_mutex_);
  if (!is_lost_.load(std::memory_order_relaxed)) {
    lost_ = absl::StrCat(message, "; this process has lost the card");
    Warn(lost_);
    is_lost_.store(true, std::memory_order_relaxed);
  }
  return absl::AbortedError(lost_);
}

absl::StatusOr<CuStream> Card::TakeStream() {
  {
    std::lock_guard<std::mutex> lock(streams_mutex_);
    if (!idle_streams_.empty()) {
      CuStream stream = idle_streams_.back();
      idle_streams_.pop_back();
      return stream;
    }
  }
  CuStream stream = nullptr;
  TEKTITE_RETURN_IF_ERROR(
      Check(driver_.StreamCreate(&stream, kCuNonBlockingStream), "making a stream"));
  return stream;
}

void Card::ReturnStream(CuStream stream) {
  std::unique_lock<std::mutex> lock(streams_mutex_);
  if (idle_streams_.size() < kMostIdleStreams) {
    idle_streams_.push_back(stream);
    return;
  }
  lock.unlock();
  if (takes_back()) driver_.StreamDestroy(stream);
}

absl::Status Card::WithStream(const backend::StreamOptions& options,
                              absl::FunctionRef<absl::Status(backend::Stream&)> body) {
  TEKTITE_RETURN_IF_ERROR(status());
  const Scope scope(*this);
  if (options.host_stream != nullptr) {
    unfinished_->Collect();
    CardStream stream(this, static_cast<CuStream>(options.host_stream), options);
    return body(stream);
  }
  TEKTITE_ASSIGN_OR_RETURN(CuStream handle, TakeStream());
  absl::Status result;
  {
    CardStream stream(this, handle, options);
    result = body(stream);
  }
  ReturnStream(handle);
  return result;
}

void Card::Drain() {
  const Scope scope(*this);
  unfinished_->Wait();
}

}  // namespace tektite::gpu
