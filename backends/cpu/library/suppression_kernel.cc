// non_max_suppression. A box is compared with eight of those taken before at a time, and candidates
// are put in order only as far as they are needed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/library/library_kernel.h"
#include "jit/ops/non_max_suppression.h"

#ifdef __x86_64__
#include <immintrin.h>
#define TEKTITE_WITH_AVX2 __attribute__((target("avx2")))
#else
#define TEKTITE_WITH_AVX2
#endif

namespace tektite::cpu {
namespace {

using ops::OrderedBox;
using ops::Suppression;

using Vector = float __attribute__((vector_size(32)));
using Truths = int32_t __attribute__((vector_size(32)));
constexpr int64_t kLanes = 8;

TEKTITE_WITH_AVX2 inline bool AnyOf(Truths lanes) {
#ifdef __x86_64__
  return _mm256_movemask_ps((__m256)lanes) != 0;
#else
  int32_t any = 0;
  for (int64_t i = 0; i < kLanes; ++i) any |= lanes[i];
  return any != 0;
#endif
}

// The boxes taken so far, eight side by side; unused places of the last eight overlap nothing.
class TakenBoxes {
 public:
  void Add(const OrderedBox& box) {
    const int64_t lane = count_++ % kLanes;
    if (lane == 0) blocks_.push_back(Block{});
    Block& block = blocks_.back();
    block.y_min[lane] = box.y_min;
    block.x_min[lane] = box.x_min;
    block.y_max[lane] = box.y_max;
    block.x_max[lane] = box.x_max;
    block.area[lane] = box.area;
  }

  // Whether any of them has more than `limit` >= 0 in common with the box. The last ones first:
  // boxes of similar scores are neighbours more often than not.
  TEKTITE_WITH_AVX2 bool Suppress(const OrderedBox& box, float limit) const {
    for (size_t k = blocks_.size(); k-- > 0;) {
      Vector other, height, width;
      const Block& block = blocks_[k];
      std::memcpy(&height, block.y_max.data(), sizeof(height));
      std::memcpy(&other, block.y_min.data(), sizeof(other));
      height = (height < box.y_max ? height : box.y_max + Vector{}) -
               (other > box.y_min ? other : box.y_min + Vector{});
      std::memcpy(&width, block.x_max.data(), sizeof(width));
      std::memcpy(&other, block.x_min.data(), sizeof(other));
      width = (width < box.x_max ? width : box.x_max + Vector{}) -
              (other > box.x_min ? other : box.x_min + Vector{});
      const Vector common = (height > 0 ? height : Vector{}) * (width > 0 ? width : Vector{});
      std::memcpy(&other, block.area.data(), sizeof(other));
      if (AnyOf(common / (box.area + other - common) > limit)) return true;
    }
    return false;
  }

 private:
  struct Block {
    std::array<float, kLanes> y_min{}, x_min{}, y_max{}, x_max{}, area{};
  };
  std::vector<Block> blocks_;
  int64_t count_ = 0;
};

// Candidates from the highest score down, of equal ones the first: a batch at a time.
class Candidates {
 public:
  explicit Candidates(const Suppression& s) : batch_(std::max<int64_t>(256, 2 * s.most)) {
    for (int64_t i = 0; i < s.n; ++i) {
      if (s.scores[i] > s.least) entries_.push_back(Entry(s.scores[i], i));
    }
  }

  // -1: there are no more.
  int64_t Next() {
    if (next_ == ready_) {
      const auto count = static_cast<int64_t>(entries_.size());
      if (ready_ == count) return -1;
      const int64_t end = std::min(ready_ + batch_, count);
      const auto begin = entries_.begin() + ready_;
      if (end < count) std::nth_element(begin, entries_.begin() + end, entries_.end());
      std::sort(begin, entries_.begin() + end);
      ready_ = end;
      batch_ *= 2;
    }
    return static_cast<uint32_t>(entries_[next_++]);
  }

 private:
  // The greater the score, the smaller, and the index below.
  static uint64_t Entry(float score, int64_t i) {
    score += 0.0f;  // -0 is 0
    uint32_t bits;
    std::memcpy(&bits, &score, sizeof(bits));
    if (bits >> 31 == 0) bits ^= 0x7fffffff;
    return uint64_t{bits} << 32 | static_cast<uint64_t>(i);
  }

  std::vector<uint64_t> entries_;
  int64_t next_ = 0, ready_ = 0, batch_;
};

// -1 where a box or its area is not finite: what becomes of it is for the plain algorithm to say.
int64_t SuppressFiniteBoxes(const Suppression& s, int32_t* indices, float* scores) {
  Candidates candidates(s);
  TakenBoxes taken;
  int64_t count = 0;
  while (count < s.most) {
    const int64_t i = candidates.Next();
    if (i < 0) break;
    const OrderedBox box = ops::BoxAt(s, i);
    // A sum that is NaN or infinite has an operand that is, or an overflow that matters not less.
    if (!std::isfinite(box.area) || !std::isfinite(box.y_min + box.y_max) ||
        !std::isfinite(box.x_min + box.x_max)) {
      return -1;
    }
    if (box.area > 0) {
      if (taken.Suppress(box, s.overlap)) continue;
      taken.Add(box);
    }
    if (indices != nullptr) indices[count] = static_cast<int32_t>(i);
    if (scores != nullptr) scores[count] = s.scores[i];
    ++count;
  }
  return count;
}

class NonMaxSuppression : public LibraryKernel {
 public:
  NonMaxSuppression(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        n_(op.operand_shape(1).num_elements()),
        room_(op.shape(0).num_elements()) {
    config_.cost_ns = 20 * static_cast<double>(n_);
  }

  void Run(const backend::KernelFrame& frame, int64_t, int64_t) const override {
    const int64_t most = std::min<int64_t>(*Operand<int32_t>(frame, 2), room_);
    const Suppression s{
        Operand<float>(frame, 0),  Operand<float>(frame, 1), n_, most, *Operand<float>(frame, 3),
        *Operand<float>(frame, 4), *Operand<float>(frame, 5)};
    auto* const indices = Result<int32_t>(frame, 0);
    auto* const scores = Result<float>(frame, 1);
    const bool plain = s.sigma > 0 || !(s.overlap >= 0);
    int64_t count = plain ? -1 : SuppressFiniteBoxes(s, indices, scores);
    if (count < 0) count = ops::SuppressNonMaxima(s, indices, scores);
    if (auto* const result = Result<int64_t>(frame, 2)) *result = count;
  }

 private:
  const int64_t n_, room_;
};

}  // namespace

KernelPtr MakeNonMaxSuppression(const SizedOp& op, Buffers buffers) {
  return std::make_shared<NonMaxSuppression>(std::move(buffers), op);
}

}  // namespace tektite::cpu
