// Which convolutions go to Winograd's algorithm and to oneDNN, and their results against the
// interpreter's: both add up in an order of their own.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/passes/pipeline.h"
#include "jit/reference/interpreter.h"
#include "jit/runtime/executable.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

class Host : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int, const runtime::TensorType& type) override {
    memory_.resize(static_cast<size_t>(ir::Product(type.dims)) * ir::DTypeBytes(type.dtype) + 64);
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return data_ = memory_.data() + (64 - address % 64) % 64;
  }
  Literal Take(const ir::Shape& shape) const {
    return Literal::CopyOf(shape.dtype(), shape.sizes(), data_);
  }

 private:
  std::vector<char> memory_;
  void* data_ = nullptr;
};

struct Outcome {
  Literal result;
  std::string implementation;  // of the contraction
};

absl::StatusOr<Outcome> Run(const ir::Graph& graph, const std::vector<Literal>& inputs) {
  Flags flags;
  const auto backend = CreateTested({"cpu", "cpu"}, {});
  auto owned = graph.Clone();
  passes::PassContext context(flags);
  context.evaluate = &reference::Evaluate;
  context.target = backend->target();
  context.schedules = [&](const ir::Node& node, const target::Facts& facts) {
    return backend->Schedules(node, facts);
  };
  TEKTITE_RETURN_IF_ERROR(passes::RunPipeline(*owned, context));
  std::string implementation;
  runtime::KernelMap kernels;
  for (ir::Node* node : owned->NodeList()) {
    if (node->op() != ir::Op::kFusion) continue;
    if (node->IsFusion(ir::FusionKind::kContraction)) {
      implementation = target::ScheduleOf(*node).implementation;
    }
    TEKTITE_ASSIGN_OR_RETURN(kernels[node], backend->Compile(*node, {"k", ""}));
  }
  TEKTITE_ASSIGN_OR_RETURN(auto steps, runtime::StepGraph::Create(*owned, kernels));
  runtime::Executable::Options options;
  options.arenas = std::make_shared<runtime::ArenaPool>();
  options.weights = std::make_shared<runtime::WeightStore>(
      std::make_shared<runtime::MemoryBudget>(int64_t{1} << 30));
  auto executable = runtime::Executable::Create(std::move(steps), std::move(options));
  std::vector<runtime::Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back({inputs[i].raw(), graph.parameter(static_cast<int>(i))->Bool(Attr::weight)
                                              ? uint64_t{1}
                                              : uint64_t{0}});
  }
  Host host;
  TEKTITE_RETURN_IF_ERROR(executable->Run(arguments, host));
  return Outcome{host.Take(graph.outputs()[0].shape()), implementation};
}

int Threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// Returns the contraction's implementation.
std::string Check(FuncBuilder& b) {
  const ir::Graph& graph = *b.graph();
  const std::vector<Literal> inputs = PlainInputs(graph, 3);
  auto want = reference::Evaluate(graph, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  auto warm = Run(graph, inputs);  // opens libraries
  const int threads = Threads();
  auto got = Run(graph, inputs);
  EXPECT_TRUE(got.ok()) << got.status();
  if (!want.ok() || !got.ok()) return "";
  EXPECT_EQ(Difference(got->result, want->at(0), Tolerance::Relative(1e-6)), "");
  // oneDNN's OpenMP starts none.
  EXPECT_EQ(Threads(), threads);
  return got->implementation;
}

Value Weight(FuncBuilder& b, const Ints& sizes) {
  Value w = b.Parameter(Of(DType::kF32, sizes));
  w.node->attrs().Set(Attr::weight, true);
  return w;
}

TEST(Candidates, WinogradWhereItGains) {
  struct Case {
    Ints image, kernel, strides;
    bool expected;
  };
  const std::vector<Case> cases = {
      {{1, 28, 28, 64}, {3, 3, 64, 64}, {1, 1}, true},
      {{1, 14, 14, 256}, {3, 3, 256, 256}, {1, 1}, true},
      {{1, 28, 28, 64}, {3, 3, 64, 64}, {2, 2}, false},   // strides
      {{1, 28, 28, 64}, {1, 3, 64, 64}, {1, 1}, false},   // another kernel
      {{1, 28, 28, 20}, {3, 3, 20, 64}, {1, 1}, false},   // channels that are no whole vectors
      {{1, 3, 3, 512}, {3, 3, 512, 512}, {1, 1}, false},  // too few results for each weight
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("case ", i));
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, cases[i].image));
    FuncBuilder::ConvOptions options;
    options.strides = cases[i].strides;
    options.low = options.high = {1, 1};
    b.Return({b.Convolution(x, Weight(b, cases[i].kernel), options)});
    EXPECT_EQ(Check(b) == "winograd", cases[i].expected);
  }
}

TEST(Candidates, ConvolutionsOfVolumes) {
  for (const int64_t stride : {1, 2}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {2, 6, 12, 13, 32}));
    FuncBuilder::ConvOptions options;
    options.input_layout = options.output_layout = "b012f";
    options.kernel_layout = "012io";
    options.strides = {stride, stride, stride};
    options.low = options.high = {1, 1, 1};
    Value y = b.Convolution(x, Weight(b, {3, 3, 3, 32, 64}), options);
    b.Return({b.Max(y, b.FullLike(y, 0))});
    const std::string implementation = Check(b);
#ifdef TEKTITE_TEST_ONEDNN
    if (__builtin_cpu_supports("avx512bw") != 0) {
      EXPECT_EQ(implementation, "onednn");
    }
#endif
  }
}

}  // namespace
}  // namespace tektite::testing
