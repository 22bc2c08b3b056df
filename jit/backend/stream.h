// Streams: the order in which a device runs kernels and copies; and the device behind them.
//
//   TEKTITE_RETURN_IF_ERROR(device.WithStream(options, [&](Stream& stream) {
//     stream.CopyFromHost(x, values, bytes);
//     stream.Launch(kernel, kernel.Configure(sizes), {x, y}, sizes);
//     stream.CopyToHost(result, y, bytes);
//     return stream.Synchronize();
//   }));
//
// A stream runs its launches and copies in the order of the calls, possibly later: after
// Synchronize all of them have run.  Two streams are ordered by events alone.  The host's device
// (jit/runtime/host_device.h) runs each launch before it returns, its chunks on the threads of
// HostPool.
//
// A card's stream may be the host's own (StreamOptions::host_stream): the work stands between what
// the host told it before and what it tells it later, and End does not wait for it.
//
// Errors of single launches and copies are kept and returned by Synchronize; after one, nothing
// more runs.
#ifndef TEKTITE_JIT_BACKEND_STREAM_H_
#define TEKTITE_JIT_BACKEND_STREAM_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/backend/kernel.h"
#include "jit/backend/memory.h"

namespace tektite::backend {

// The threads that the caller of a compiled graph offers.
struct HostPool {
  int num_threads = 0;  // the caller not counted
  void* context = nullptr;
  // Runs fn(arg) once, some time, on another thread; does not block.
  void (*schedule)(void* context, void (*fn)(void*), void* arg) = nullptr;
  int64_t spin_ns = 0;  // how long a worker may look for the next call (ready_workers.h)
  // The host's own work follows a call on the same threads: a worker that looked for the next call
  // would take a core from it.  (An LSTM's training step on two threads took 1.27 times stock
  // TensorFlow's time with workers that stayed, 0.90 without.)
  bool is_shared = false;
};

// Where the time of calls goes, added up over calls; kept with Executable::Options::profile.  The
// clock is read twice a kernel and a claim, some 0.1 us.
struct CallTimes {
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> whole{0};    // nanoseconds, as all that follow: in the compiled code's hands
  std::atomic<int64_t> team{0};     // of these: from the team's start to its end
  std::atomic<int64_t> shared{0};   // of these: kernels whose chunks were offered to workers
  std::atomic<int64_t> alone{0};    // and kernels that the caller ran by itself
  std::atomic<int64_t> waiting{0};  // of `shared`: the caller waited for workers' chunks
  std::atomic<int64_t> helping{0};  // workers in chunks
  std::atomic<int64_t> absent{0};   // before the first worker came, or all of a call if none did
  std::atomic<int64_t> unhelped{0};  // calls that asked for workers, and none came in time
};

inline bool NeverCancelled() { return false; }

// The properties that all launches and copies of a stream share.  Borrows everything.
struct StreamOptions {
  HostPool pool;
  double cost_ns = 0;         // of all launches
  int64_t scratch_bytes = 0;  // the most that a launch needs
  void* scratch = nullptr;    // so many bytes, in the device's memory
  CallTimes* times = nullptr;
  bool has_loops = false;  // so that cost_ns is a guess
  // Whether the results are needed no more.  Asked on any thread, for each millisecond or so of
  // work; after a yes the rest is left out, and Synchronize returns Cancelled.
  absl::FunctionRef<bool()> is_cancelled = NeverCancelled;
  // The host's stream of this device, as the driver calls it; null: one of the device's own.  Other
  // threads may tell it something meanwhile, so that its work may lie between this.
  void* host_stream = nullptr;
};

// A point in a stream.
class Event {
 public:
  virtual ~Event() = default;
};

// For one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  // `config` is the kernel's for `sizes`.  `buffers` are addresses in the device's memory: the
  // fusion's operands in order, then its results.  Both spans must stay as they are until
  // Synchronize or End.
  virtual void Launch(const Kernel& kernel, const LaunchConfig& config,
                      absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) = 0;
  // One side is the device's memory, the other the host's.  `from` must stay as it is until
  // Synchronize or End; 0 bytes are fine with null pointers.
  virtual void CopyFromHost(void* to, const void* from, int64_t bytes) = 0;
  virtual void CopyToHost(void* to, const void* from, int64_t bytes) = 0;
  // Both sides are the device's memory and do not overlap.
  virtual void CopyWithin(void* to, const void* from, int64_t bytes) = 0;
  // All that the stream was told before; another stream of the device may wait for it.
  virtual std::unique_ptr<Event> Record() = 0;
  // The same, with the time at which it is reached.
  virtual std::unique_ptr<Event> RecordTime() { return Record(); }
  // The device's time between two such events that have been reached.
  virtual absl::StatusOr<double> MicrosecondsBetween(const Event& begin, const Event& end) {
    return absl::UnimplementedError("this device does not measure time");
  }
  // All later launches and copies begin after the event.
  virtual void Wait(const Event& event) = 0;
  // Waits until all has run.  OK, Cancelled, or the error of the device.
  virtual absl::Status Synchronize() = 0;
  // The last call of a body: as Synchronize, but on the host's stream it waits only where something
  // was copied to the host.  What it does not wait for ends before what the host tells the stream
  // next, and an error of that is seen by a later call.
  virtual absl::Status End() { return Synchronize(); }
  // `thing` goes when all that the stream was told has run, if End does not wait for that.
  virtual void Keep(std::shared_ptr<const void> thing) {}
};

// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual Memory& memory() = 0;
  bool is_host() { return memory().space() == MemorySpace::kHost; }
  // OK, or why nothing runs on it any more: it broke down, or it is the process's that this one was
  // forked from.
  virtual absl::Status status() const { return absl::OkStatus(); }
  // Calls `body` with a stream, returns what it returns.  The body must synchronize or end: on a
  // stream of the device's own, work that is left over has finished when WithStream returns, and
  // its errors are lost.
  virtual absl::Status WithStream(const StreamOptions& options,
                                  absl::FunctionRef<absl::Status(Stream&)> body) = 0;
  // Waits for what the host's streams still run, and lets go of what was kept for it.
  virtual void Drain() {}
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_STREAM_H_
