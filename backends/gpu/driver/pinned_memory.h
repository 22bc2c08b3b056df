// Pieces of the host's memory that a card copies from and to by itself, and room on the card for
// the frames of launches.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<PinnedPiece> piece, card.pinned().TakePiece());
//   std::memcpy(piece->host, from, bytes);                   // then copied by the card, later
//   ...                                                      // the copy has ended
//   card.pinned().Return(std::move(piece));
//
// Why: the driver copies from other memory by way of pinned memory of its own, and waits meanwhile.
// Pinning takes some milliseconds, so pieces are kept.  Thread-safe.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_PINNED_MEMORY_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_PINNED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/gpu/driver/driver_types.h"
#include "jit/backend/memory.h"

namespace tektite::gpu {

class Card;

// For copies.
struct PinnedPiece {
  std::byte* host = nullptr;
  CuEvent copied = nullptr;  // after its last copy, of a stream that has filled it
};

// For frames: the host writes them, one copy takes them to the card, kernels read them there.
struct FrameRoom {
  std::byte* host = nullptr;
  backend::Block device;
};

class PinnedMemory {
 public:
  static constexpr int64_t kPieceBytes = 2 << 20;
  static constexpr int64_t kFrameBytes = 64 << 10;  // of a room: some 500 frames

  explicit PinnedMemory(Card* card) : card_(*card) {}
  ~PinnedMemory();

  // The card's context is current in all of these.
  absl::StatusOr<std::unique_ptr<PinnedPiece>> TakePiece();
  absl::StatusOr<std::unique_ptr<FrameRoom>> TakeRoom();
  // Nothing on the card uses it any more.
  void Return(std::unique_ptr<PinnedPiece> piece);
  void Return(std::unique_ptr<FrameRoom> room);

 private:
  absl::StatusOr<std::byte*> Pin(int64_t bytes);
  void Destroy(const PinnedPiece& piece);
  void Destroy(const FrameRoom& room);

  Card& card_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<PinnedPiece>> pieces_;
  std::vector<std::unique_ptr<FrameRoom>> rooms_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_PINNED_MEMORY_H_
