#include "tests/conformance/symbolic.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/base/hash.h"
#include "jit/base/status.h"
#include "jit/cache/key.h"
#include "jit/ir/part.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"
#include "jit/passes/fusion/fuse_leftovers.h"
#include "jit/reference/reference_backend.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Graph;
using ir::Literal;
using ir::Node;
using ir::Op;
using ir::Shape;

// `graph` with each size of `sizes` replaced by its symbol, wherever shape inference leads; null if
// it leads to a contradiction.
std::unique_ptr<Graph> Replaced(const Graph& graph, const std::map<int64_t, std::string>& sizes) {
  std::unique_ptr<Graph> copy = graph.Clone();
  std::map<int64_t, Dim> symbolic;  // by the size in the original
  for (const auto& [size, symbol] : sizes) symbolic.emplace(size, Dim::Symbol(symbol));
  auto replace = [&](Dim& d) {
    auto it = symbolic.find(d.value());
    if (it != symbolic.end()) d = it->second;
  };
  for (Node* node : copy->NodeList()) {
    if (node->op() == Op::kParameter) {
      Shape shape = node->shape();
      for (int i = 0; i < shape.rank(); ++i) {
        Dim d = shape.dim(i);
        replace(d);
        shape.set_dim(i, d);
      }
      node->set_shape(0, shape);
      continue;
    }
    for (auto& [attr, value] : node->attrs().mutable_values()) {
      if (auto* dims = std::get_if<ir::Dims>(&value)) {
        for (Dim& d : *dims) replace(d);
      }
    }
    std::vector<Shape> operands;
    for (ir::Value v : node->operands()) operands.push_back(v.shape());
    std::vector<const Graph*> regions;
    for (int r = 0; r < node->num_regions(); ++r) regions.push_back(&node->region(r));
    auto shapes = ops::InferShapes(node->op(), operands, node->attrs(), regions);
    if (!shapes.ok() || shapes->size() != static_cast<size_t>(node->num_results())) return nullptr;
    for (int r = 0; r < node->num_results(); ++r) {
      const Shape before = node->shape(r);
      for (int i = 0; i < before.rank(); ++i) {
        const Dim& now = (*shapes)[r].dim(i);
        if (!now.is_constant()) symbolic.emplace(before.dim(i).value(), now);
      }
      node->set_shape(r, (*shapes)[r]);
    }
  }
  return ops::VerifyGraph(*copy).ok() ? std::move(copy) : nullptr;
}

ir::SymbolMap MapOf(const SizeValues& values) {
  ir::SymbolMap map;
  for (const auto& [symbol, value] : values) map.emplace(symbol, value);
  return map;
}

// Memory between guards.
class Guarded {
 public:
  static constexpr int64_t kGuard = 256;
  static constexpr unsigned char kFill = 0xA5;
  explicit Guarded(int64_t bytes)
      : bytes_(bytes), memory_(std::aligned_alloc(64, (bytes + 2 * kGuard + 127) / 64 * 64)) {
    std::memset(memory_, kFill, bytes + 2 * kGuard);
  }
  ~Guarded() { std::free(memory_); }
  Guarded(const Guarded&) = delete;
  unsigned char* data() { return static_cast<unsigned char*>(memory_) + kGuard; }
  bool Intact() const {
    const auto* at = static_cast<const unsigned char*>(memory_);
    for (int64_t i = 0; i < kGuard; ++i) {
      if (at[i] != kFill || at[kGuard + bytes_ + i] != kFill) return false;
    }
    return true;
  }

 private:
  int64_t bytes_;
  void* memory_;
};

}  // namespace

std::unique_ptr<Graph> WithSizes(const Graph& graph, const SizeValues& values) {
  std::unique_ptr<Graph> copy = graph.Clone();
  copy->Substitute(MapOf(values));
  return copy;
}

SymbolicCase Symbolize(const Graph& graph) {
  SymbolicCase result;
  std::set<int64_t> candidates;
  for (const Node* p : graph.parameters()) {
    if (p->Bool(Attr::weight)) continue;
    for (const Dim& d : p->shape().dims()) {
      if (d.value() >= 2) candidates.insert(d.value());
    }
  }
  std::map<int64_t, std::string> sizes;
  for (int64_t size : candidates) {
    sizes.emplace(size, absl::StrCat("n", size));
    auto graph_with = Replaced(graph, sizes);
    if (graph_with == nullptr) {
      sizes.erase(size);
    } else {
      result.graph = std::move(graph_with);
    }
  }
  for (const auto& [size, symbol] : sizes) result.values.emplace_back(symbol, size);
  return result;
}

KernelRunner::KernelRunner(compiler::Compiler* compiler, std::unique_ptr<backend::Backend> backend)
    : compiler_(compiler),
      backend_(std::move(backend)),
      reference_(*reference::ReferenceBackend::Create({})) {}

