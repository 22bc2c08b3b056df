// The memory that threads of a launch see, and what they must not do with it.
//
//   CheckedMemory memory(granule);
//   const int x = memory.AddBuffer("x", data, bytes, /*written=*/false);
//   memory.BeginLaunch();
//   memory.BeginBlock(&background);
//   TEKTITE_RETURN_IF_ERROR(memory.Read(thread, {x, 16}, 4, &value));
//   memory.Barrier();
//
// For every granule (the least number of bytes that the kernel accesses) it is known who wrote it
// last and who has read it since, counted in epochs: an epoch ends at a barrier and with a block.
// Two threads of a launch race if they touch a granule, at least one writes, and they are of
// different blocks or in the same epoch; of a warp, if it has not met in between either; of two
// warps, if the later one has not waited for a signal at which the other one has arrived since it
// met.  Reported as well: accesses outside of a region, addresses that are not a multiple of what
// the code relies on, writes to buffers that are said to be read only, and reads of shared memory
// and scratch that nothing has written.
//
// Limits: the order in which the interpreter runs threads hides no race, but a race that depends on
// data shows with that data only.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_CHECKED_MEMORY_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_CHECKED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "jit/llvm/loop_ir.h"
#include "tests/gpu/interpreter/asynchronous.h"

namespace tektite::gpu {

// An address: a region by its number, and a byte in it.
struct Place {
  int64_t region = 0;
  int64_t offset = 0;
};

class CheckedMemory {
 public:
  // `granule`: 1, 2, 4 or 8; divides the bytes of every access.
  explicit CheckedMemory(int granule) : granule_(granule), granule_shift_(__builtin_ctz(granule)) {}

  // Before the first launch.  Buffers may share bytes.  Borrows `data`.
  int AddBuffer(absl::string_view name, void* data, int64_t bytes, bool written);
  // Of all launches, of a block.
  int AddScratch(int64_t bytes);
  int AddShared(int64_t bytes);

  void BeginLaunch();
  // `background`: the block's; what its signals make known.  Borrowed until the next block.
  void BeginBlock(const Asynchronous* background) {
    block_begin_ = ++epoch_;
    background_ = background;
  }
  void Barrier() { ++epoch_; }
  // The threads of a warp have met.
  void WarpBarrier(int warp) { ++warp_steps_[static_cast<size_t>(warp)]; }
  // How often they have.
  uint32_t StepOfWarp(int warp) const { return warp_steps_[static_cast<size_t>(warp)]; }

  // `alignment`: what the address must be a multiple of.
  absl::Status Read(int thread, Place at, int64_t bytes, int64_t alignment, void* to);
  absl::Status Write(int thread, Place at, int64_t bytes, int64_t alignment, const void* from);
  // A write in the background: until it ends, no thread may touch the bytes.
  absl::Status BeginCopy(int thread, Place to, int64_t bytes);
  absl::Status EndCopy(int thread, Place to, int64_t bytes, const void* from);
  // Shared memory, for an instruction that goes on reading: who may write there again is for
  // asynchronous.h to find out.
  absl::Status ReadInBackground(Place at, int64_t bytes, void* to);

 private:
  enum class Kind { kBuffer, kScratch, kShared };
  // What happened to a granule.  Epoch 0: nothing yet.
  struct Granule {
    uint32_t write_epoch = 0, read_epoch = 0, copy_epoch = 0;
    uint32_t write_step = 0, read_step = 0;     // of the thread's warp
    int16_t write_thread = 0, read_thread = 0;  // kSeveral: more than one in that epoch
    bool read_by_earlier_block = false;
  };
  struct Region {
    std::string name;
    Kind kind;
    std::byte* data;
    int64_t bytes;
    bool written;
    std::vector<std::byte> owned;
    Granule* granules = nullptr;  // the first byte's; of a buffer, since the first block
  };
  // What buffers that overlap occupy.
  struct Extent {
    std::byte* begin;
    std::byte* end;
  };

  Granule* NewGranules(int64_t bytes);
  int AddOwned(absl::string_view name, Kind kind, int64_t bytes);
  inline absl::Status CheckAddress(const Region& region, Place at, int64_t bytes,
                                   int64_t alignment) const;
  inline absl::Status NoteRead(const Region& region, Granule& granule, int thread, Place at) const;
  inline absl::Status NoteWrite(const Region& region, Granule& granule, int thread, Place at) const;
  // Whether what was written in `epoch` is still there: shared memory is another one in each block.
  bool IsThere(const Region& region, uint32_t epoch) const {
    return epoch != 0 && (region.kind != Kind::kShared || epoch >= block_begin_);
  }
  // Whether what happened in `epoch` can race with what happens now.
  bool Counts(const Region& region, uint32_t epoch) const {
    return epoch >= launch_begin_ && IsThere(region, epoch);
  }
  inline absl::Status CheckWriter(const Region& region, const Granule& granule, int thread,
                                  Place at, absl::string_view what) const;
  // `what` a thread does meanwhile.
  inline absl::Status CheckCopy(const Granule& granule, const Region& region, Place at,
                                absl::string_view what) const;
  // Whether what `other` did at `step` is known where `thread` is now: their warp has met since, or
  // a signal has told.
  bool IsKnown(int other, uint32_t step, int thread) const {
    if (other < 0) return false;
    const int own = thread / loop::kWarpThreads, its = other / loop::kWarpThreads;
    return step < (own == its ? StepOfWarp(own) : background_->StepKnownTo(own, its));
  }
  uint32_t StepOf(int thread) const { return StepOfWarp(thread / loop::kWarpThreads); }
  absl::Status Race(const Region& region, Place at, absl::string_view what, uint32_t epoch,
                    int other, absl::string_view did) const;

  const int granule_, granule_shift_;  // and its logarithm
  uint32_t epoch_ = 0, launch_begin_ = 0, block_begin_ = 0;
  const Asynchronous* background_ = nullptr;
  std::array<uint32_t, loop::kMostThreads / loop::kWarpThreads> warp_steps_ = {};
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<Extent> extents_;
  std::vector<std::unique_ptr<std::vector<Granule>>> granules_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_CHECKED_MEMORY_H_
