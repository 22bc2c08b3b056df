// What a card still needs for launches and copies that nobody waits for.
//
//   UnfinishedWork::Needs needs;
//   needs.rooms.push_back(std::move(room));              // read by launches on the stream
//   card.unfinished().Add(stream, std::move(needs));     // goes some time after they have run
//   card.unfinished().Collect();                         // now and then: what has run lets go
//
// Why: on a host's stream a call returns before the card has run it.  Each addition is an event in
// the stream; nothing waits for one but Wait, and Add where kMost are behind.  Thread-safe.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_UNFINISHED_WORK_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_UNFINISHED_WORK_H_

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/gpu/driver/driver_types.h"
#include "backends/gpu/driver/launch_graphs.h"
#include "backends/gpu/driver/pinned_memory.h"

namespace tektite::gpu {

class Card;

class UnfinishedWork {
 public:
  // Calls that the card may be behind: each holds pinned memory for its frames.
  static constexpr size_t kMost = 64;

  struct Needs {
    std::vector<std::unique_ptr<LaunchGraphs::Graph>> graphs;
    std::vector<std::unique_ptr<FrameRoom>> rooms;
    std::vector<std::unique_ptr<PinnedPiece>> pieces;
    std::vector<std::shared_ptr<const void>> kept;

    bool empty() const { return graphs.empty() && rooms.empty() && pieces.empty() && kept.empty(); }
    // To where the card has them from.  Nothing on the card uses them any more.
    void Return(Card& card);
  };

  explicit UnfinishedWork(Card* card) : card_(*card) {}
  ~UnfinishedWork();

  // The card's context is current in all of these.
  void Add(CuStream stream, Needs needs);
  void Collect();
  void Wait();
  bool empty();

 private:
  struct Entry {
    CuEvent reached = nullptr;
    Needs needs;
  };
  CuEvent TakeEvent();
  // The oldest entry, once it has been reached; no event: there is none, or it has not.
  Entry TakeOldest(bool waits);
  void Finish(Entry entry);

  Card& card_;
  std::mutex mutex_;  // guards what follows; never held while something is let go of
  std::deque<Entry> entries_;
  std::vector<CuEvent> idle_events_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_UNFINISHED_WORK_H_
