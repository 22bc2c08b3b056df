#include "jit/ir/op.h"

#include <map>

namespace tektite::ir {
namespace {

constexpr OpInfo kOps[] = {
#define TEKTITE_OP(enumerator, text, family, fewest, most) \
  {Op::enumerator, text, OpFamily::family, fewest, most},
#include "jit/ir/op_list.inc"
#undef TEKTITE_OP
};

}  // namespace

const OpInfo& GetOpInfo(Op op) { return kOps[static_cast<int>(op)]; }

std::optional<Op> OpFromName(absl::string_view name) {
  static const auto& ops = *[] {
    auto* map = new std::map<absl::string_view, Op>;
    for (const OpInfo& info : kOps) map->emplace(info.name, info.op);
    return map;
  }();
  auto it = ops.find(name);
  if (it == ops.end()) return std::nullopt;
  return it->second;
}

bool IsElementwise(Op op) {
  OpFamily family = GetOpInfo(op).family;
  return family == OpFamily::unary || family == OpFamily::binary || family == OpFamily::ternary ||
         family == OpFamily::convert;
}

}  // namespace tektite::ir
