// The speed of an artifact against the host's kernels, as other shapes have shown it.
//
// Why: code for all shapes meets new ones all the time.  Trying each of them against the host's
// kernels would leave a good part of the calls to these.
//
//   KnownRatios known_ratios;
//   known_ratios.Add(artifact, /*work=*/4096, /*ratio=*/0.6);   // compiled code took 0.6 of the
//   time known_ratios.Find(artifact, 3000)                           // {0.6, 0.6}: an octave away
//   at most
//
// A ratio counts for calls of its octave of work and the next on either side, and for whatever lies
// between two that are known.  A comparison's result counts at once, single pairs of calls when
// there are three of them: a comparison of ten calls in one class of shapes may take long to end.
// Thread-safe.  Limits: the last 64 artifacts are known.
#ifndef TEKTITE_JIT_SERVING_KNOWN_RATIOS_H_
#define TEKTITE_JIT_SERVING_KNOWN_RATIOS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace tektite::serving {

class KnownRatios {
 public:
  // Compiled over host time: what to expect at best and at worst.
  struct Range {
    double best, worst;
  };

  // The result of a comparison.
  void Add(uint64_t artifact, double work, double ratio);
  // A call of either side, of a comparison that has not ended.
  void AddPair(uint64_t artifact, double work, double ratio);
  // Nothing when nothing like it has been tried.
  std::optional<Range> Find(uint64_t artifact, double work) const;

 private:
  struct Seen {
    int pairs = 0;
    Range range = {0, 0};
  };
  static constexpr size_t kMostArtifacts = 64;
  static constexpr int kEnoughPairs = 3;

  // The mutex is held.
  Seen& At(uint64_t artifact, double work);

  mutable std::mutex mutex_;
  // Newer artifacts have higher numbers.
  std::map<uint64_t, std::map<int, Seen>> seen_;  // by artifact and octave
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_KNOWN_RATIOS_H_
