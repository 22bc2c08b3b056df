// What attention's logits are of its scores, where that is a scale, a bias and a causal mask:
//
//   factor * score + bias       for keys up to a row's own one, or `offset` beyond it
//   factor * score + addend     for later ones, with factor 0 where a mask replaces the score
//
//   const LogitForms forms = FindLogitForms(attention);
//   if (forms.causal) ... forms.late.addend ...          // -1e9
//
// The mask is a comparison of a row's number with a key's, in any of the ways in which programs
// write it: select(late, -1e9, x), x + select(late, -1e9, 0), x + (1 - seen) * -1e9.  Roundings to
// narrower types on the way are not part of a form.
#ifndef TEKTITE_JIT_OPS_LOGIT_FORM_H_
#define TEKTITE_JIT_OPS_LOGIT_FORM_H_

#include "jit/ir/graph.h"
#include "jit/ops/attention.h"

namespace tektite::ops {

struct LogitForm {
  bool is_known = false;
  bool reads_score = false;  // also where the factor is 0
  double factor = 0, addend = 0;
  ir::Value bias;  // what is added as it is, beside the addend; none
};

struct LogitForms {
  LogitForm seen, late;
  // Without it `seen` is for all keys.  Keys up to row + offset are seen, where rows are one
  // dimension.
  bool causal = false;
  ir::Dim offset;
};

LogitForms FindLogitForms(const Attention& attention);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_LOGIT_FORM_H_
