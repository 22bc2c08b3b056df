#include "jit/runtime/step_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/ir/control.h"
#include "jit/ir/in_place.h"
#include "jit/ir/part.h"
#include "jit/ir/symbols.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::runtime {
namespace {

using ir::Dim;
using ir::Literal;
using ir::Node;
using ir::Op;
using ir::Value;

// The factor by which the result of a step of constants may exceed its operands and still be worth
// keeping: a broadcast read from memory in each call costs more than making it again.
constexpr int64_t kGrowth = 8;
constexpr int64_t kSmallResult = 64 << 10;

Literal Aligned(const Literal& literal) {
  if (reinterpret_cast<uintptr_t>(literal.raw()) % kAlignment == 0) return literal;
  return Literal::CopyOf(literal.dtype(), literal.sizes(), literal.raw());
}

constexpr int kBody = 1;  // of a loop's regions

Dim BytesOf(const ir::Shape& shape) { return shape.NumElements() * ir::DTypeBytes(shape.dtype()); }

bool MayBeRunOnce(const ir::Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op() == Op::kSizeValue) return false;
    for (int r = 0; r < node->num_regions(); ++r) {
      if (!MayBeRunOnce(node->region(r))) return false;
    }
  }
  return true;
}

class Builder {
 public:
  Builder(const ir::Graph& graph, const KernelMap& kernels) : graph_(graph), kernels_(kernels) {}

  absl::StatusOr<StepGraph> Build(const std::map<std::string, int64_t>& typical_sizes) {
    TEKTITE_RETURN_IF_ERROR(FindSymbols(typical_sizes));
    for (const auto& node : graph_.nodes()) TEKTITE_RETURN_IF_ERROR(Add(*node));
    for (Value output : graph_.outputs()) {
      out_.outputs.push_back(
          {buffer_of_.at(output), output.shape(), Places(output.shape().dims())});
    }
    out_.checks = CollectSizeChecks(graph_, &out_.program);
    TEKTITE_RETURN_IF_ERROR(out_.CheckBuffers());
    out_.SetTypicalBytes();
    NumberGroups();
    out_.FindGroups();
    return std::move(out_);
  }

 private:
  absl::Status FindSymbols(const std::map<std::string, int64_t>& typical_sizes) {
    std::map<Dim, SymbolSource> sources;
    for (int p = 0; p < graph_.num_parameters(); ++p) {
      const Node& parameter = *graph_.parameter(p);
      for (int d = 0; d < parameter.shape().rank(); ++d) {
        sources.try_emplace(parameter.shape().dim(d), SymbolSource{p, d});
      }
      const ir::Dims& elements = parameter.attrs().GetDims(ir::Attr::sizes);
      for (size_t e = 0; e < elements.size(); ++e) {
        sources.try_emplace(elements[e],
                            SymbolSource{p, -1, static_cast<int>(e), parameter.shape().dtype()});
      }
    }
    // Also those of regions: a damaged graph may have one that nothing outside the region defines.
    const std::vector<std::string> symbols = ir::SymbolsOf(graph_);
    for (const std::string& symbol : symbols) {
      const auto source = sources.find(Dim::Symbol(symbol));
      if (source == sources.end()) {
        return InvalidArgument("graph '", graph_.name(), "': no parameter determines the value of ",
                               symbol);
      }
      out_.sources.push_back(source->second);
      const auto typical = typical_sizes.find(symbol);
      out_.typical_sizes.push_back(typical == typical_sizes.end() ? StepGraph::kAssumedSize
                                                                  : typical->second);
      number_of_.emplace(symbol, static_cast<int>(number_of_.size()));
    }
    out_.program = ir::DimProgram(symbols);
    return absl::OkStatus();
  }

  std::vector<int> Places(const ir::Dims& dims) {
    std::vector<int> places;
    for (const Dim& d : dims) places.push_back(out_.program.Add(d));
    return places;
  }

  int AddShape(const ir::Shape& shape) {
    const auto next = static_cast<int>(out_.shapes.size());
    const auto [it, added] = number_of_shape_.try_emplace(shape.ToString(), next);
    if (added) out_.shapes.push_back(shape);
    return it->second;
  }

