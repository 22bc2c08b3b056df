// Keys that no row of a block attends to: attention leaves them out where that changes nothing.
//
//   std::optional<CausalSkip> skip = CausalSkip::Of(view);        // none: nothing is known
//   skip->EmitFlags(&first_kernel);                               // a launch before the kernel
//   skip->Enter(&b);                                              // in it, first of all
//   ... the steps of the keys before skip->SeenEnd(...) ...
//   b.If(skip->IsOver(...), ...)                                  // whether the others add nothing
//
// Where a causal mask replaces scores by a number, a later key's weight is exp(number - largest).
// It is 0, and leaves every sum as it is, where the row's largest logit so far is far enough above
// the number: so a row whose own keys are all masked otherwise still attends to later ones, as the
// softmax has it.  0 times a value is 0 unless the value is infinite or NaN, and then the result is
// NaN.  The first launch says of each tile of keys whether its values are finite.
//
// Limits: masks that replace the score (x + mask does not: an infinite or NaN score is still in
// it), one dimension of rows, and keys enough to be worth the launch.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_CAUSAL_SKIP_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_CAUSAL_SKIP_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "backends/gpu/emit/attention/attention_view.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

class CausalSkip {
 public:
  static std::optional<CausalSkip> Of(const AttentionView& view);

  absl::Status EmitFlags(loop::Kernel* kernel) const;

  void Enter(loop::Builder* b, int64_t warps);
  // What it takes of the block's.
  static int64_t SharedBytes(int64_t warps) {
    return warps * static_cast<int64_t>(ir::DTypeBytes(ir::DType::kS32));
  }
  // Behind the last key that any of the block's rows sees, a multiple of `step`.
  loop::Value SeenEnd(loop::Value first_row, int64_t rows, int64_t step) const;
  // Whether keys from `first` on add nothing to any row of the block.  `largest`: the logits of the
  // thread's rows.  All threads of the block come here together, once.
  loop::Value IsOver(loop::Value batch, loop::Value first,
                     const std::vector<loop::Value>& largest) const;
  // The same in two steps, where the block's threads have roles: warp number `warp` of those that
  // Enter has been told says what it finds; who knows that all of them have may ask.
  void Vote(loop::Value warp, loop::Value batch, loop::Value first,
            const std::vector<loop::Value>& largest) const;
  loop::Value AllAgree() const;

 private:
  CausalSkip(const AttentionView& view, ir::Dim offset, double masked);
  ir::Dim tiles() const;
  loop::Value AllFinite(loop::Value batch, loop::Value first) const;

  const AttentionView* view_;
  const ir::Dim offset_;
  const double masked_;  // what the mask replaces scores by
  loop::Builder* b_ = nullptr;
  int64_t warps_ = 0;
  loop::Value flags_, votes_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_CAUSAL_SKIP_H_
