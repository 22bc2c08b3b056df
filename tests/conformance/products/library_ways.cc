#include "tests/conformance/products/library_ways.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "jit/base/status.h"
#include "jit/passes/pipeline.h"
#include "jit/reference/interpreter.h"
#include "tests/conformance/offers.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ir::Literal;
using ::testing::HasSubstr;
using ::testing::Not;

class Host : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int, const runtime::TensorType& type) override {
    memory_.resize(static_cast<size_t>(ir::Product(type.dims)) * ir::DTypeBytes(type.dtype));
    return memory_.data();
  }
  Literal Take(const ir::Shape& shape) const {
    return Literal::CopyOf(shape.dtype(), shape.sizes(), memory_.data());
  }

 private:
  std::vector<char> memory_;
};

}  // namespace

std::shared_ptr<runtime::Executable> CompiledWay::NewExecutable(backend::Backend& backend) const {
  auto steps = runtime::StepGraph::Create(*graph, kernels);
  EXPECT_TRUE(steps.ok()) << steps.status();
  runtime::Executable::Options options;
  options.arenas = std::make_shared<runtime::ArenaPool>(backend.device());
  options.weights = std::make_shared<runtime::WeightStore>(
      std::make_shared<runtime::MemoryBudget>(int64_t{1} << 30, backend.device()));
  return runtime::Executable::Create(*std::move(steps), std::move(options));
}

bool LibraryWays::IsOnCard() { return std::getenv(kCardVariable) != nullptr; }

void LibraryWays::SetUp() {
  if (IsOnCard()) {
    Flags flags;
    flags.device = absl::StrCat("gpu:", std::getenv(kCardVariable));
    flags.tuning = "auto";
    backend_ = *gpu::CreateGpuBackend(flags);
    return;
  }
  auto card = gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0);
  ASSERT_TRUE(card.ok()) << card.status();
  card_ = *card;
  auto options = OptionsOnStandIn();
  ASSERT_TRUE(options.ok()) << options.status();
  options->hook = InterpretOnFakeDriver();
  backend_ = *gpu::CreateCardBackend(card_, nullptr, *std::move(options));
}

void LibraryWays::TearDown() {
  backend_.reset();
  card_.reset();
}

absl::StatusOr<CompiledWay> LibraryWays::Compile(const ir::Graph& graph,
                                                 const std::string& candidate) {
  const Flags flags;
  CompiledWay compiled;
  compiled.graph = graph.Clone();
  passes::PassContext context(flags);
  context.evaluate = &reference::Evaluate;
  context.target = backend_->target();
  context.alternatives = true;
  context.schedules = [&](const ir::Node& node, const target::Facts& facts) {
    std::vector<std::string> names;  // of this fusion, where there is a choice
    auto offers = Preferred(backend_->Schedules(node, facts), candidate, &names);
    if (!names.empty()) compiled.candidates = std::move(names);
    return offers;
  };
  TEKTITE_RETURN_IF_ERROR(passes::RunPipeline(*compiled.graph, context));
  for (ir::Node* node : compiled.graph->NodeList()) {
    if (node->op() != ir::Op::kFusion) continue;
    TEKTITE_ASSIGN_OR_RETURN(compiled.kernels[node], backend_->Compile(*node, {"k", ""}));
    absl::StrAppend(&compiled.images, gpu::DescribeImage(compiled.kernels[node]->Image()), "\n");
  }
  return compiled;
}

absl::StatusOr<Literal> LibraryWays::Call(runtime::Executable& executable, const ir::Graph& graph,
                                          const std::vector<Literal>& inputs) {
  std::vector<runtime::Argument> arguments;
  for (const Literal& input : inputs) arguments.push_back({input.raw(), 0});
  Host host;
  TEKTITE_RETURN_IF_ERROR(executable.Run(arguments, host));
  return host.Take(graph.outputs()[0].shape());
}

std::vector<std::string> LibraryWays::CheckAll(const ir::Graph& graph,
                                               const std::vector<Literal>& inputs,
                                               const Tolerance& tolerance,
                                               const std::string& refused) {
  auto want = reference::Evaluate(graph, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  auto usual = Compile(graph, "");
  EXPECT_TRUE(usual.ok()) << usual.status();
  if (!want.ok() || !usual.ok()) return {};
  EXPECT_THAT(usual->images, Not(HasSubstr(library_)));
  for (const std::string& candidate : usual->candidates) {
    SCOPED_TRACE(candidate);
    auto compiled = Compile(graph, candidate);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    if (!compiled.ok()) continue;
    // What a real library has is for it to say.
    if (!IsOnCard() && candidate != target::kOwn && candidate != refused) {
      EXPECT_THAT(compiled->images, HasSubstr(library_));
    }
    const auto executable = compiled->NewExecutable(*backend_);
    auto got = Call(*executable, graph, inputs);
    EXPECT_TRUE(got.ok()) << got.status() << LastKernelFault();
    if (got.ok()) {
      EXPECT_EQ(Difference(*got, want->at(0), tolerance), "");
    }
  }
  return usual->candidates;
}

std::vector<std::string> LibraryWays::CheckAll(ops::FuncBuilder& b, const Tolerance& tolerance,
                                               const std::string& refused) {
  return CheckAll(*b.graph(), PlainInputs(*b.graph(), 3), tolerance, refused);
}

}  // namespace tektite::testing
