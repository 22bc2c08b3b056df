#include "jit/runtime/step_graph_bytes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tektite::runtime {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Shape;

constexpr uint32_t kNumBufferKinds = 4;
constexpr uint32_t kNumStepKinds = 4;

// Dimensions are written once each: reading a symbolic one costs microseconds.
class Writer {
 public:
  void Write(const StepGraph& graph, ByteWriter* out) {
    graph.program.Write(&body_);
    body_.Size(graph.shapes.size());
    for (const Shape& shape : graph.shapes) Write(shape);
    body_.Size(graph.parameters.size());
    for (int shape : graph.parameters) Number(shape);
    body_.Size(graph.constants.size());
    for (const Literal& literal : graph.constants) {
      Write(literal.shape());
      body_.String(absl::string_view(static_cast<const char*>(literal.raw()), literal.num_bytes()));
    }
    body_.Size(graph.size_values.size());
    for (const std::vector<int>& places : graph.size_values) Numbers(places);
    body_.Size(graph.buffers.size());
    // Bound by name, so that a member that is added and forgotten here does not compile.
    for (const auto& [kind, index, size, place, typical_bytes] : graph.buffers) {
      (void)typical_bytes;  // follows from the program
      body_.U32(static_cast<uint32_t>(kind));
      Number(index);
      Number(Place(size));
      Number(place);
    }
    body_.Size(graph.steps.size());
    for (const auto& [kind, kernel, operands, parts, results, symbols, group, updates, deferred,
                      region, regions] : graph.steps) {
      (void)kernel;  // the caller's
      body_.U32(static_cast<uint32_t>(kind));
      Numbers(operands);
      body_.U32(parts.empty() ? 0 : 1);
      for (int64_t part : parts) body_.I64(part);
      Numbers(results);
      Numbers(symbols);
      Number(group + 1);
      body_.Size(updates.size());
      for (int updated : updates) Number(updated + 1);
      body_.U32(deferred ? 1 : 0);
      Number(region + 1);
      Numbers(regions);
    }
    body_.Size(graph.regions.size());
    for (const auto& [steps, outputs] : graph.regions) {
      Numbers(steps);
      Numbers(outputs);
    }
    body_.Size(graph.outputs.size());
    for (const GraphOutput& output : graph.outputs) {
      Number(output.buffer);
      Write(output.shape);
      Numbers(output.dims);
    }
    body_.Size(graph.sources.size());
    for (const SymbolSource& source : graph.sources) {
      Number(source.parameter);
      Number(source.dimension + 1);
      Number(source.element + 1);
      body_.U32(static_cast<uint32_t>(source.dtype));
    }
    body_.Size(graph.checks.size());
    for (const SizeCheck& check : graph.checks) {
      body_.U32(check.equal ? 1 : 0);
      Number(check.low);
      Number(check.high);
      body_.String(check.text);
    }
    out->Size(dims_.size());
    for (const Dim& dim : dims_) {
      out->U32(dim.is_constant() ? 0 : 1);
      if (dim.is_constant()) {
        out->I64(dim.value());
      } else {
        out->String(dim.ToString());
      }
    }
    out->Raw(body_.bytes().data(), body_.bytes().size());
  }

 private:
  void Number(int number) { body_.U32(static_cast<uint32_t>(number)); }
  template <typename List>
  void Numbers(const List& numbers) {
    body_.Size(numbers.size());
    for (int number : numbers) Number(number);
  }
  int Place(const Dim& dim) {
    const auto [it, added] = places_.try_emplace(dim.ToString(), static_cast<int>(dims_.size()));
    if (added) dims_.push_back(dim);
    return it->second;
  }
  void Write(const Shape& shape) {
    body_.U32(static_cast<uint32_t>(shape.dtype()));
    body_.Size(shape.rank());
    for (const Dim& dim : shape.dims()) Number(Place(dim));
  }

  ByteWriter body_;
  std::vector<Dim> dims_;
  absl::flat_hash_map<std::string, int> places_;
};

class Reader {
 public:
  explicit Reader(ByteReader* in) : in_(*in) {}