  int AddBuffer(Value value, Buffer::Kind kind, int index) {
    const int id = static_cast<int>(out_.buffers.size());
    const Dim size = BytesOf(value.shape());
    out_.buffers.push_back({kind, index, size, out_.program.Add(size)});
    buffer_of_[value] = id;
    return id;
  }

  absl::Status Add(Node& node) {
    switch (node.op()) {
      case Op::kParameter:
        if (region_ >= 0) return absl::OkStatus();  // a name of what its control step reads
        AddBuffer(node.result(), Buffer::Kind::kParameter,
                  static_cast<int>(out_.parameters.size()));
        out_.parameters.push_back(AddShape(node.shape()));
        is_weight_.push_back(node.Bool(ir::Attr::weight));
        return absl::OkStatus();
      case Op::kConstant:
        AddBuffer(node.result(), Buffer::Kind::kConstant, static_cast<int>(out_.constants.size()));
        out_.constants.push_back(Aligned(node.attrs().GetLiteral(ir::Attr::value)));
        return absl::OkStatus();
      case Op::kReshape:
        Name(node.operand(0), node.result());
        return absl::OkStatus();
      case Op::kSlice:
        return AddPart(node);
      case Op::kFusion:
        return AddStep(node);
      case Op::kWhile:
        return AddWhile(node);
      case Op::kConditional:
        return AddConditional(node);
      case Op::kSizeValue:
        AddBuffer(node.result(), Buffer::Kind::kSizes, static_cast<int>(out_.size_values.size()));
        out_.size_values.push_back(Places(node.attrs().GetDims(ir::Attr::sizes)));
        return absl::OkStatus();
      default:
        return InvalidArgument(node.Describe(), ": not inside a fusion");
    }
  }

  // `name` lies where `value` does.
  void Name(Value value, Value name) {
    buffer_of_[name] = buffer_of_.at(value);
    const auto part = part_of_.find(value);
    if (part != part_of_.end()) part_of_[name] = part->second;
  }

  absl::Status AddPart(Node& node) {
    if (!ir::IsPart(node)) return InvalidArgument(node.Describe(), ": not inside a fusion");
    const Value whole = node.operand(0);
    buffer_of_[node.result()] = buffer_of_.at(whole);
    const auto outer = part_of_.find(whole);
    part_of_[node.result()] = (outer == part_of_.end() ? 0 : outer->second) +
                              *ir::PartOffset(node) * ir::DTypeBytes(node.shape().dtype());
    return absl::OkStatus();
  }

  absl::Status AddStep(Node& node) {
    auto kernel = kernels_.find(&node);
    if (kernel == kernels_.end()) return Internal(node.Describe(), ": no kernel");
    Step step;
    step.kernel = kernel->second;
    step.deferred = node.Bool(ir::Attr::deferred);
    AddOperands(node.operands(), &step);
    for (int r = 0; r < node.num_results(); ++r) {
      const int updated = ir::UpdatedOperand(node, r);
      if (updated < 0 || !step.kernel->CanRunInPlace(updated, r)) continue;
      step.updates.resize(node.num_results(), -1);
      step.updates[r] = updated;
      step.operands[updated] = AddCopy(node.operand(updated));
      if (!step.parts.empty()) step.parts[updated] = Step::kWhole;
    }
    out_.names.push_back(node.name().empty() ? std::string(ir::FusionKindName(node.fusion_kind()))
                                             : node.name());
    for (const std::string& symbol : ir::SymbolsOf(node.region())) {
      step.symbols.push_back(number_of_.at(symbol));
    }
    const int index = static_cast<int>(out_.steps.size());
    for (int r = 0; r < node.num_results(); ++r) {
      step.results.push_back(AddBuffer(node.result(r), Buffer::Kind::kComputed, index));
    }
    const bool once = region_ < 0 && step.symbols.empty() && DependsOnWeightsOnly(step) &&
                      WorthKeeping(step) && MayBeRunOnce(node.region());
    Push(std::move(step), once);
    return absl::OkStatus();
  }

