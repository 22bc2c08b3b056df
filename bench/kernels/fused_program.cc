#include "bench/kernels/fused_program.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "backends/cpu/cpu_backend.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/ir/symbols.h"

namespace tektite::bench {

using ir::Node;
using ir::Op;

void FillWithNoise(ir::DType dtype, int64_t count, std::mt19937* random, void* data) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == ir::DType::kBF16) {
      static_cast<ir::BFloat16*>(data)[i] = ir::BFloat16(normal(*random));
    } else {
      static_cast<float*>(data)[i] = normal(*random);
    }
  }
}

absl::StatusOr<std::unique_ptr<FusedProgram>> FusedProgram::Create(const ir::Graph& graph,
                                                                   const ir::SymbolMap& sizes,
                                                                   compiler::Compiler& compiler) {
  auto program = std::make_unique<FusedProgram>();
  program->graph_ = graph.Clone();
  TEKTITE_RETURN_IF_ERROR(compiler.RunPasses(*program->graph_, {}));
  TEKTITE_ASSIGN_OR_RETURN(auto backend, cpu::CreateCpuBackend(compiler.flags()));
  TEKTITE_RETURN_IF_ERROR(program->Build(sizes, *backend));
  return program;
}

void* FusedProgram::Allocate(int64_t bytes) {
  memory_.emplace_back(std::aligned_alloc(64, static_cast<size_t>(bytes + 127) / 64 * 64),
                       std::free);
  return memory_.back().get();
}

absl::Status FusedProgram::Build(const ir::SymbolMap& sizes, backend::Backend& backend) {
  std::mt19937 random(1);
  absl::flat_hash_map<ir::Value, void*> pointers;
  absl::flat_hash_set<const Node*> stable;
  std::vector<Launch> once;
  int64_t scratch_bytes = 0;
  for (Node* node : graph_->NodeList()) {
    switch (node->op()) {
      case Op::kParameter: {
        const ir::Shape shape = node->shape().Substitute(sizes);
        void* const data = Allocate(shape.num_bytes());
        FillWithNoise(shape.dtype(), shape.num_elements(), &random, data);
        pointers[node->result()] = data;
        if (node->Bool(ir::Attr::weight)) stable.insert(node);
        break;
      }
      case Op::kConstant:
        pointers[node->result()] =
            const_cast<void*>(node->attrs().GetLiteral(ir::Attr::value).raw());
        stable.insert(node);
        break;
      case Op::kReshape:
        pointers[node->result()] = pointers.at(node->operand(0));
        break;
      default: {
        Launch launch;
        backend::CompileOptions options;
        options.name = absl::StrCat("fused_", ir::FusionKindName(node->fusion_kind()));
        TEKTITE_ASSIGN_OR_RETURN(launch.kernel, backend.Compile(*node, options));
        bool is_stable = true;
        for (ir::Value v : node->operands()) {
          launch.buffers.push_back(pointers.at(v));
          is_stable = is_stable && stable.count(v.node) > 0;
        }
        for (int r = 0; r < node->num_results(); ++r) {
          void* result = Allocate(node->shape(r).Substitute(sizes).num_bytes());
          launch.buffers.push_back(result);
          pointers[node->result(r)] = result;
        }
        for (const std::string& symbol : ir::SymbolsOf(node->region())) {
          launch.sizes.push_back(sizes.at(symbol).value());
        }
        scratch_bytes =
            std::max(scratch_bytes, launch.kernel->Configure(launch.sizes).scratch_bytes);
        if (is_stable) stable.insert(node);
        (is_stable ? once : launches_).push_back(std::move(launch));
      }
    }
  }
  scratch_ = Allocate(scratch_bytes);
  for (const Launch& launch : once) launch.Run(scratch_);
  return absl::OkStatus();
}

void FusedProgram::Launch::Run(void* scratch) const {
  const backend::LaunchConfig config = kernel->Configure(sizes);
  static_cast<const backend::HostKernel&>(*kernel).Run({buffers.data(), sizes.data(), scratch}, 0,
                                                       config.num_chunks);
}

double FusedProgram::PlanNs() const {
  constexpr int kTimes = 1000;
  Stopwatch watch;
  int64_t chunks = 0;
  for (int i = 0; i < kTimes; ++i) {
    for (const Launch& launch : launches_)
      chunks += launch.kernel->Configure(launch.sizes).num_chunks;
  }
  return chunks >= 0 ? watch.Seconds() * 1e9 / kTimes : 0;
}

void FusedProgram::Run() const {
  for (const Launch& launch : launches_) launch.Run(scratch_);
}

}  // namespace tektite::bench
