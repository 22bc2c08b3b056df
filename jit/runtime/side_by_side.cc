// Loops of one round: a turn of each is one chunk of a kernel, so that threads take turns of
// different loops at the same time and meet once a turn.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "jit/runtime/launch.h"
#include "jit/runtime/threads/thread_team.h"

namespace tektite::runtime {
namespace {

// Runs everything at once, on this thread.
class ThreadStream final : public backend::Stream {
 public:
  explicit ThreadStream(void* scratch) : scratch_(scratch) {}
  void Launch(const backend::Kernel& kernel, const backend::LaunchConfig& config,
              absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) override {
    static_cast<const backend::HostKernel&>(kernel).Run({buffers.data(), sizes.data(), scratch_}, 0,
                                                        config.num_chunks);
  }
  void CopyFromHost(void* to, const void* from, int64_t bytes) override {
    CopyWithin(to, from, bytes);
  }
  void CopyToHost(void* to, const void* from, int64_t bytes) override {
    CopyWithin(to, from, bytes);
  }
  void CopyWithin(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  std::unique_ptr<backend::Event> Record() override { return std::make_unique<backend::Event>(); }
  void Wait(const backend::Event&) override {}
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  void* const scratch_;
};

}  // namespace

// A kernel whose chunks are the next turns of loops that go on.
class Launch::Turns final : public backend::HostKernel {
 public:
  Turns(const Launch& launch, const Context& context) : launch_(launch), context_(context) {}

  void Add(const Turning& turning) { loops_.push_back(turning); }
  size_t num_loops() const { return loops_.size(); }
  // Ends those that have taken their last turn.
  void EndFinished() {
    const auto is_at_end = [this](Turning& turning) {
      if (turning.goes_on) return false;
      launch_.EndLoop(&turning, context_);
      return true;
    };
    loops_.erase(std::remove_if(loops_.begin(), loops_.end(), is_at_end), loops_.end());
  }
  bool RunRest() {
    for (Turning& turning : loops_) {
      while (turning.goes_on) {
        if (!launch_.RunTurn(&turning, context_)) return false;
      }
    }
    EndFinished();
    return true;
  }

  backend::LaunchConfig Configure(absl::Span<const int64_t>) const override {
    backend::LaunchConfig config;
    config.num_chunks = static_cast<int64_t>(loops_.size());
    config.scratch_bytes = launch_.scratch_bytes();
    for (const Turning& turning : loops_) config.cost_ns += turning.loop->turn_ns;
    return config;
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    ThreadStream stream(frame.scratch);
    absl::Status status;  // no step is the host's own on a device that is the host
    const Context context{context_.pointers, stream, {}, /*watch=*/nullptr, status};
    for (int64_t i = begin; i < end; ++i) launch_.RunTurn(&loops_[i], context);
  }

 private:
  const Launch& launch_;
  const Context& context_;
  mutable std::vector<Turning> loops_;  // each is its chunk's alone
};

bool Launch::RunLoops(const PreparedStep& first, const Context& context) const {
  const PreparedStep* const end = &first + first.round_steps;
  if (!PaysSideBySide(first, 1 + context.pool.num_threads)) {
    return std::all_of(&first, end,
                       [&](const PreparedStep& step) { return RunLoop(step, context); });
  }
  Turns turns(*this, context);
  for (const PreparedStep* step = &first; step != end; ++step) turns.Add(BeginLoop(*step, context));
  while (turns.num_loops() > 1) {
    context.stream.Launch(turns, turns.Configure({}), {}, {});
    if (!context.stream.Synchronize().ok()) return false;
    turns.EndFinished();
  }
  return turns.RunRest();
}

// Compares how long a turn of all loops takes: one after the other, where threads share the
// kernels that are large enough, or each on a thread of its own.
bool Launch::PaysSideBySide(const PreparedStep& first, int num_threads) const {
  double one_by_one = 0, longest = 0, all = 0;
  for (const PreparedStep* step = &first; step != &first + first.round_steps; ++step) {
    const Control& loop = controls_[step->control];
    one_by_one += loop.turn_ns - loop.divisible_ns * (1 - 1.0 / num_threads);
    longest = std::max(longest, loop.turn_ns);
    all += loop.turn_ns;
  }
  if (num_threads < 2 || all < ThreadTeam::kShareWithPresentNs) return false;
  return std::max(longest, all / num_threads) < one_by_one;
}

double Launch::DivisibleNs(Range range) const {
  double sum_ns = 0;
  for (int i = range.begin; i < range.end; ++i) {
    const PreparedStep& step = steps_[i];
    if (step.control >= 0) {
      sum_ns += controls_[step.control].divisible_ns;
    } else if (step.launch.num_chunks > 1 &&
               step.launch.cost_ns >= ThreadTeam::kShareWithPresentNs) {
      sum_ns += step.launch.cost_ns;
    }
  }
  return sum_ns;
}

}  // namespace tektite::runtime