absl::StatusOr<cache::KernelPtr> KernelRunner::KernelFor(const Node& fusion) {
  for (backend::Backend* backend : {backend_.get(), reference_.get()}) {
    backend::CompileOptions options;
    options.name = absl::StrCat("symbolic_", ir::FusionKindName(fusion.fusion_kind()));
    const Fingerprint key =
        FingerprintOf(absl::StrCat(backend->name(), ";", cache::KernelText(fusion)));
    auto kernel = store_.GetOrCompile(key, [&] {
      ++compiled_;
      return backend->Compile(fusion, options);
    });
    if (kernel.ok() || !absl::IsUnimplemented(kernel.status())) return kernel;
    if (backend == backend_.get()) refusals_.push_back(std::string(kernel.status().message()));
  }
  return absl::UnimplementedError("no back end");
}

absl::Status KernelRunner::Compile(const Graph& graph) {
  graph_ = graph.Clone();
  refusals_.clear();
  num_fusions_ = 0;
  TEKTITE_RETURN_IF_ERROR(compiler_->RunPasses(*graph_, {}));
  for (Node* node : graph_->NodeList()) {
    if (node->op() == Op::kFusion) TEKTITE_RETURN_IF_ERROR(CompileFusion(node));
  }
  return absl::OkStatus();
}

absl::Status KernelRunner::CompileFusion(Node* fusion) {
  const size_t refused = refusals_.size();
  TEKTITE_RETURN_IF_ERROR(KernelFor(*fusion).status());
  ++num_fusions_;
  if (refusals_.size() == refused) return absl::OkStatus();
  const std::vector<Node*> parts = passes::SplitFusion(*graph_, fusion);
  if (parts.empty()) return absl::OkStatus();
  refusals_.resize(refused);
  --num_fusions_;
  for (Node* part : parts) {
    TEKTITE_RETURN_IF_ERROR(KernelFor(*part).status());
    ++num_fusions_;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Literal>> KernelRunner::Run(const SizeValues& values,
                                                       const std::vector<Literal>& inputs) {
  const ir::SymbolMap symbols = MapOf(values);
  absl::flat_hash_map<ir::Value, Literal> literals;
  for (const auto& node : graph_->nodes()) {
    switch (node->op()) {
      case Op::kParameter:
        literals[node->result()] = inputs[node->Int(Attr::index)];
        break;
      case Op::kConstant:
        literals[node->result()] = node->attrs().GetLiteral(Attr::value);
        break;
      case Op::kReshape:
        literals[node->result()] =
            literals.at(node->operand(0)).Reshaped(node->shape().Substitute(symbols).sizes());
        break;
      case Op::kSlice: {  // a part of its operand's memory
        const Shape shape = node->shape().Substitute(symbols);
        const auto* whole = static_cast<const std::byte*>(literals.at(node->operand(0)).raw());
        literals[node->result()] =
            Literal::CopyOf(shape.dtype(), shape.sizes(),
                            whole + *ir::PartOffset(*node) * ir::DTypeBytes(shape.dtype()));
        break;
      }
      default: {
        TEKTITE_ASSIGN_OR_RETURN(cache::KernelPtr kernel, KernelFor(*node));
        TEKTITE_RETURN_IF_ERROR(RunFusion(*node, *kernel, symbols, &literals));
      }
    }
  }
  std::vector<Literal> results;
  for (ir::Value v : graph_->outputs()) results.push_back(literals.at(v));
  return results;
}

absl::Status KernelRunner::RunFusion(const Node& fusion, const backend::Kernel& kernel,
                                     const ir::SymbolMap& symbols,
                                     absl::flat_hash_map<ir::Value, Literal>* literals) {
  std::vector<int64_t> sizes;
  for (const std::string& symbol : ir::SymbolsOf(fusion.region())) {
    sizes.push_back(symbols.at(symbol).value());
  }
  const auto& host_kernel = static_cast<const backend::HostKernel&>(kernel);
  const backend::LaunchConfig config = kernel.Configure(sizes);
  Guarded scratch(config.scratch_bytes);
  std::vector<Literal> first;
  // All chunks at once, then one by one from the last to the first.
  for (bool backwards : {false, true}) {
    std::vector<void*> buffers;
    for (ir::Value v : fusion.operands()) {
      buffers.push_back(const_cast<void*>(literals->at(v).raw()));
    }
    std::vector<std::unique_ptr<Guarded>> memory;
    std::vector<Shape> shapes;
    for (const Shape& shape : fusion.shapes()) {
      shapes.push_back(shape.Substitute(symbols));
      memory.push_back(std::make_unique<Guarded>(shapes.back().num_bytes()));
      buffers.push_back(memory.back()->data());
    }
    const backend::KernelFrame frame{buffers.data(), sizes.data(), scratch.data()};
    if (!backwards) {
      host_kernel.Run(frame, 0, config.num_chunks);
    } else {
      for (int64_t c = config.num_chunks; c-- > 0;) host_kernel.Run(frame, c, c + 1);
    }
    if (!scratch.Intact()) ADD_FAILURE() << "a store beside scratch";
    for (size_t r = 0; r < memory.size(); ++r) {
      if (!memory[r]->Intact()) ADD_FAILURE() << "a store beside a result";
      Literal result = Literal::CopyOf(shapes[r].dtype(), shapes[r].sizes(), memory[r]->data());
      if (!backwards) {
        first.push_back(result);
        (*literals)[ir::Value{const_cast<Node*>(&fusion), static_cast<int>(r)}] = result;
      } else if (!(result == first[r])) {
        ADD_FAILURE() << "result " << r << " depends on the order of chunks";
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::testing
