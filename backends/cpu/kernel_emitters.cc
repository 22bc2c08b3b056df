#include "backends/cpu/kernel_emitters.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using ir::DType;
using ir::Node;
using ir::Op;
using loop::Value;

// Nanoseconds a chunk should take at least: claiming one costs about 50 ns, waking a thread far
// more.
constexpr double kChunkNs = 10000;
// Chunks to have at least, if the work allows: enough for a dozen threads to share evenly.
constexpr int64_t kWantedChunks = 32;
constexpr double kSmallestChunkNs = 2000;

struct Emitter {
  const char* kind;
  absl::StatusOr<EmittedKernel> (*emit)(const Node&, const Target&, const std::string&);
};
// In order of preference within a kind.
constexpr Emitter kEmitters[] = {
    {"loop", EmitLoop},
    {"row", EmitRow},
    {"row", EmitReduce},
    {"reduce", EmitReduce},
    {"reduce", EmitSingle},
    {"contraction", EmitDepthwise},
    {"contraction", EmitStreamedProduct},
    {"contraction", EmitContraction},
    {"window", EmitWindow},
    {"single", EmitSingle},
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitKernel(const Node& fusion, const Target& target,
                                         const std::string& name) {
  const std::string& kind = fusion.String(ir::Attr::kind);
  for (const auto& node : fusion.region().nodes()) {
    for (const ir::Shape& shape : node->shapes()) {
      if (!shape.is_static()) return Unimplemented(node->Describe(), " has no static shape");
    }
  }
  absl::Status refusals = Unimplemented("no cpu kernel for kind '", kind, "'");
  for (const Emitter& emitter : kEmitters) {
    if (kind != emitter.kind) continue;
    auto kernel = emitter.emit(fusion, target, name);
    if (kernel.ok()) {
      TEKTITE_RETURN_IF_ERROR(loop::Verify(*kernel->kernel));
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
  return std::make_unique<loop::Kernel>(name, std::move(buffers));
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

double ElementwiseCostNs(const ir::Graph& region, const Target& target) {
  double ns = 0;
  for (const auto& node : region.nodes()) {
    double elements = static_cast<double>(node->shape().num_elements());
    double vectors = elements * ir::DTypeBytes(node->shape().dtype()) / target.vector_bytes;
    switch (node->op()) {
      case Op::kParameter:
        ns += elements * ir::DTypeBytes(node->shape().dtype()) / 20.0;
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
        ns += vectors * 0.2;
        break;
      case Op::kGather:
        ns += elements * 0.2;
        break;
      case Op::kTranspose:
        ns += elements * 0.5;
        break;
      case Op::kDiv:
      case Op::kSqrt:
      case Op::kRsqrt:
        ns += vectors * 3;
        break;
      case Op::kExp:
      case Op::kLog:
      case Op::kTanh:
      case Op::kLogistic:
      case Op::kErf:
        ns += vectors * 5;
        break;
      case Op::kReduce:
        ns += static_cast<double>(node->operand_shape(0).num_elements()) *
              ir::DTypeBytes(node->shape().dtype()) / target.vector_bytes * 0.3;
        break;
      default:
        ns += vectors * 2;
    }
  }
  for (ir::Value v : region.outputs()) ns += static_cast<double>(v.shape().num_bytes()) / 20.0;
  return ns;
}

int64_t UnitsPerChunk(int64_t units, double cost_ns) {
  if (units <= 1) return 1;
  double chunk_ns = std::max(kSmallestChunkNs, std::min(kChunkNs, cost_ns / kWantedChunks));
  if (cost_ns / chunk_ns > 4096) chunk_ns = cost_ns / 4096;
  double per_unit = std::max(cost_ns / static_cast<double>(units), 1e-3);
  return std::clamp<int64_t>(static_cast<int64_t>(chunk_ns / per_unit), 1, units);
}

void ForEachUnit(loop::Builder& b, int64_t units, int64_t units_per_chunk,
                 const std::function<void(Value)>& body) {
  Value begin = b.Mul(b.ChunkBegin(), b.Index(units_per_chunk));
  Value end = b.Min(b.Mul(b.ChunkEnd(), b.Index(units_per_chunk)), b.Index(units));
  b.For(begin, end, 1, body);
}

void ForEachVector(loop::Builder& b, int64_t size, int lanes,
                   const std::function<void(Value, Value)>& body) {
  const int64_t whole = size / lanes * lanes;
  if (whole > 0) {
    b.For(b.Index(0), b.Index(whole), lanes, [&](Value at) { body(at, Value()); });
  }
  if (whole < size) body(b.Index(whole), b.MaskUpTo(b.Index(size - whole), lanes));
}

}  // namespace tektite::cpu
