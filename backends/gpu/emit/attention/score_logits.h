// What attention's scores become before the softmax, where they lie as sums of warp_multiply: a
// scale, a mask, and nothing at all behind the last key.
//
//   ScoreLogits logits(&b, view, /*keys=*/64);       // of a step
//   logits.SetRows(batch, rows);                     // before the loop over the steps
//   logits.TurnScores(first_key, &scores);
//
// Scores are rounded to the operands' type first, as the product's result is.  Neighbours of a
// thread are computed at once, unless a row may end between them.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_SCORE_LOGITS_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_SCORE_LOGITS_H_

#include <vector>

#include "absl/status/status.h"
#include "backends/gpu/emit/attention/attention_view.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::gpu {

class ScoreLogits {
 public:
  ScoreLogits(loop::Builder* builder, const AttentionView& view, int64_t keys);

  // The thread's rows, kThreadRows of each tile.
  void SetRows(const loop::Indices& batch, const std::vector<loop::Value>& rows);
  // `scores`: tiles of the rows and of the step's keys, those of a row tile side by side.  `first`:
  // the step's first key.
  void TurnScores(loop::Value first, std::vector<loop::Value>* scores);

  const absl::Status& status() const { return emitter_.status(); }

 private:
  int64_t KeyTiles() const;
  // The key of the thread's first element in a step.
  loop::Value OwnKey(loop::Value first);
  // A key that exists, or the first one of a pair that does.
  loop::Value Readable(loop::Value key);
  std::vector<loop::Value> WithoutMissing(loop::Value first, std::vector<loop::Value> scores);

  loop::Builder& b_;
  const AttentionView& view_;
  const ir::Dim keys_;
  const int64_t step_keys_;
  const bool reads_memory_;  // a mask's
  const int lanes_;
  loop::ElementEmitter emitter_;
  std::vector<loop::Indices> places_;  // of each row; the key is left open
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_SCORE_LOGITS_H_
