#include "backends/gpu/emit/attention/score_logits.h"

#include <limits>
#include <utility>

#include "backends/gpu/emit/attention/online_softmax.h"
#include "backends/gpu/emit/names.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

namespace {

// Whether logits depend on more than the scores and constants.
bool ReadsMemory(const AttentionView& view) {
  std::vector<const Node*> stack = {view.nodes().logits.node};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->op() == Op::kParameter) return true;
    if (node == view.nodes().scores) continue;
    for (ir::Value v : node->operands()) stack.push_back(v.node);
  }
  return false;
}

}  // namespace

ScoreLogits::ScoreLogits(loop::Builder* builder, const AttentionView& view, int64_t keys)
    : b_(*builder),
      view_(view),
      keys_(view.keys()),
      step_keys_(keys),
      reads_memory_(ReadsMemory(view)),
      lanes_(reads_memory_ && Mod(keys_, 2) != Dim(0) ? 1 : 2),
      emitter_(builder, lanes_) {}

int64_t ScoreLogits::KeyTiles() const { return step_keys_ / loop::kMatrixColumns; }

void ScoreLogits::SetRows(const Indices& batch, const Values& rows) {
  loop::BindParameters(emitter_, view_.region());
  const Value last = b_.Sub(b_.Index(view_.rows()), b_.Index(1));
  for (const Value& row : rows) {
    // Those that do not exist are computed like the last one.
    places_.push_back(view_.ScoreAt(b_, batch, b_.Min(row, last), loop::At(b_.Index(0))));
  }
}

Value ScoreLogits::OwnKey(Value first) {
  return b_.Add(first, b_.Mul(b_.RemNarrow(b_.ThreadIndex(), 4), b_.Index(2)));
}

Value ScoreLogits::Readable(Value key) {
  if (!reads_memory_ || Mod(keys_, step_keys_) == Dim(0)) return key;
  return b_.Min(key, b_.Sub(b_.Index(keys_), b_.Index(lanes_)));
}

void ScoreLogits::TurnScores(Value first, Values* scores) {
  const Value own = OwnKey(first);
  const auto key_tiles = static_cast<size_t>(KeyTiles());
  const Values products = *scores;
  emitter_.Clear();
  for (size_t key_tile = 0; key_tile < key_tiles; ++key_tile) {
    for (int lane = 0; lane < 2; lane += lanes_) {
      const auto column = static_cast<int64_t>(key_tile) * loop::kMatrixColumns + lane;
      const Value key = Readable(b_.Add(own, b_.Index(column)));
      for (size_t row = 0; row < places_.size(); ++row) {
        Value& tile = (*scores)[row / kThreadRows * key_tiles + key_tile];
        const int begin = static_cast<int>(row % kThreadRows) * 2 + lane;
        Indices at = places_[row];
        at.back() = loop::At(key, lanes_ > 1 ? 1 : 0);
        // Two neighbours at a time: a card rounds them at once.
        const Value before = products[row / kThreadRows * key_tiles + key_tile];
        const Value pair =
            b_.Convert(RowOf(b_, before, static_cast<int>(row % kThreadRows)), view_.dtype());
        const Value score = lanes_ > 1 ? pair : b_.ExtractLane(pair, lane);
        const Value logit = view_.Logits(emitter_, at, score);
        for (int i = 0; i < lanes_; ++i) {
          tile = b_.InsertLane(tile, lanes_ > 1 ? b_.ExtractLane(logit, i) : logit, begin + i);
        }
      }
    }
  }
  emitter_.Clear();
  if (Mod(keys_, step_keys_) == Dim(0)) return;
  *scores = b_.IfElse(
      b_.Compare("le", b_.Add(first, b_.Index(step_keys_)), b_.Index(keys_)),
      [&] { return *scores; }, [&] { return WithoutMissing(first, *scores); });
}

// Keys behind the last one count for nothing.
Values ScoreLogits::WithoutMissing(Value first, Values scores) {
  const Value own = OwnKey(first);
  const Value none = b_.Float(DType::kF32, -std::numeric_limits<double>::infinity());
  const auto key_tiles = static_cast<size_t>(KeyTiles());
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto column = static_cast<int64_t>(i % key_tiles) * loop::kMatrixColumns;
    for (int lane = 0; lane < loop::kSumLanes; ++lane) {
      const Value key = b_.Add(own, b_.Index(column + lane % 2));
      const Value exists = b_.Compare("lt", key, b_.Index(keys_));
      const Value logit = b_.Select(exists, b_.ExtractLane(scores[i], lane), none);
      scores[i] = b_.InsertLane(scores[i], logit, lane);
    }
  }
  return scores;
}

}  // namespace tektite::gpu
