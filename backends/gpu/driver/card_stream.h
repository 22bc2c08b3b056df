// A stream of a card.
//
// Launches that follow each other are a run: their frames are collected, and when something else
// comes (a copy, an event, Synchronize) one copy takes them to the card and the kernels are
// launched, as one graph where the run is known (launch_graphs.h).
//
// Copies from and to the host go by way of pinned pieces (pinned_memory.h): what is copied from the
// host has been read when the call returns; what is copied to the host is there after Synchronize,
// which writes all of it or, where something failed, nothing but what filled a piece before.
//
// Whether the call was cancelled is asked before each run and copy, and what was told before that
// ends in any case.
//
// On a stream of the host's nothing is waited for but copies to the host: what the card still needs
// stays until it has run (unfinished_work.h).  Launches are recorded on a stream of the card's own,
// since others may tell the host's something meanwhile.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_CARD_STREAM_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_CARD_STREAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/gpu/driver/card.h"
#include "backends/gpu/driver/launch_graphs.h"
#include "backends/gpu/driver/unfinished_work.h"
#include "jit/backend/stream.h"

namespace tektite::gpu {

class CardStream final : public backend::Stream {
 public:
  // Borrows the card, whose context is current as long as the stream exists, and the handle.
  CardStream(Card* card, CuStream handle, const backend::StreamOptions& options);
  ~CardStream() override;

  void Launch(const backend::Kernel& kernel, const backend::LaunchConfig& config,
              absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) override;
  void CopyFromHost(void* to, const void* from, int64_t bytes) override;
  void CopyToHost(void* to, const void* from, int64_t bytes) override;
  void CopyWithin(void* to, const void* from, int64_t bytes) override;
  std::unique_ptr<backend::Event> Record() override { return Record(kCuEventWithoutTiming); }
  std::unique_ptr<backend::Event> RecordTime() override { return Record(/*flags=*/0); }
  absl::StatusOr<double> MicrosecondsBetween(const backend::Event& begin,
                                             const backend::Event& end) override;
  void Wait(const backend::Event& event) override;
  absl::Status Synchronize() override;
  absl::Status End() override;
  void Keep(std::shared_ptr<const void> thing) override;

 private:
  // What a piece holds that belongs to the host.
  struct Delivery {
    void* to;
    int64_t offset, bytes;
  };
  struct Piece {
    std::unique_ptr<PinnedPiece> memory;
    int64_t used = 0;
    std::vector<Delivery> deliveries;
  };

  std::unique_ptr<backend::Event> Record(unsigned flags);
  // Whether anything may still be told to the card; asks whether the call was cancelled.
  bool GoesOn();
  void Note(const absl::Status& status);
  void Note(CuResult result, absl::string_view what) { Note(card_.Check(result, what)); }
  // Tells the card the launches that were collected.
  void Flush();
  void FlushSingly();
  std::unique_ptr<LaunchGraphs::Graph> TakeGraph();
  // One launch.
  void Tell(const CardKernel& kernel, absl::Span<void* const> buffers,
            absl::Span<const int64_t> sizes);
  bool HasRoom(int64_t frame_bytes);
  // A piece with some room; null after an error.
  Piece* TakePiece();
  // Waits until the card has done with a full piece, and delivers.
  void Finish(Piece& piece);
  static void Deliver(Piece& piece);

  bool is_hosts() const { return options_.host_stream != nullptr; }

  Card& card_;
  const CuStream handle_;
  const backend::StreamOptions options_;
  absl::Status status_;

  LaunchGraphs::Run run_;
  std::vector<std::unique_ptr<FrameRoom>> rooms_;  // frames are collected in the last one
  int64_t room_used_ = 0;                          // of the last one, by earlier runs
  std::vector<std::unique_ptr<LaunchGraphs::Graph>> graphs_;  // that were told to the card
  std::vector<std::shared_ptr<const void>> kept_;

  static constexpr size_t kPieces = 2;  // one is filled while the card copies the other
  Piece pieces_[kPieces];
  size_t piece_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_CARD_STREAM_H_