  void AddOperands(absl::Span<const Value> operands, Step* step) {
    bool whole = true;
    std::vector<int64_t> parts;
    for (Value operand : operands) {
      step->operands.push_back(buffer_of_.at(operand));
      const auto part = part_of_.find(operand);
      parts.push_back(part == part_of_.end() ? Step::kWhole : part->second);
      whole = whole && parts.back() == Step::kWhole;
    }
    if (!whole) step->parts = std::move(parts);
  }

  void Push(Step step, bool may_be_run_once) {
    step.region = region_;
    if (region_ >= 0) {
      out_.regions[region_].steps.push_back(static_cast<int>(out_.steps.size()));
    }
    may_be_run_once_.push_back(may_be_run_once);
    out_.steps.push_back(std::move(step));
  }

  absl::Status AddWhile(Node& node) {
    std::vector<Value> operands;
    std::vector<int> changing;
    for (int i = 0; i < node.num_operands(); ++i) {
      if (ir::IsInvariant(node, i)) continue;
      changing.push_back(i);
      operands.push_back(node.operand(i));
    }
    const int index = static_cast<int>(out_.steps.size());
    Step step;
    step.kind = Step::Kind::kWhile;
    for (int i : changing) {
      step.results.push_back(AddBuffer(node.result(i), Buffer::Kind::kComputed, index));
    }
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!ir::IsInvariant(node, i)) continue;
      operands.push_back(node.operand(i));
      Name(node.operand(i), node.result(i));
    }
    AddOperands(operands, &step);
    out_.names.push_back(NameOf(node));
    Push(std::move(step), false);
    for (int r = 0; r < node.num_regions(); ++r) {
      ir::Graph& region = node.region(r);
      for (int i = 0; i < node.num_operands(); ++i)
        Name(node.result(i), region.parameter(i)->result());
      std::vector<Value> outputs = {region.outputs()[0]};
      if (r == kBody) {
        outputs.clear();
        for (int i : changing) outputs.push_back(region.outputs()[i]);
      }
      TEKTITE_RETURN_IF_ERROR(AddRegion(index, region, outputs));
    }
    return absl::OkStatus();
  }

  absl::Status AddConditional(Node& node) {
    const int index = static_cast<int>(out_.steps.size());
    Step step;
    step.kind = Step::Kind::kConditional;
    AddOperands(node.operands(), &step);
    for (int r = 0; r < node.num_results(); ++r) {
      step.results.push_back(AddBuffer(node.result(r), Buffer::Kind::kComputed, index));
    }
    out_.names.push_back(NameOf(node));
    Push(std::move(step), false);
    for (int r = 0; r < node.num_regions(); ++r) {
      ir::Graph& region = node.region(r);
      for (int i = 1; i < node.num_operands(); ++i) {
        Name(node.operand(i), region.parameter(i - 1)->result());
      }
      TEKTITE_RETURN_IF_ERROR(AddRegion(index, region, region.outputs()));
    }
    return absl::OkStatus();
  }

  static std::string NameOf(const Node& node) {
    return absl::StrCat(ir::OpName(node.op()), " '", node.name(), "'");
  }

  absl::Status AddRegion(int control, const ir::Graph& graph, absl::Span<const Value> outputs) {
    const int outer = region_;
    region_ = static_cast<int>(out_.regions.size());
    out_.steps[control].regions.push_back(region_);
    out_.regions.emplace_back();
    for (const auto& node : graph.nodes()) TEKTITE_RETURN_IF_ERROR(Add(*node));
    for (Value output : outputs) {
      const int b = OwnBuffer(output);
      out_.regions[region_].outputs.push_back(b);
    }
    region_ = outer;
    return absl::OkStatus();
  }

  // Where `output` of the region at hand lies: in a buffer that the region computes for it alone.
  int OwnBuffer(Value output) {
    const int b = buffer_of_.at(output);
    const Buffer& buffer = out_.buffers[b];
    const std::vector<int>& taken = out_.regions[region_].outputs;
    if (buffer.kind == Buffer::Kind::kComputed && out_.steps[buffer.index].region == region_ &&
        part_of_.count(output) == 0 && std::find(taken.begin(), taken.end(), b) == taken.end()) {
      return b;
    }
    return AddCopy(output);
  }

  int AddCopy(Value value) {
    const Dim bytes = BytesOf(value.shape());
    Step step;
    step.kind = Step::Kind::kCopy;
    AddOperands({value}, &step);
    const int copy = static_cast<int>(out_.buffers.size());
    out_.buffers.push_back({Buffer::Kind::kComputed, static_cast<int>(out_.steps.size()), bytes,
                            out_.program.Add(bytes)});
    step.results.push_back(copy);
    out_.names.emplace_back("copy");
    Push(std::move(step), false);
    return copy;
  }

  bool DependsOnWeightsOnly(const Step& step) const {
    return std::all_of(step.operands.begin(), step.operands.end(), [&](int b) {
      const Buffer& buffer = out_.buffers[b];
      switch (buffer.kind) {
        case Buffer::Kind::kParameter:
          return bool{is_weight_[buffer.index]};
        case Buffer::Kind::kConstant:
          return true;
        case Buffer::Kind::kComputed:
          return bool{may_be_run_once_[buffer.index]};
        case Buffer::Kind::kSizes:
          return false;
      }
      return false;
    });
  }

  bool WorthKeeping(const Step& step) const {
    int64_t in = 0, out = 0;
    for (int b : step.operands) in += out_.buffers[b].size.value_or(0);
    for (int b : step.results) out += out_.buffers[b].size.value_or(0);
    return out <= kSmallResult || out <= kGrowth * in;
  }

  void NumberGroups() {
    std::vector<int> parent(out_.steps.size());
    std::iota(parent.begin(), parent.end(), 0);
    std::function<int(int)> find = [&](int s) {
      return parent[s] == s ? s : parent[s] = find(parent[s]);
    };
    for (size_t s = 0; s < out_.steps.size(); ++s) {
      if (!may_be_run_once_[s]) continue;
      for (int b : out_.steps[s].operands) {
        const Buffer& buffer = out_.buffers[b];
        if (buffer.kind == Buffer::Kind::kComputed) parent[find(s)] = find(buffer.index);
      }
    }
    absl::flat_hash_map<int, int> group_of;
    for (size_t s = 0; s < out_.steps.size(); ++s) {
      if (!may_be_run_once_[s]) continue;
      const int next = static_cast<int>(group_of.size());
      out_.steps[s].group = group_of.try_emplace(find(s), next).first->second;
    }
  }

  const ir::Graph& graph_;
  const KernelMap& kernels_;
  StepGraph out_;
  int region_ = -1;  // whose nodes are being added
  absl::flat_hash_map<Value, int> buffer_of_;
  absl::flat_hash_map<Value, int64_t> part_of_;  // bytes into the buffer, for parts
  std::map<std::string, int> number_of_;         // of symbols
  absl::flat_hash_map<std::string, int> number_of_shape_;
  std::vector<bool> is_weight_;        // by parameter
  std::vector<bool> may_be_run_once_;  // by step
};

}  // namespace

absl::StatusOr<StepGraph> StepGraph::Create(const ir::Graph& graph, const KernelMap& kernels,
                                            const std::map<std::string, int64_t>& typical_sizes) {
  return Builder(graph, kernels).Build(typical_sizes);
}

std::vector<int64_t> StepGraph::SetTypicalBytes() {
  std::vector<int64_t> table(program.table_size());
  bool fits = program.Run(typical_sizes.data(), table.data());
  for (const Buffer& buffer : buffers) fits = fits && table[buffer.place] <= kMostBytes;
  if (!fits) {
    typical_sizes.assign(typical_sizes.size(), kAssumedSize);
    if (!program.Run(typical_sizes.data(), table.data())) table.assign(table.size(), 0);
  }
  for (Buffer& buffer : buffers) {
    buffer.typical_bytes = std::clamp<int64_t>(table[buffer.place], 0, kMostBytes);
  }
  return table;
}

absl::Status StepGraph::CheckBuffers() const {
  for (const Buffer& buffer : buffers) {
    if (buffer.size.value_or(0) >= 0 && buffer.size.value_or(0) <= kMostBytes) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("a buffer of ", buffer.size.value(), " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace tektite::runtime
