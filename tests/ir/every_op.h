// One valid graph in text form for every op of the tensor IR (several for ops with several forms).
//
//   auto graphs = *ir::ParseAll(EveryOpText());
//
// A new op needs a graph here: tests/ir checks that each op of op_list.inc occurs, prints and
// parses, tests/ops that the graphs verify and that the reference interpreter evaluates them.
#ifndef TEKTITE_TESTS_IR_EVERY_OP_H_
#define TEKTITE_TESTS_IR_EVERY_OP_H_

#include <string>

namespace tektite::testing {

const std::string& EveryOpText();

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_IR_EVERY_OP_H_
