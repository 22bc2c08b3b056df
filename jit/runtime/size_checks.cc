#include "jit/runtime/size_checks.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "jit/ir/symbols.h"

namespace tektite::runtime {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::Graph;
using ir::Node;
using ir::Op;

class Collector {
 public:
  explicit Collector(ir::DimProgram* program) : program_(program) {}

  void Visit(const Graph& graph) {
    for (const ir::Guard& guard : graph.guards()) {
      if (guard.lhs != guard.rhs) Add(true, guard.lhs, guard.rhs);
    }
    for (const auto& node : graph.nodes()) Visit(*node);
  }
  std::vector<SizeCheck> Take() { return std::move(checks_); }

 private:
  void Visit(const Node& node) {
    for (const ir::Shape& shape : node.shapes()) {
      for (const Dim& d : shape.dims()) AtMost(Dim(0), d);
      // Values inside a kernel have no buffer, but places that are counted.
      const Dim elements = shape.NumElements();
      if (!elements.is_constant()) program_->Add(elements);
    }
    switch (node.op()) {
      case Op::kSlice:
        Slice(node);
        break;
      case Op::kDynamicSlice:
        Within(node.attrs().GetDims(Attr::sizes), node.operand_shape(0).dims());
        break;
      case Op::kDynamicUpdateSlice:
        Within(node.operand_shape(1).dims(), node.operand_shape(0).dims());
        break;
      case Op::kGather:
        Within(node.attrs().GetDims(Attr::slice_sizes), node.operand_shape(0).dims());
        break;
      case Op::kTopK:
        AtMost(Dim(node.Int(Attr::k)), node.operand_shape(0).dims().back());
        break;
      default:
        break;
    }
    for (int r = 0; r < node.num_regions(); ++r) {
      const size_t around = positive_.size();
      if (node.op() == Op::kWhile && r == 1 && node.attrs().Has(Attr::sizes)) {
        for (const Dim& d : node.attrs().GetDims(Attr::sizes)) positive_.push_back(d);
      }
      Visit(node.region(r));
      positive_.resize(around);
    }
  }

  void Slice(const Node& node) {
    const Dims& starts = node.attrs().GetDims(Attr::starts);
    const Dims& limits = node.attrs().GetDims(Attr::limits);
    for (const Dim& start : starts) AtMost(Dim(0), start);
    Within(starts, limits);
    Within(limits, node.operand_shape(0).dims());
  }

  void Within(const Dims& parts, const Dims& whole) {
    for (size_t i = 0; i < parts.size() && i < whole.size(); ++i) AtMost(parts[i], whole[i]);
  }
  void AtMost(const Dim& low, const Dim& high) {
    if (ir::NeverLess(high, low)) return;
    for (const Dim& positive : positive_) {
      if (ir::NeverLess(high - positive + Dim(1), low)) return;
    }
    Add(false, low, high);
  }
  void Add(bool equal, const Dim& low, const Dim& high) {
    std::string text = absl::StrCat(low.ToString(), equal ? " == " : " <= ", high.ToString());
    if (!seen_.insert(text).second) return;
    checks_.push_back({equal, program_->Add(low), program_->Add(high), std::move(text)});
  }

  ir::DimProgram* program_;
  Dims positive_;  // where the node at hand runs
  std::set<std::string> seen_;
  std::vector<SizeCheck> checks_;
};

}  // namespace

std::vector<SizeCheck> CollectSizeChecks(const Graph& graph, ir::DimProgram* program) {
  Collector collector(program);
  collector.Visit(graph);
  return collector.Take();
}

const SizeCheck* FirstFailed(const std::vector<SizeCheck>& checks,
                             absl::Span<const int64_t> table) {
  for (const SizeCheck& check : checks) {
    const int64_t low = table[check.low], high = table[check.high];
    if (check.equal ? low != high : low > high) return &check;
  }
  return nullptr;
}

}  // namespace tektite::runtime