  bool Read(StepGraph* graph) {
    ReadDims();
    if (!in_.ok() || !graph->program.Read(&in_)) return false;
    for (uint64_t n = in_.Size(kWord); n > 0; --n) graph->shapes.push_back(ReadShape());
    Numbers(graph->shapes.size(), &graph->parameters);
    for (uint64_t n = in_.Size(kWord); n > 0 && in_.ok(); --n) ReadConstant(graph);
    const int table = graph->program.table_size();
    for (uint64_t n = in_.Size(kWord); n > 0; --n) {
      graph->size_values.emplace_back();
      Numbers(table, &graph->size_values.back());
    }
    const uint64_t num_buffers = in_.Size(4 * kWord);
    graph->buffers.reserve(num_buffers);
    for (uint64_t n = num_buffers; n > 0; --n) {
      Buffer& buffer = graph->buffers.emplace_back();
      const uint32_t kind = in_.U32();
      if (kind >= kNumBufferKinds) in_.Fail();
      buffer.kind = static_cast<Buffer::Kind>(kind);
      buffer.index = static_cast<int>(in_.U32());
      buffer.size = DimAt();
      buffer.place = Number(table);
    }
    ReadSteps(graph);
    for (uint64_t n = in_.Size(kWord); n > 0; --n) {
      GraphOutput output;
      output.buffer = Number(graph->buffers.size());
      output.shape = ReadShape();
      Numbers(table, &output.dims);
      if (output.dims.size() != static_cast<size_t>(output.shape.rank())) in_.Fail();
      graph->outputs.push_back(std::move(output));
    }
    ReadSources(graph);
    for (uint64_t n = in_.Size(kWord); n > 0; --n) {
      SizeCheck check;
      check.equal = in_.U32() != 0;
      check.low = Number(table);
      check.high = Number(table);
      check.text = std::string(in_.String());
      graph->checks.push_back(std::move(check));
    }
    graph->typical_sizes.assign(graph->program.num_symbols(), StepGraph::kAssumedSize);
    return in_.ok() && IsSound(*graph);
  }

 private:
  // Every element of a list takes at least that much.
  static constexpr uint64_t kWord = sizeof(uint32_t);

  int Number(size_t below) {
    const uint32_t number = in_.U32();
    if (number >= below) in_.Fail();
    return in_.ok() ? static_cast<int>(number) : 0;
  }
  template <typename List>
  void Numbers(size_t below, List* list) {
    const uint64_t count = in_.Size(kWord);
    list->reserve(count);
    for (uint64_t n = count; n > 0; --n) list->push_back(Number(below));
  }

