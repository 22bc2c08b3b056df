// Modules as bytes: equal graphs give equal ones, what is read is what was written, and no bytes do
// harm.
#include "jit/compiler/module.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/compiler/make_module.h"
#include "jit/compiler/specialize.h"
#include "jit/runtime/step_graph_bytes.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/cache/testing.h"
#include "tests/ir/every_op.h"
#include "tests/passes/random_graph.h"

namespace tektite::compiler {
namespace {

constexpr char kGraph[] = R"(
graph @model(%x: f32[n,8], %w: f32[8,4] {weight = true}, %y: f32[n,8]) -> (f32[n,4], f32[2*n,4], f32[n,4]) {
  %z: f32[n,8] = add(%x, %y)
  %c: f32[4] = constant() {value = f32[4]{1, 2, 3, 4}}
  %b: f32[n,4] = broadcast_in_dim(%c) {dimensions = [1], shape = (n, 4)}
  %0: f32[n,4] = dot_general(%z, %w) {lhs_batch = [], lhs_contracting = [1], rhs_batch = [], rhs_contracting = [0]}
  %1: f32[n,4] = add(%0, %b)
  %2: f32[2*n,4] = concatenate(%1, %b) {dimension = 0}
  %3: f32[n,4] = sort(%1) {descending = false, dimension = 1}
  return %1, %2, %3
}
)";

constexpr char kConvolution[] = R"(
graph @convolution(%x: f32[1,9,9,8], %w: f32[3,3,8,24] {weight = true}) -> (f32[1,7,7,24]) {
  %0: f32[1,7,7,24] = convolution(%x, %w) {input_layout = "b01f", kernel_layout = "01io", output_layout = "b01f"}
  %1: f32[1,7,7,24] = tanh(%0)
  return %1
}
)";

constexpr char kRows[] = R"(
graph @rows(%x: f32[n,40]) -> (f32[n,40]) {
  %0: f32[n] = reduce(%x) {dimensions = [1], reducer = "max"}
  %1: f32[n,40] = broadcast_in_dim(%0) {dimensions = [0], shape = (n, 40)}
  %2: f32[n,40] = sub(%x, %1)
  %3: f32[n,40] = exp(%2)
  return %3
}
)";

// The payload of the one plan that compiling the graph leaves.
std::string CompiledModule() {
  const cache::TestFolder folder;
  CompilerOptions options;
  options.backends = tektite::c_api::AllBackends();
  options.backend = "cpu";
  cache::DiskStoreOptions disk;
  disk.directory = folder / "cache";
  options.disk = cache::DiskStore::Open(disk);
  auto compiler = Compiler::Create(std::move(options));
  EXPECT_TRUE(compiler.ok()) << compiler.status();
  auto graph = ParseGraph(kGraph);
  EXPECT_TRUE(graph.ok()) << graph.status();
  ModuleKey key;
  key.fingerprint = FingerprintOf("plan");
  key.describe = [] { return cache::TestKey("plan", cache::EntryKind::kModule); };
  CompileJob job;
  job.typical_sizes = {{"n", 5}};
  job.module_key = &key;
  job.module_note = "a note";
  auto executable = (*compiler)->Compile(*std::move(graph), job);
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto reopened = cache::DiskStore::Open(disk);
  return reopened->Load(key.fingerprint, nullptr).value_or("");
}

TEST(Module, ReadsBackWhatWasWritten) {
  const std::string bytes = CompiledModule();
  Module module;
  ASSERT_TRUE(ReadModule(bytes, &module));
  EXPECT_EQ(module.note, "a note");
  EXPECT_EQ(module.steps.program.symbols(), std::vector<std::string>{"n"});
  EXPECT_EQ(module.steps.outputs[1].shape.ToString(), "f32[2*n,4]");
  EXPECT_EQ(module.steps.shapes.size(), 2);
  EXPECT_EQ(module.steps.parameters, (std::vector<int>{0, 1, 0}));
  int without_image = 0;
  for (const ModuleKernel& kernel : module.kernels) {
    without_image += kernel.image.empty();
    EXPECT_NE(kernel.image.empty(), kernel.fusion.empty());
  }
  EXPECT_EQ(without_image, 1) << "sort";
  EXPECT_EQ(WriteModule(module), bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Module cut;
    EXPECT_FALSE(ReadModule(bytes.substr(0, size), &cut)) << size;
  }
}

