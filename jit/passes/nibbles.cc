#include "jit/passes/nibbles.h"

#include <memory>
#include <utility>

#include "jit/base/status.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

using ops::FuncBuilder;

constexpr int kBits = 4, kMask = 15;

struct Region {
  std::unique_ptr<Graph> graph;
  std::vector<Value> operands;
  FuncBuilder b;

  Region(const char* name, std::vector<Value> of)
      : graph(std::make_unique<Graph>(name)), operands(std::move(of)), b(graph.get(), nullptr) {}
  Value Parameter(size_t i) { return graph->AddParameter(operands[i].shape()); }
};

absl::StatusOr<Value> Append(Graph& graph, Region region, Value result, FusionKind kind,
                             Node* before) {
  TEKTITE_RETURN_IF_ERROR(region.b.status());
  region.graph->SetOutputs({result});
  Node* const fusion =
      graph.AppendFusion(region.operands, {{Attr::kind, kind}}, std::move(region.graph), before);
  fusion->set_name(before->name() + "/pack");
  return fusion->result();
}

}  // namespace

absl::StatusOr<Value> PackNibbles(Graph& graph, Value weights, int64_t width, Node* before) {
  const Dim batch = weights.shape().dim(0), n = weights.shape().dim(2);
  const Dim rows = FloorDiv(weights.shape().dim(1), 2), panels = CeilDiv(n, width);
  Region least_of("least", {weights});
  const Value least_number = least_of.b.Reduce(least_of.Parameter(0), {1}, "min");
  TEKTITE_ASSIGN_OR_RETURN(const Value least, Append(graph, std::move(least_of), least_number,
                                                     FusionKind::kReduce, before));

  Region pack("pack", {weights, least});
  FuncBuilder& b = pack.b;
  const Value w = pack.Parameter(0), base = pack.Parameter(1);
  const Value above = b.Sub(w, b.BroadcastInDim(base, w.shape().dims(), {0, 2}));
  const Value pairs = b.Reshape(above, {batch, rows, Dim(2), n});
  const auto of_pair = [&](int64_t i) {
    return b.Reshape(b.SliceDim(pairs, 2, i, i + 1), {batch, rows, n});
  };
  const Value first = of_pair(0), second = of_pair(1);
  const Value high = b.Binary(Op::kShiftLeft, second, b.FullLike(second, kBits));
  const Value bytes = b.Binary(Op::kOr, first, high);
  Value all = b.Concatenate({b.Reshape(base, {batch, Dim(1), n}), bytes}, 1);
  const int64_t more = (panels * Dim(width) - n).value();
  if (more > 0) all = b.Pad(all, b.Scalar(all.dtype(), 0), {0, 0, 0}, {0, 0, more});
  all = b.Reshape(all, {batch, rows + Dim(1), panels, Dim(width)});
  return Append(graph, std::move(pack), b.Transpose(all, {0, 2, 1, 3}), FusionKind::kLoop, before);
}

Value UnpackNibbles(FuncBuilder& b, Value packed, const Dim& n) {
  const Dim batch = packed.shape().dim(0), rows = packed.shape().dim(2) - Dim(1);
  const Dim columns = packed.shape().dim(1) * packed.shape().dim(3);
  Value all = b.Reshape(b.Transpose(packed, {0, 2, 1, 3}), {batch, rows + Dim(1), columns});
  if (columns != n) all = b.SliceDim(all, 2, Dim(0), n);
  const Value bytes = b.SliceDim(all, 1, Dim(1), rows + Dim(1));
  const Value mask = b.FullLike(bytes, kMask);
  const Value first = b.Binary(Op::kAnd, bytes, mask);
  const Value shifted = b.Binary(Op::kShiftRightArithmetic, bytes, b.FullLike(bytes, kBits));
  const Value second = b.Binary(Op::kAnd, shifted, mask);
  const Dims pair = {batch, rows, Dim(1), n};
  const Value pairs = b.Concatenate({b.Reshape(first, pair), b.Reshape(second, pair)}, 2);
  const Value above = b.Reshape(pairs, {batch, rows * Dim(2), n});
  const Value least = b.Reshape(b.SliceDim(all, 1, Dim(0), Dim(1)), {batch, n});
  return b.Add(above, b.BroadcastInDim(least, above.shape().dims(), {0, 2}));
}

}  // namespace tektite::passes
