// The ops of the tensor IR: an enumeration made from op_list.inc, and each op's family and number
// of operands.
//
//   GetOpInfo(Op::kAdd).family     // OpFamily::binary
//   OpFromName("dot_general")      // Op::kDotGeneral
//
// Limits: jit/ops holds the meaning of an op; this file only names it.
#ifndef TEKTITE_JIT_IR_OP_H_
#define TEKTITE_JIT_IR_OP_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace tektite::ir {

enum class Op : uint8_t {
#define TEKTITE_OP(enumerator, text, family, fewest, most) enumerator,
#include "jit/ir/op_list.inc"
#undef TEKTITE_OP
};

enum class OpFamily : uint8_t {
  unary,
  binary,
  ternary,
  convert,
  movement,
  indexed,
  reduction,
  contraction,
  order,
  selection,
  spectrum,
  matrix,
  structure,
};

struct OpInfo {
  Op op;
  absl::string_view name;
  OpFamily family;
  int fewest_operands;
  int most_operands;  // -1: any number
};

inline constexpr int kNumOps = 0
#define TEKTITE_OP(enumerator, text, family, fewest, most) +1
#include "jit/ir/op_list.inc"
#undef TEKTITE_OP
    ;

const OpInfo& GetOpInfo(Op op);
inline absl::string_view OpName(Op op) { return GetOpInfo(op).name; }
std::optional<Op> OpFromName(absl::string_view name);

// unary, binary, ternary, and the conversions that keep the element count: one result element
// depends on the operands' elements at the same place.
bool IsElementwise(Op op);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_OP_H_
