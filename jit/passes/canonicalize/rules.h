// The rules of the canonicalize pass: each looks at one node and may offer something better.
//
//   // neg(neg(%x))  ->  %x
//   Value NegOfNeg(Node* node, FuncBuilder& b);
//
// A rule returns the value that takes the place of node's result, or a null Value where it does not
// apply.  It builds through `b`, which inserts before the node, only after it has decided to apply;
// it changes nothing else.  Rules are exact to the bit unless their comment says how they are not.
// rule_list.inc lists them; a new rule is a function in its family's file, a row there, and two
// cases in tests/passes.
#ifndef TEKTITE_JIT_PASSES_CANONICALIZE_RULES_H_
#define TEKTITE_JIT_PASSES_CANONICALIZE_RULES_H_

#include "jit/passes/canonicalize/match.h"

namespace tektite::passes::rules {

#define TEKTITE_RULE(function, ...) Value function(Node* node, FuncBuilder& b);
#include "jit/passes/canonicalize/rule_list.inc"
#undef TEKTITE_RULE

}  // namespace tektite::passes::rules

#endif  // TEKTITE_JIT_PASSES_CANONICALIZE_RULES_H_
