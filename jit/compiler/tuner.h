// Which of a card's ways to make a kernel is the fastest: measured once, kept.
//
// Example(Tuner& tuner, const ir::Node& fusion, const target::Facts& facts,
//         std::vector<target::Offer>* offers):
//   tuner.Prefer(fusion, facts, offers);  // the fastest comes first, if it is known
//
// Why: no rule says which tile, or whether a library, is best for a shape on every card; a few
// milliseconds of running them does.  Prefer answers from memory or from the disk cache (entries of
// kind "tuning") and never measures: an unknown class is submitted to the Background, compiled in
// each way, and run on scratch buffers there, the usual way and one other in turns.  The least time
// between two events decides, and the usual way stays unless another one is kLeastGain faster.
// Code made later takes the result, most often in the next process.
//
// A class of shapes is a fusion around a contraction, or an attention, with its shapes and the ways
// that it can be made; a result holds for one model of card, build and version of the libraries.
// What follows a library's product is a kernel of its own, which reads and writes all results
// again: so all of the fusion counts.
//
// Limits: static shapes; operands of at most kMostBytes; kBudgetUs of processor time in a process,
// compiling included, after which no further class is measured.  Nothing is measured for CPUs
// (docs/design/schedules.md).
#ifndef TEKTITE_JIT_COMPILER_TUNER_H_
#define TEKTITE_JIT_COMPILER_TUNER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/backend/backend.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/key.h"
#include "jit/ir/graph.h"

namespace tektite::compiler {

class Tuner : public std::enable_shared_from_this<Tuner> {
 public:
  // Another way must need this part of the usual way's time less.
  static constexpr double kLeastGain = 0.03;
  static constexpr int64_t kMostBytes = int64_t{512} << 20;
  static constexpr int64_t kBudgetUs = 60'000'000;

  struct Result {
    std::string name;    // "convolution f32[1,56,56,64] f32[3,3,64,64]"
    std::string chosen;  // empty: not known yet
    std::vector<std::pair<std::string, double>> microseconds;  // of each candidate; usual one first
    bool from_disk = false;
  };

  // `backend` is the tuner's own; `disk` may be null.  Null for a back end without a
  // device, and for no back end.
  static std::shared_ptr<Tuner> Create(std::unique_ptr<backend::Backend> backend,
                                       std::shared_ptr<const cache::KeyEnvironment> environment,
                                       std::shared_ptr<cache::DiskStore> disk);

  // Moves the fastest of what the back end offers for this fusion to the front, if it is known.
  // Thread-safe.
  void Prefer(const ir::Node& fusion, const target::Facts& facts,
              std::vector<target::Offer>* offers);
  std::vector<Result> results() const;
  // Something that was asked for is being measured, or waits for it.
  bool IsMeasuring() const;

  // The bytes of a result on disk; Decode returns false for anything else.
  static std::string Encode(const Result& result);
  static bool Decode(absl::string_view text, Result* result);

 private:
  Tuner(std::unique_ptr<backend::Backend> backend,
        std::shared_ptr<const cache::KeyEnvironment> environment,
        std::shared_ptr<cache::DiskStore> disk);
  struct Waiting {
    std::string text;
    std::shared_ptr<const ir::Graph> graph;  // the fusion alone
    target::Facts facts;
  };
  void MeasureNextInBackground();
  void Measure(const Waiting& job);
  // The name of the fastest known of these; empty: none, or the usual one.
  std::string Fastest(const ir::Node& fusion, const target::Facts& facts,
                      const std::vector<std::string>& names);
  absl::Status Compare(const Waiting& job, const std::vector<target::Schedule>& schedules,
                       const std::function<bool()>& may_go_on, Result* result) const;
  bool LoadFromDisk(const std::string& text, Result* result);
  void Remember(const std::string& text, Result result, bool keep);

  const std::unique_ptr<backend::Backend> backend_;
  const std::shared_ptr<const cache::KeyEnvironment> environment_;
  const std::shared_ptr<cache::DiskStore> disk_;
  std::atomic<int64_t> spent_us_{0};

  mutable std::mutex mutex_;               // guards the members below
  std::map<std::string, Result> results_;  // by the class's text
  std::deque<Waiting> waiting_;
  bool measuring_ = false;
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_TUNER_H_