  void ReadDims() {
    for (uint64_t n = in_.Size(kWord); n > 0 && in_.ok(); --n) {
      if (in_.U32() == 0) {
        dims_.emplace_back(in_.I64());
        continue;
      }
      auto dim = Dim::Parse(in_.String());
      if (!dim.ok()) in_.Fail();
      dims_.push_back(dim.ok() ? *std::move(dim) : Dim());
    }
  }
  Dim DimAt() {
    const int place = Number(dims_.size());
    return in_.ok() ? dims_[place] : Dim();
  }
  DType ReadType() {
    const auto dtype = ir::DTypeFromNumber(in_.U32());
    if (!dtype) in_.Fail();
    return dtype.value_or(DType::kF32);
  }
  Shape ReadShape() {
    const DType dtype = ReadType();
    Dims dims;
    for (uint64_t n = in_.Size(kWord); n > 0; --n) dims.push_back(DimAt());
    return Shape(dtype, std::move(dims));
  }
  void ReadConstant(StepGraph* graph) {
    const Shape shape = ReadShape();
    const absl::string_view bytes = in_.String();
    // Sizes whose product overflows are no sizes of bytes that are there.
    int64_t size = ir::DTypeBytes(shape.dtype());
    for (const Dim& dim : shape.dims()) {
      if (!dim.is_constant() || dim.value() < 0 ||
          __builtin_mul_overflow(size, dim.value(), &size)) {
        return in_.Fail();
      }
    }
    if (!in_.ok() || static_cast<uint64_t>(size) != bytes.size()) return in_.Fail();
    graph->constants.push_back(Literal::CopyOf(shape.dtype(), shape.sizes(), bytes.data()));
  }
  void ReadSteps(StepGraph* graph) {
    // A kind, four lists, whether there are parts, a group, the updated operand, whether it may
    // wait, a region.
    constexpr uint64_t kLeast = 10 * kWord;
    const uint64_t count = in_.Size(kLeast);
    graph->steps.reserve(count);
    for (uint64_t n = count; n > 0; --n) {
      Step& step = graph->steps.emplace_back();
      step.kind = static_cast<Step::Kind>(Number(kNumStepKinds));
      Numbers(graph->buffers.size(), &step.operands);
      if (in_.U32() != 0) {
        for (int b : step.operands) step.parts.push_back(ReadPart(graph->buffers[b]));
      }
      Numbers(graph->buffers.size(), &step.results);
      Numbers(graph->program.num_symbols(), &step.symbols);
      step.group = Number(count + 1) - 1;
      Numbers(step.operands.size() + 1, &step.updates);
      for (int& updated : step.updates) --updated;
      step.deferred = in_.U32() != 0;
      step.region = Number(count + 1) - 1;
      Numbers(count, &step.regions);
    }
    for (uint64_t n = in_.Size(2 * kWord); n > 0; --n) {
      StepRegion& region = graph->regions.emplace_back();
      Numbers(count, &region.steps);
      Numbers(graph->buffers.size(), &region.outputs);
    }
  }
  int64_t ReadPart(const Buffer& buffer) {
    const int64_t part = in_.I64();
    const bool inside = part >= 0 && (!buffer.size.is_constant() || part <= buffer.size.value());
    if (part != Step::kWhole && !inside) in_.Fail();
    return part;
  }
  void ReadSources(StepGraph* graph) {
    for (uint64_t n = in_.Size(kWord); n > 0; --n) {
      SymbolSource source;
      source.parameter = Number(graph->parameters.size());
      constexpr uint32_t kMost = 1 << 20;
      source.dimension = Number(kMost) - 1;
      source.element = Number(kMost) - 1;
      source.dtype = ReadType();
      if (!in_.ok()) return;
      const bool is_dimension = source.dimension >= 0;
      if (is_dimension == (source.element >= 0) ||
          (is_dimension &&
           source.dimension >= graph->shapes[graph->parameters[source.parameter]].rank())) {
        in_.Fail();
      }
      graph->sources.push_back(source);
    }
  }

