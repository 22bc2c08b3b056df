// One GPU as a device: its memory, its streams, and what happened to it.
//
//   TEKTITE_ASSIGN_OR_RETURN(const Driver* driver, Driver::OfThisMachine());
//   TEKTITE_ASSIGN_OR_RETURN(std::shared_ptr<Card> card, Card::Open(driver, /*number=*/0, limit));
//   backend::Block block = card->memory().Allocate(bytes);
//   card->WithStream(options, [&](backend::Stream& stream) { ... });
//
// A card uses its primary context, which other users of CUDA in the process share, and leaves every
// thread's current context as it was.  Streams, events' order, and pinned memory are described in
// card_stream.h; recorded launches in launch_graphs.h.
//
// Errors are of three kinds.  Out of memory is ResourceExhausted.  An error after which the driver
// refuses everything (a fault of a kernel, an uncorrectable error of memory) loses the card: it and
// every later use are Aborted, in one line, and a process has to be started anew to use the card
// again.  A child made by fork cannot use its parent's card either: Aborted, too, without a call of
// the driver, and what the child gives back is the parent's and stays.  All other errors are
// Internal.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_CARD_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_CARD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/driver/card_memory.h"
#include "backends/gpu/driver/driver.h"
#include "backends/gpu/driver/pinned_memory.h"
#include "jit/backend/stream.h"

namespace tektite::gpu {

class LaunchGraphs;
class UnfinishedWork;

class Card final : public backend::Device {
 public:
  // `memory_limit`: bytes of the card's memory that may be taken; 0: all it has.  Unavailable for a
  // number that no card has, Unimplemented for one that the driver cannot give memory pools for.
  static absl::StatusOr<std::shared_ptr<Card>> Open(const Driver* driver, int number,
                                                    int64_t memory_limit = 0);
  ~Card() override;

  backend::Memory& memory() override { return *memory_; }
  absl::Status WithStream(const backend::StreamOptions& options,
                          absl::FunctionRef<absl::Status(backend::Stream&)> body) override;
  // OK, or why nothing runs on it any more.
  absl::Status status() const override;
  void Drain() override;

  // "gpu:0".
  const std::string& name() const { return name_; }
  // "NVIDIA H200".
  const std::string& model() const { return model_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  int multiprocessors() const { return multiprocessors_; }
  const Driver& driver() const { return driver_; }

  // ---- for what lies on the card: memory, streams, kernels ----
  // Makes the card's context the thread's, and puts back what was there.
  class Scope {
   public:
    explicit Scope(const Card& card);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const Driver& driver_;
    bool is_pushed_ = false;
  };
  // What the driver answered as a status; `what` says what it was asked: "copying to the card".
  // Notes that the card is lost.
  absl::Status Check(CuResult result, absl::string_view what) const;
  // Whether the driver may still be asked to take something back.
  bool takes_back() const { return status().ok(); }
  PinnedMemory& pinned() { return *pinned_; }
  LaunchGraphs& graphs() { return *graphs_; }
  UnfinishedWork& unfinished() { return *unfinished_; }
  absl::StatusOr<CuStream> TakeStream();
  void ReturnStream(CuStream stream);

 private:
  explicit Card(const Driver* driver, int number);
  absl::Status Start(int number, int64_t memory_limit);
  int Attribute(CuDeviceAttribute attribute) const;

  const Driver& driver_;
  const std::string name_;
  std::string model_;
  int major_ = 0, minor_ = 0, multiprocessors_ = 0;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  mutable std::atomic<bool> is_lost_{false};
  mutable std::mutex lost_mutex_;
  mutable std::string lost_;  // why

  std::unique_ptr<CardMemory> memory_;
  std::unique_ptr<PinnedMemory> pinned_;
  std::unique_ptr<LaunchGraphs> graphs_;
  std::unique_ptr<UnfinishedWork> unfinished_;  // last: it returns to those above
  std::mutex streams_mutex_;
  std::vector<CuStream> idle_streams_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_CARD_H_
