#include "backends/gpu/driver/pinned_memory.h"

#include <utility>

#include "backends/gpu/driver/card.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// 32 MiB of pinned memory, which the system cannot use otherwise.
constexpr size_t kMostPieces = 16;
constexpr size_t kMostRooms = 64;

template <typename T>
std::unique_ptr<T> TakeLast(std::mutex& mutex, std::vector<std::unique_ptr<T>>& idle) {
  std::lock_guard<std::mutex> lock(mutex);
  if (idle.empty()) return nullptr;
  std::unique_ptr<T> last = std::move(idle.back());
  idle.pop_back();
  return last;
}

// What has no place comes back.
template <typename T>
std::unique_ptr<T> Put(std::mutex& mutex, std::vector<std::unique_ptr<T>>& idle, size_t most,
                       std::unique_ptr<T> thing) {
  std::lock_guard<std::mutex> lock(mutex);
  if (idle.size() < most) idle.push_back(std::move(thing));
  return thing;
}

}  // namespace

PinnedMemory::~PinnedMemory() {
  for (const auto& piece : pieces_) Destroy(*piece);
  for (const auto& room : rooms_) Destroy(*room);
}

absl::StatusOr<std::byte*> PinnedMemory::Pin(int64_t bytes) {
  void* memory = nullptr;
  TEKTITE_RETURN_IF_ERROR(
      card_.Check(card_.driver().MemHostAlloc(&memory, static_cast<size_t>(bytes), /*flags=*/0),
                  "pinning memory of the host"));
  return static_cast<std::byte*>(memory);
}

absl::StatusOr<std::unique_ptr<PinnedPiece>> PinnedMemory::TakePiece() {
  if (auto piece = TakeLast(mutex_, pieces_)) return piece;
  auto piece = std::make_unique<PinnedPiece>();
  TEKTITE_ASSIGN_OR_RETURN(piece->host, Pin(kPieceBytes));
  const absl::Status status = card_.Check(
      card_.driver().EventCreate(&piece->copied, kCuEventWithoutTiming), "making an event");
  if (status.ok()) return piece;
  Destroy(*piece);
  return status;
}

absl::StatusOr<std::unique_ptr<FrameRoom>> PinnedMemory::TakeRoom() {
  if (auto room = TakeLast(mutex_, rooms_)) return room;
  auto room = std::make_unique<FrameRoom>();
  room->device = card_.memory().Allocate(kFrameBytes);
  if (room->device.data() == nullptr) {
    TEKTITE_RETURN_IF_ERROR(card_.status());
    return absl::ResourceExhaustedError("no memory for the frames of launches");
  }
  TEKTITE_ASSIGN_OR_RETURN(room->host, Pin(kFrameBytes));
  return room;
}

void PinnedMemory::Return(std::unique_ptr<PinnedPiece> piece) {
  if (auto extra = Put(mutex_, pieces_, kMostPieces, std::move(piece))) Destroy(*extra);
}

void PinnedMemory::Return(std::unique_ptr<FrameRoom> room) {
  if (auto extra = Put(mutex_, rooms_, kMostRooms, std::move(room))) Destroy(*extra);
}

void PinnedMemory::Destroy(const PinnedPiece& piece) {
  if (!card_.takes_back()) return;
  if (piece.copied != nullptr) card_.driver().EventDestroy(piece.copied);
  if (piece.host != nullptr) card_.driver().MemFreeHost(piece.host);
}

void PinnedMemory::Destroy(const FrameRoom& room) {
  if (room.host != nullptr && card_.takes_back()) card_.driver().MemFreeHost(room.host);
}

}  // namespace tektite::gpu