  // A region is that of one step, which stands before the region's own; those know where they are.
  static bool HasSoundRegions(const StepGraph& graph) {
    std::vector<int> control(graph.regions.size(), -1);
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      for (int r : graph.steps[s].regions) {
        if (static_cast<size_t>(r) >= control.size() || control[r] >= 0) return false;
        control[r] = static_cast<int>(s);
      }
    }
    std::vector<std::vector<int>> steps(graph.regions.size());
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      const int region = graph.steps[s].region, index = static_cast<int>(s);
      if (region < 0) continue;
      if (static_cast<size_t>(region) >= control.size() || control[region] < 0 ||
          control[region] >= index || graph.steps[s].group >= 0) {
        return false;
      }
      steps[region].push_back(index);
    }
    for (size_t r = 0; r < steps.size(); ++r) {
      if (control[r] < 0 || steps[r] != graph.regions[r].steps) return false;
    }
    return std::all_of(graph.steps.begin(), graph.steps.end(),
                       [&](const Step& step) { return HasSoundKind(graph, step); });
  }

  // Each in an operand of its own, of its size.
  static bool AreSoundUpdates(const StepGraph& graph, const Step& step) {
    for (size_t r = 0; r < step.updates.size(); ++r) {
      const int updated = step.updates[r];
      if (updated < 0) continue;
      if (graph.buffers[step.operands[updated]].size != graph.buffers[step.results[r]].size ||
          std::count(step.updates.begin(), step.updates.end(), updated) > 1) {
        return false;
      }
    }
    return true;
  }

  // Of the lists that its kind has; what regions compute has the size of the results.
  static bool HasSoundKind(const StepGraph& graph, const Step& step) {
    const auto size = [&](int b) { return graph.buffers[b].size; };
    const size_t operands = step.operands.size(), results = step.results.size();
    const bool is_loop = step.kind == Step::Kind::kWhile;
    if (step.kind == Step::Kind::kKernel) {
      return step.regions.empty() && (step.updates.empty() || step.updates.size() == results) &&
             AreSoundUpdates(graph, step);
    }
    if (step.group >= 0) return false;
    if (step.kind == Step::Kind::kCopy) {
      return step.regions.empty() && operands == 1 && results == 1;
    }
    if (is_loop ? operands < results || step.regions.size() != 2
                : operands == 0 || step.regions.empty()) {
      return false;
    }
    for (size_t i = 0; i < step.regions.size(); ++i) {
      const std::vector<int>& outputs = graph.regions[step.regions[i]].outputs;
      const bool is_condition = is_loop && i == 0;
      if (outputs.size() != (is_condition ? 1 : results)) return false;
      for (size_t o = 0; o < outputs.size(); ++o) {
        const Buffer& output = graph.buffers[outputs[o]];
        if (output.kind != Buffer::Kind::kComputed ||
            graph.steps[output.index].region != step.regions[i] ||
            output.size != (is_condition ? Dim(sizeof(bool)) : size(step.results[o]))) {
          return false;
        }
      }
    }
    return true;
  }

  // A buffer's source is within bounds; steps read results of steps before them, and groups read
  // parameters, constants and themselves.
  static bool IsSound(const StepGraph& graph) {
    if (graph.sources.size() != static_cast<size_t>(graph.program.num_symbols())) return false;
    if (!graph.CheckBuffers().ok()) return false;
    const uint64_t num_steps = graph.steps.size();
    for (const Buffer& buffer : graph.buffers) {
      const bool is_computed = buffer.kind == Buffer::Kind::kComputed;
      if (is_computed && static_cast<uint64_t>(buffer.index) >= num_steps) return false;
    }
    if (!HasSoundRegions(graph)) return false;
    for (size_t b = 0; b < graph.buffers.size(); ++b) {
      const Buffer& buffer = graph.buffers[b];
      const size_t counts[kNumBufferKinds] = {graph.parameters.size(), graph.constants.size(),
                                              graph.steps.size(), graph.size_values.size()};
      if (static_cast<size_t>(buffer.index) >= counts[static_cast<int>(buffer.kind)]) return false;
      if (buffer.kind != Buffer::Kind::kComputed) continue;
      const auto& results = graph.steps[buffer.index].results;
      const int id = static_cast<int>(b);
      if (std::find(results.begin(), results.end(), id) == results.end()) return false;
    }
    int groups = 0;
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      const Step& step = graph.steps[s];
      const int index = static_cast<int>(s);
      if (step.group > groups) return false;  // dense, in order of appearance
      if (step.group == groups) ++groups;
      for (int b : step.results) {
        const Buffer& buffer = graph.buffers[b];
        if (buffer.kind != Buffer::Kind::kComputed || buffer.index != index) return false;
      }
      for (int b : step.operands) {
        const Buffer& buffer = graph.buffers[b];
        if (buffer.kind == Buffer::Kind::kSizes && step.group >= 0) return false;
        if (buffer.kind != Buffer::Kind::kComputed) continue;
        if (buffer.index >= index) return false;
        if (step.group >= 0 && graph.steps[buffer.index].group != step.group) return false;
      }
    }
    return true;
  }

  ByteReader& in_;
  std::vector<Dim> dims_;
};

}  // namespace

void WriteStepGraph(const StepGraph& graph, ByteWriter* out) { Writer().Write(graph, out); }

bool ReadStepGraph(ByteReader* in, StepGraph* graph) { return Reader(in).Read(graph); }

}  // namespace tektite::runtime
