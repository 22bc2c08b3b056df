#include "backends/cpu/kernel_emitters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/cpu/transpose_emitter.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using ir::Op;
using loop::Value;

struct Emitter {
  const char* kind;
  absl::StatusOr<EmittedKernel> (*emit)(const Node&, const Target&, const std::string&);
};
// In order of preference within a kind.
constexpr Emitter kEmitters[] = {
    {"loop", EmitTransposingLoop},
    {"loop", EmitLoop},
    {"row", EmitRow},
    {"row", EmitReduce},
    {"reduce", EmitReduce},
    {"reduce", EmitSingle},
    {"attention", EmitAttention},
    {"contraction", EmitDepthwise},
    {"contraction", EmitStreamedProduct},
    {"contraction", EmitWinograd},
    {"contraction", EmitContraction},
    {"window", EmitWindow},
    {"window", EmitWindowGradient},
    {"single", EmitSingle},
};

// Code is made for a dimension that is stretched or for one that is not; which of the two it is
// must not depend on the sizes of a call.
absl::Status CheckBroadcasts(const ir::Graph& region) {
  for (const auto& node : region.nodes()) {
    for (int r = 0; r < node->num_regions(); ++r) {
      TEKTITE_RETURN_IF_ERROR(CheckBroadcasts(node->region(r)));
    }
    if (node->op() != Op::kBroadcastInDim) continue;
    const ir::Shape& x = node->operand_shape(0);
    const std::vector<int64_t>& dimensions = node->Ints(ir::Attr::dimensions);
    for (int i = 0; i < x.rank(); ++i) {
      if (x.dim(i) == ir::Dim(1) || x.dim(i) == node->shape().dim(static_cast<int>(dimensions[i])))
        continue;
      return Unimplemented(node->Describe(), ": dimension ", i, " may be stretched or not");
    }
  }
  return absl::OkStatus();
}

// Of a parameter: all, or what is gathered or cut out of it.
Dim ElementsRead(const Node& parameter) {
  Dim read(0);
  for (const ir::Use& use : parameter.uses()) {
    const Op op = use.user->op();
    const bool in_part =
        use.operand == 0 && (op == Op::kGather || op == Op::kSlice || op == Op::kDynamicSlice);
    if (!in_part) return parameter.shape().NumElements();
    read = read + use.user->shape().NumElements();
  }
  return Min(read, parameter.shape().NumElements());
}

}  // namespace

absl::StatusOr<EmittedKernel> EmitKernel(const Node& fusion, const Target& target,
                                         const std::string& name) {
  TEKTITE_RETURN_IF_ERROR(CheckBroadcasts(fusion.region()));
  const std::string& kind = fusion.String(ir::Attr::kind);
  absl::Status refusals = Unimplemented("no cpu kernel for kind '", kind, "'");
  for (const Emitter& emitter : kEmitters) {
    if (kind != emitter.kind) continue;
    auto kernel = emitter.emit(fusion, target, name);
    if (kernel.ok()) {
      TEKTITE_RETURN_IF_ERROR(loop::Verify(*kernel->kernel));
      if (!kernel->kernel->sizes.complete()) {
        return Internal(name, ": the code names a symbol that the region does not have");
      }
      return kernel;
    }
    if (!absl::IsUnimplemented(kernel.status())) return kernel.status();
    refusals = kernel.status();
  }
  return refusals;
}

std::unique_ptr<loop::Kernel> MakeKernel(const Node& fusion, const std::string& name,
                                         const std::vector<std::pair<int, int>>& in_place) {
  const ir::Graph& region = fusion.region();
  std::vector<loop::BufferInfo> buffers;
  for (const Node* p : region.parameters()) {
    buffers.push_back({p->shape().dtype(), absl::StrCat("p", buffers.size()), false, false});
  }
  for (ir::Value v : region.outputs()) {
    buffers.push_back(
        {v.dtype(), absl::StrCat("o", buffers.size() - region.num_parameters()), true, false});
  }
  for (auto [operand, result] : in_place) {
    buffers[operand].may_alias = true;
    buffers[region.num_parameters() + result].may_alias = true;
  }
  return std::make_unique<loop::Kernel>(name, std::move(buffers), ir::SymbolsOf(region));
}

void BindParameters(ElementEmitter& e, const ir::Graph& region) {
  for (int i = 0; i < region.num_parameters(); ++i) {
    e.BindBuffer(region.parameter(i)->result(), e.builder().Buffer(i));
  }
}

int RegionLanes(const ir::Graph& region, const Target& target) {
  int widest = 4;
  for (const auto& node : region.nodes()) {
    if (node->shape().rank() > 0) {
      widest = std::max(widest, ir::DTypeBytes(node->shape().dtype()));
    }
  }
  return target.lanes(widest);
}

Dim ElementwiseCost(const ir::Graph& region, const Target& target) {
  Dim cost(0);
  for (const auto& node : region.nodes()) {
    const Dim elements = node->shape().NumElements();
    const double bytes = ir::DTypeBytes(node->shape().dtype());
    const double vectors = bytes / target.vector_bytes;
    switch (node->op()) {
      case Op::kParameter:
        cost = cost + Cost(ElementsRead(*node), bytes / 20);
        break;
      case Op::kConstant:
      case Op::kBroadcastInDim:
      case Op::kReshape:
        break;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMax:
      case Op::kMin:
        cost = cost + Cost(elements, vectors * 0.2);
        break;
      case Op::kGather:
        cost = cost + Cost(elements, 0.2);
        break;
      case Op::kTranspose:
        cost = cost + Cost(elements, 0.5);
        break;
      case Op::kDiv:
      case Op::kSqrt:
      case Op::kRsqrt:
        cost = cost + Cost(elements, vectors * 3);
        break;
      case Op::kExp:
      case Op::kLog:
      case Op::kTanh:
      case Op::kLogistic:
      case Op::kErf:
        cost = cost + Cost(elements, vectors * 5);
        break;
      case Op::kReduce:
        cost = cost + Cost(node->operand_shape(0).NumElements(), vectors * 0.3);
        break;
      default:
        cost = cost + Cost(elements, vectors * 2);
    }
  }
  for (ir::Value v : region.outputs()) {
    cost = cost + Cost(v.shape().NumElements(), ir::DTypeBytes(v.dtype()) / 20.0);
  }
  return cost;
}

void ForEachVector(loop::Builder& b, const Dim& size, int lanes,
                   const std::function<void(Value, Value)>& body) {
  const Dim left = Mod(size, lanes);
  const Value whole = b.Index(size - left);
  b.For(b.Index(0), whole, lanes, [&](Value at) { body(at, Value()); });
  b.If(b.Compare("gt", b.Index(left), b.Index(0)),
       [&] { body(whole, b.MaskUpTo(b.Index(left), lanes)); });
}

}  // namespace tektite::cpu
