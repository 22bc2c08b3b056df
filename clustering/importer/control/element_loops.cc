#include "clustering/importer/control/element_loops.h"

#include <memory>
#include <utility>

namespace tektite::importer {

Values Iterate(FuncBuilder& b, const Values& state, const Values& fixed, const Step& step) {
  Values operands = {b.Scalar(DType::kS32, 0), b.Scalar(DType::kBool, 1)};
  operands.insert(operands.end(), state.begin(), state.end());
  operands.insert(operands.end(), fixed.begin(), fixed.end());
  for (const Value v : operands) {
    if (!v) return Values(state.size());
  }
  std::vector<std::unique_ptr<ir::Graph>> regions;
  for (const bool is_body : {false, true}) {
    FuncBuilder region(is_body ? "body" : "condition");
    Values p;
    for (const Value v : operands) p.push_back(region.Parameter(v.shape()));
    if (is_body) {
      const auto first = p.begin() + 2, middle = first + static_cast<int64_t>(state.size());
      const Turn turn = step(region, Values(first, middle), Values(middle, p.end()));
      std::vector<int64_t> all;
      for (int i = 0; turn.goes_on && i < turn.goes_on.shape().rank(); ++i) all.push_back(i);
      const Value any = all.empty() ? turn.goes_on : region.Reduce(turn.goes_on, all, "or");
      Values next = {region.Add(p[0], region.FullLike(p[0], 1)), any};
      next.insert(next.end(), turn.state.begin(), turn.state.end());
      next.insert(next.end(), middle, p.end());
      region.Return(next);
    } else {
      region.Return({region.Binary(
          Op::kAnd, region.Compare(p[0], region.FullLike(p[0], kMostTurns), "lt"), p[1])});
    }
    absl::StatusOr<std::unique_ptr<ir::Graph>> graph = region.Build();
    if (!graph.ok()) {
      b.Fail(graph.status());
      return Values(state.size());
    }
    regions.push_back(*std::move(graph));
  }
  const Values results = b.AddMulti(Op::kWhile, operands, {}, std::move(regions));
  if (!results[0]) return Values(state.size());
  return Values(results.begin() + 2, results.begin() + 2 + static_cast<int64_t>(state.size()));
}

Value IsSettled(FuncBuilder& b, Value change, Value of) {
  constexpr double kPrecise = 1e-12;
  return b.Compare(b.Abs(change), b.Mul(b.Abs(of), b.FullLike(of, kPrecise)), "le");
}

}  // namespace tektite::importer
