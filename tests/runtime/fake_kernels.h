// Kernels written by hand, and graphs of fusions for them: what the runtime's tests run.  A graph's
// kernels are of TestDevice(), and so must be an executable's options.
#ifndef TEKTITE_TESTS_RUNTIME_FAKE_KERNELS_H_
#define TEKTITE_TESTS_RUNTIME_FAKE_KERNELS_H_

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "jit/backend/backend.h"
#include "jit/ir/graph.h"
#include "jit/runtime/executable.h"
#ifdef TEKTITE_ON_ISLAND
#include "tests/island/island.h"
#endif

namespace tektite::runtime {

// The device that the tests run on: the host, or a device whose memory the host cannot reach
// (tests/island).
#ifdef TEKTITE_ON_ISLAND
inline std::shared_ptr<backend::Device> TestDevice() {
  return std::make_shared<testing::IslandDevice>();
}
inline std::shared_ptr<const backend::Kernel> OnTestDevice(
    std::shared_ptr<const backend::Kernel> kernel) {
  // One kernel here is one kernel there: weights are shared by it.
  static auto& made =
      *new std::map<const backend::Kernel*, std::weak_ptr<const testing::IslandKernel>>;
  std::weak_ptr<const testing::IslandKernel>& known = made[kernel.get()];
  std::shared_ptr<const testing::IslandKernel> island = known.lock();
  if (island == nullptr) {
    island = std::make_shared<testing::IslandKernel>(
        std::static_pointer_cast<const backend::HostKernel>(std::move(kernel)));
    known = island;
  }
  return island;
}
#else
inline std::shared_ptr<backend::Device> TestDevice() { return std::make_shared<HostDevice>(); }
inline std::shared_ptr<const backend::Kernel> OnTestDevice(
    std::shared_ptr<const backend::Kernel> kernel) {
  return kernel;
}
#endif

// Calls `run(frame, chunk)` for each chunk.
class FakeKernel : public backend::HostKernel {
 public:
  using Fn = std::function<void(const backend::KernelFrame&, int64_t chunk)>;
  FakeKernel(Fn fn, int64_t chunks = 1, double cost_ns = 0, bool in_place = false,
             int64_t scratch = 0)
      : fn_(std::move(fn)), in_place_(in_place) {
    config_ = {chunks, scratch, cost_ns};
  }
  backend::LaunchConfig Configure(absl::Span<const int64_t>) const override { return config_; }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    for (int64_t c = begin; c < end; ++c) fn_(frame, c);
  }
  bool CanRunInPlace(int, int) const override { return in_place_; }

 private:
  Fn fn_;
  bool in_place_;
  backend::LaunchConfig config_;
};

// Builds a graph whose fusions have kernels of the test's own; the regions stay empty of meaning.
class FakeGraph {
 public:
  ir::Value Parameter(std::vector<int64_t> dims, bool weight = false) {
    ir::Value v = graph.AddParameter(ir::Shape(ir::DType::kF32, absl::MakeConstSpan(dims)));
    if (weight) v.node->attrs().Set(ir::Attr::weight, true);
    return v;
  }
  ir::Value Fusion(std::vector<ir::Value> operands, std::vector<int64_t> dims,
                   std::shared_ptr<const backend::Kernel> kernel,
                   ir::DType dtype = ir::DType::kF32) {
    const ir::Shape shape(dtype, absl::MakeConstSpan(dims));
    ir::Node* node = graph.Append(ir::Op::kFusion, operands, {}, {shape});
    auto region = std::make_unique<ir::Graph>();
    for (ir::Value v : operands) region->AddParameter(v.shape());
    node->AddRegion(std::move(region));
    kernels[node] = OnTestDevice(std::move(kernel));
    return node->result();
  }
  ir::Value Reshape(ir::Value v, std::vector<int64_t> dims) {
    return graph
        .Append(ir::Op::kReshape, {v}, {}, {ir::Shape(v.dtype(), absl::MakeConstSpan(dims))})
        ->result();
  }
  // Elements [start, start + n) of what is seen as one row.
  ir::Value Part(ir::Value v, int64_t start, int64_t n) {
    const int64_t all = v.shape().num_elements();
    return graph
        .Append(ir::Op::kSlice, {Reshape(v, {all})},
                {{ir::Attr::starts, ir::Dims{start}},
                 {ir::Attr::limits, ir::Dims{start + n}},
                 {ir::Attr::strides, std::vector<int64_t>{1}}},
                {ir::Shape(v.dtype(), absl::MakeConstSpan(std::vector<int64_t>{n}))})
        ->result();
  }
  StepGraph Steps(std::vector<ir::Value> outputs) {
    graph.SetOutputs(std::move(outputs));
    absl::StatusOr<StepGraph> steps = StepGraph::Create(graph, kernels);
    if (!steps.ok()) std::abort();
    return *std::move(steps);
  }

  ir::Graph graph;
  KernelMap kernels;
};

// y[i] = f(operands[0][i], ...) over `n` floats in chunks.
inline std::shared_ptr<const backend::Kernel> MapKernel(int operands, int64_t n,
                                                        std::function<float(const float*)> f,
                                                        int64_t chunks = 1, double cost_ns = 0,
                                                        bool in_place = true) {
  return std::make_shared<FakeKernel>(
      [=](const backend::KernelFrame& frame, int64_t chunk) {
        auto* y = static_cast<float*>(frame.buffers[operands]);
        for (int64_t i = n * chunk / chunks; i < n * (chunk + 1) / chunks; ++i) {
          float x[8];
          for (int o = 0; o < operands; ++o) x[o] = static_cast<float*>(frame.buffers[o])[i];
          y[i] = f(x);
        }
      },
      chunks, cost_ns, in_place);
}

// A host that keeps results in vectors.
class TestHost : public CallHost {
 public:
  explicit TestHost(HostPool pool = {}) : pool_(pool) {}
  HostPool Pool() override { return pool_; }
  void* Allocate(int result, const TensorType& type) override {
    if (refuse) return nullptr;
    auto& memory = results[result];
    const int64_t bytes = ir::Product(type.dims) * ir::DTypeBytes(type.dtype);
    memory.assign(static_cast<size_t>(bytes) / sizeof(float) + 1, -1);
    return memory.data();
  }
  bool Forward(int result, int argument) override {
    if (!may_forward) return false;
    forwarded[result] = argument;
    return true;
  }

  bool refuse = false, may_forward = true;
  std::map<int, std::vector<float>> results;
  std::map<int, int> forwarded;

 private:
  HostPool pool_;
};

inline Executable::Options TestOptions(int64_t weight_bytes = int64_t{1} << 30) {
  Executable::Options options;
  const std::shared_ptr<backend::Device> device = TestDevice();
  options.arenas = std::make_shared<ArenaPool>(device);
  options.weights =
      std::make_shared<WeightStore>(std::make_shared<MemoryBudget>(weight_bytes, device));
  return options;
}

}  // namespace tektite::runtime

#endif  // TEKTITE_TESTS_RUNTIME_FAKE_KERNELS_H_
