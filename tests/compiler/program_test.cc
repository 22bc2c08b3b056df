// Programs as bytes: what is read is what was written, and no bytes do harm.
#include "jit/compiler/program.h"

#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/compiler/specialize.h"
#include "jit/runtime/step_graph_bytes.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/cache/testing.h"

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

// The payload of the one plan that compiling the graph leaves.
std::string CompiledProgram() {
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
  PlanKey key;
  key.fingerprint = FingerprintOf("plan");
  key.describe = [] { return cache::TestKey("plan", cache::EntryKind::kPlan); };
  CompileJob job;
  job.typical_sizes = {{"n", 5}};
  job.plan = &key;
  job.plan_note = "a note";
  auto executable = (*compiler)->Compile(*std::move(graph), job);
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto reopened = cache::DiskStore::Open(disk);
  return reopened->Load(key.fingerprint, nullptr).value_or("");
}

TEST(Program, ReadsBackWhatWasWritten) {
  const std::string bytes = CompiledProgram();
  Program program;
  ASSERT_TRUE(ReadProgram(bytes, &program));
  EXPECT_EQ(program.note, "a note");
  EXPECT_EQ(program.steps.program.symbols(), std::vector<std::string>{"n"});
  EXPECT_EQ(program.steps.outputs[1].shape.ToString(), "f32[2*n,4]");
  EXPECT_EQ(program.steps.shapes.size(), 2);
  EXPECT_EQ(program.steps.parameters, (std::vector<int>{0, 1, 0}));
  int without_image = 0;
  for (const ProgramKernel& kernel : program.kernels) {
    without_image += kernel.image.empty();
    EXPECT_NE(kernel.image.empty(), kernel.fusion.empty());
  }
  EXPECT_EQ(without_image, 1) << "sort";
  EXPECT_EQ(WriteProgram(program, program.steps), bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Program cut;
    EXPECT_FALSE(ReadProgram(bytes.substr(0, size), &cut)) << size;
  }
}

TEST(Program, ARefusalReadsBackToo) {
  const std::string bytes = WriteRefusal("a note", "no kernel for this");
  Program program;
  ASSERT_TRUE(ReadProgram(bytes, &program));
  EXPECT_EQ(program.note, "a note");
  EXPECT_EQ(program.refusal, "no kernel for this");
  EXPECT_TRUE(program.kernels.empty() && program.steps.steps.empty());
  EXPECT_FALSE(ReadProgram(bytes + "x", &program));
  for (size_t size = 0; size < bytes.size(); ++size) {
    Program cut;
    EXPECT_FALSE(ReadProgram(bytes.substr(0, size), &cut)) << size;
  }
}

// The digest of an entry keeps such bytes away; here they get past it.
TEST(Program, NoBytesDoHarm) {
  const std::string good = CompiledProgram();
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
    Program program;
    if (!ReadProgram(bytes, &program)) continue;
    ++read;
    program.steps.SetTypicalBytes();
    runtime::StepGraph& steps = program.steps;
    steps.FindGroups();
    EXPECT_LE(steps.groups.size(), steps.steps.size());
  }
  EXPECT_LT(read, mutations);
}

}  // namespace
}  // namespace tektite::compiler
