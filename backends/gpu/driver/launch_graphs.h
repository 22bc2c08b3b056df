// Runs of launches that calls repeat, recorded once and launched as a whole: CUDA graphs.
//
//   LaunchGraphs::Run run;                               // what a stream was told without a copy
//   run.Add(kernel, blocks);                             // ... its frames lie behind each other
//   if (auto graph = graphs.Take(run, stream)) {         // known from earlier calls, and idle
//     std::memcpy(graph->room->host, frames, run.frame_bytes());
//     driver.GraphLaunch(graph->executable, stream);
//     graphs.Return(std::move(graph));                   // after the stream was synchronized
//   }
//
// A run is known by its kernels and their numbers of blocks, so that calls of the same sizes have
// the same run.  Addresses and sizes stand in the frames, which are data: a graph begins with the
// copy of its frames to the card, and is never updated.  What a library launches is
// recorded with its addresses, which are part of what the run is known by: arenas are used again,
// so that these seldom change.  A library's call that cannot be recorded is told alone from then
// on.  A graph has room for frames of its own, so
// only one stream runs it at a time; calls that overlap have a graph each, up to kMostAtOnce.
//
// Recording takes a few hundred microseconds, and begins with a run's third call.  The last
// kMostRuns runs are kept.  Where the driver cannot record, launches are single.  Thread-safe.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_LAUNCH_GRAPHS_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_LAUNCH_GRAPHS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "backends/gpu/driver/card_kernel.h"
#include "backends/gpu/driver/pinned_memory.h"

namespace tektite::gpu {

class LaunchGraphs {
 public:
  static constexpr int kCallsBefore = 2;
  static constexpr int kMostAtOnce = 4;
  static constexpr size_t kMostRuns = 256;
  // A shorter run gains nothing.
  static constexpr size_t kFewestLaunches = 2;

  // Launches behind each other, whose frames do so, too.
  class Run {
   public:
    struct Step {
      const CardKernel* kernel;
      int64_t blocks;
      int64_t frame;  // offset of its frame, in bytes
      // Of a library's call, which is told them and reads no frame: its buffers, then its
      // workspace.
      std::vector<CuAddress> addresses;
    };
    // `frame`: the words that FillFrame has filled.
    void Add(const CardKernel& kernel, int64_t blocks, const uint64_t* frame);
    void Clear();
    bool empty() const { return steps_.empty(); }
    const std::vector<Step>& steps() const { return steps_; }
    int64_t frame_bytes() const { return frame_bytes_; }
    // Equal for runs of the same kernels and blocks, and of the same addresses of libraries' calls.
    const std::vector<uint64_t>& key() const { return key_; }

   private:
    std::vector<Step> steps_;
    std::vector<uint64_t> key_;
    int64_t frame_bytes_ = 0;
  };

  struct Entry;
  struct Graph {
    std::unique_ptr<FrameRoom> room;
    CuGraphExec executable = nullptr;
    std::shared_ptr<Entry> entry;
  };

  explicit LaunchGraphs(Card* card);
  ~LaunchGraphs();

  // Null: launch singly.  Records on `stream`, to which nothing may be told meanwhile.  The card's
  // context is current.
  std::unique_ptr<Graph> Take(const Run& run, CuStream stream);
  // The card has run it.
  void Return(std::unique_ptr<Graph> graph);
  // Tells `stream` the launches of a run whose frames lie at `frames` on the card.
  absl::Status Launch(const Run& run, const std::byte* frames, CuStream stream) const;

  int64_t recorded() const { return recorded_.load(std::memory_order_relaxed); }

 private:
  // mutex_ is held; what has to go, so that no more than kMostRuns are kept, is for the caller to
  // destroy.
  std::shared_ptr<Entry> Find(const std::vector<uint64_t>& key,
                              std::vector<std::unique_ptr<Graph>>* evicted);
  std::unique_ptr<Graph> TakeKnown(const Run& run, CuStream stream,
                                   std::vector<std::unique_ptr<Graph>>* evicted);
  absl::Status Record(const Run& run, CuStream stream, Graph* graph) const;
  void Destroy(std::unique_ptr<Graph> graph);

  Card& card_;
  std::mutex mutex_;  // guards what follows, and what is in entries
  absl::flat_hash_map<std::vector<uint64_t>, std::shared_ptr<Entry>> entries_;
  uint64_t clock_ = 0;
  std::atomic<bool> cannot_record_{false};
  std::atomic<int64_t> recorded_{0};
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_LAUNCH_GRAPHS_H_