TEST(Module, ARefusalReadsBackToo) {
  const std::string bytes = WriteRefusal("a note", "no kernel for this");
  Module module;
  ASSERT_TRUE(ReadModule(bytes, &module));
  EXPECT_EQ(module.note, "a note");
  EXPECT_EQ(module.refusal, "no kernel for this");
  EXPECT_TRUE(module.kernels.empty() && module.steps.steps.empty());
  EXPECT_FALSE(ReadModule(bytes + "x", &module));
  for (size_t size = 0; size < bytes.size(); ++size) {
    Module cut;
    EXPECT_FALSE(ReadModule(bytes.substr(0, size), &cut)) << size;
  }
}

// Of a back end of its own, without a cache.
class Modules {
 public:
  Modules() {
    for (const BackendInfo& info : backends_.rows) {
      if (info.name == "cpu") backend_ = *info.create(flags_);
    }
  }

  // The bytes of the graph's module, or why there is none.
  std::string Of(const ir::Graph& graph) {
    passes::PassContext context(flags_);
    context.evaluate = backends_.evaluate;
    context.target = backend_->target();
    context.schedules = [&](const ir::Node& fusion, const target::Facts& facts) {
      return backend_->Schedules(fusion, facts);
    };
    ModuleOptions options;
    options.passes = &context;
    options.typical_sizes = {{"n", 5}};
    options.is_written = true;
    options.make_kernel = [&](const ir::Node& fusion, const backend::CompileOptions& kernel, bool,
                              Fingerprint*) { return backend_->Compile(fusion, kernel); };
    const auto module = MakeModule(*graph.Clone(), options);
    return module.ok() ? WriteModule(*module) : std::string(module.status().message());
  }

 private:
  const Flags flags_;
  const BackendList backends_ = tektite::c_api::AllBackends();
  std::unique_ptr<backend::Backend> backend_;
};

// Whatever the process has compiled before: the second back end meets the graphs the other way
// round.
TEST(Module, EqualGraphsGiveEqualBytes) {
  std::vector<std::unique_ptr<ir::Graph>> graphs = *ir::ParseAll(testing::EveryOpText());
  for (const char* text : {kGraph, kConvolution, kRows}) graphs.push_back(*ParseGraph(text));
  for (uint32_t seed = 0; seed < 20; ++seed) {
    graphs.push_back(MakeRandomGraph(seed, Flavor::kRounded, /*symbolic=*/seed % 2 == 1).graph);
  }
  std::vector<std::string> first;
  Modules modules;
  for (const auto& graph : graphs) first.push_back(modules.Of(*graph));
  const auto is_module = [](const std::string& bytes) {
    Module module;
    return ReadModule(bytes, &module);
  };
  EXPECT_GT(std::count_if(first.begin(), first.end(), is_module), graphs.size() * 9 / 10);
  Modules others;
  for (size_t i = graphs.size(); i-- > 0;) {
    EXPECT_TRUE(others.Of(*graphs[i]) == first[i]) << ir::Print(*graphs[i]);
  }
}

// The digest of an entry keeps such bytes away; here they get past it.
TEST(Module, NoBytesDoHarm) {
  const std::string good = CompiledModule();
  const char* const text = std::getenv("TEKTITE_MUTATIONS");
  const int mutations = text == nullptr ? 5000 : std::atoi(text);
  std::mt19937_64 random(3);
  int read = 0;
  for (int i = 0; i < mutations; ++i) {
    std::string bytes = good;
    const size_t at = random() % (bytes.size() - 8);
    switch (random() % 3) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1: {
        const uint64_t lie = random() >> (random() % 64);
        bytes.replace(at, 8, reinterpret_cast<const char*>(&lie), 8);
        break;
      }
      default:
        bytes.erase(at, 1 + random() % 16);
    }
    Module module;
    if (!ReadModule(bytes, &module)) continue;
    ++read;
    module.steps.SetTypicalBytes();
    runtime::StepGraph& steps = module.steps;
    steps.FindGroups();
    EXPECT_LE(steps.groups.size(), steps.steps.size());
  }
  EXPECT_LT(read, mutations);
}

}  // namespace
}  // namespace tektite::compiler
