// What a block of sm_90a has under way in the background: signals, copies of tensors and products
// of warpgroups (jit/llvm/warpgroup.h), and who knows of whom that it has ended.
//
//   Asynchronous background(warps);
//   TEKTITE_RETURN_IF_ERROR(background.Arrive(warp, signal, bytes));
//   TEKTITE_ASSIGN_OR_RETURN(bool ended, background.HasEnded(warp, signal, parity));
//
// A copy ends when a thread asks for its signal, so as late as it may.  A warp counts its arrivals,
// and by signals it learns how far others have counted: so faults are found whatever the order is
// in which the interpreter runs the roles of a block.  They learn as well how often others had met
// when they arrived, so which of their ordinary writes are seen (checked_memory.h).  Faults are
//   - bytes that a product reads without having waited for the signal of their copy
//   - a copy to bytes that a product may still read: it has not been waited for, or no signal from
//     that warp has come since
//   - more arrivals in a phase than its signal counts, a signal that is not there.
// Reads of bytes while a copy to them is under way are checked_memory.h's.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_ASYNCHRONOUS_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_ASYNCHRONOUS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tektite::gpu {

// Bytes of shared memory.
struct SharedRange {
  int64_t begin, end;
  bool Overlaps(const SharedRange& other) const { return begin < other.end && other.begin < end; }
};

class Asynchronous {
 public:
  explicit Asynchronous(int warps) : warps_(warps) { BeginBlock(); }
  void BeginBlock();
  // All warps have met.
  void Barrier();

  // ---- signals, by their first byte in shared memory ----
  absl::Status Init(int64_t signal, int64_t arrivals);
  // `bytes`: announced; `step`: how often the warp has met.
  absl::Status Arrive(int warp, int64_t signal, int64_t bytes, uint32_t step);
  // How often `other` had met when it told `warp` last, by signals.
  uint32_t StepKnownTo(int warp, int other) const {
    return clocks_[static_cast<size_t>(warp)][static_cast<size_t>(warps_ + other)];
  }
  // Whether the phase of this parity has; the warp then knows what those knew that have arrived.
  absl::StatusOr<bool> HasEnded(int warp, int64_t signal, int64_t parity);
  // Grows with every arrival: without one, no waiting role goes on.
  uint64_t events() const { return events_; }

  // ---- copies ----
  struct Copy {
    int thread;
    int64_t signal;
    SharedRange to;
    std::vector<std::byte> bytes;
  };
  absl::Status BeginCopy(int warp, Copy copy);
  // Those that report to a signal: for the caller to write to memory.
  std::vector<Copy> EndCopies(int64_t signal);

  // ---- products, which end in the order in which they began ----
  absl::Status BeginRead(int warp, const SharedRange& range);
  // Number of the product that BeginRead was called for.
  int64_t BeginProduct() { return ++begun_; }
  void EndProducts(int64_t under_way);
  int64_t ended() const { return ended_; }

 private:
  // Of each warp: how many arrivals are known, then how often it had met.
  using Clock = std::vector<uint32_t>;
  Clock NothingKnown() const { return Clock(2 * static_cast<size_t>(warps_), 0); }
  struct Signal {
    int64_t arrivals = 0, missing = 0, bytes = 0;
    int64_t phase = 0;   // that is under way
    Clock known, ended;  // by those that have arrived, and had at the end of the last phase
  };
  struct Landed {
    SharedRange range;
    int64_t signal, phase;
  };
  struct Read {
    SharedRange range;
    int warp;
    int64_t product;
    uint32_t time;  // of the warp when it knew of the end; 0: not yet
  };

  absl::StatusOr<Signal*> Find(int64_t signal);
  static void Join(Clock& to, const Clock& from);
  void EndPhase(Signal& signal);

  const int warps_;
  std::vector<Clock> clocks_;  // of each warp
  std::map<int64_t, Signal> signals_;
  std::map<std::pair<int, int64_t>, int64_t> seen_;  // phases that a warp has seen end, of a signal
  std::vector<Copy> copies_;                         // under way
  std::vector<Landed> landed_;
  std::vector<Read> reads_;
  int64_t begun_ = 0, ended_ = 0;
  uint64_t events_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_ASYNCHRONOUS_H_
