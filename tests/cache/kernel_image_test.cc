// The compiler with a disk store: a second one compiles nothing and computes the same.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/location.h"
#include "jit/compiler/compiler.h"
#include "jit/compiler/specialize.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

std::string SoftmaxOf(int64_t columns) {
  const std::string n = absl::StrCat(columns);
  return absl::StrCat(R"(graph @softmax(%x: f32[3,)", n, R"(]) -> (f32[3,)", n, R"(]) {
  %m: f32[3] = reduce(%x) {dimensions = [1], reducer = "max"}
  %mb: f32[3,)",
                      n, R"(] = broadcast_in_dim(%m) {dimensions = [0], shape = (3, )", n, R"()}
  %d: f32[3,)",
                      n, R"(] = sub(%x, %mb)
  %e: f32[3,)",
                      n, R"(] = exp(%d)
  %s: f32[3] = reduce(%e) {dimensions = [1], reducer = "add"}
  %sb: f32[3,)",
                      n, R"(] = broadcast_in_dim(%s) {dimensions = [0], shape = (3, )", n, R"()}
  %r: f32[3,)",
                      n, R"(] = div(%e, %sb)
  return %r
})");
}

class VectorHost : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int, const runtime::TensorType& type) override {
    int64_t count = 1;
    for (int64_t dim : type.dims) count *= dim;
    block_ = memory_.Allocate(count * 4);
    result.resize(count);
    return block_.data();
  }
  void Finish() { std::memcpy(result.data(), block_.data(), result.size() * 4); }
  std::vector<float> result;

 private:
  runtime::HostMemory memory_;
  backend::Block block_;
};

std::unique_ptr<compiler::Compiler> NewCompiler(const std::string& path, const char* flags = "") {
  compiler::CompilerOptions options;
  options.backends = tektite::c_api::AllBackends();
  std::vector<std::string> errors;
  options.flags = Flags::Parse(flags, &errors);
  options.backend = "cpu";
  DiskStoreOptions disk;
  disk.directory = path;
  options.disk = DiskStore::Open(disk);
  auto compiler = compiler::Compiler::Create(std::move(options));
  EXPECT_TRUE(compiler.ok()) << compiler.status();
  return *std::move(compiler);
}

std::vector<float> RunSoftmax(compiler::Compiler& compiler, int64_t columns) {
  auto graph = compiler::ParseGraph(SoftmaxOf(columns));
  EXPECT_TRUE(graph.ok()) << graph.status();
  compiler::CompileJob job;
  job.cluster = "softmax";
  auto executable = compiler.Compile(*std::move(graph), job);
  EXPECT_TRUE(executable.ok()) << executable.status();
  runtime::HostMemory memory;
  const backend::Block x = memory.Allocate(3 * columns * 4);
  auto* values = reinterpret_cast<float*>(x.data());
  for (int64_t i = 0; i < 3 * columns; ++i) values[i] = static_cast<float>(i % 7);
  VectorHost host;
  EXPECT_TRUE((*executable)->Run({{x.data(), 0}}, host).ok());
  host.Finish();
  return host.result;
}

TEST(KernelImages, ASecondCompilerCompilesNothing) {
  TestFolder folder;
  auto first = NewCompiler(folder.path());
  std::vector<std::vector<float>> expected;
  for (int64_t n = 1; n < 6; ++n) expected.push_back(RunSoftmax(*first, n));
  EXPECT_EQ(first->counters().kernels, 5);
  EXPECT_EQ(first->counters().loaded_kernels, 0);
  auto second = NewCompiler(folder.path());
  for (int64_t n = 1; n < 6; ++n) EXPECT_EQ(RunSoftmax(*second, n), expected[n - 1]);
  EXPECT_EQ(second->counters().kernels, 0);
  EXPECT_EQ(second->counters().loaded_kernels, 5);
}

TEST(KernelImages, OtherFlagsCompileAgain) {
  TestFolder folder;
  RunSoftmax(*NewCompiler(folder.path()), 4);
  auto avx2 = NewCompiler(folder.path(), "--cpu=avx2");
  RunSoftmax(*avx2, 4);
  EXPECT_EQ(avx2->counters().loaded_kernels, 0);
  EXPECT_EQ(avx2->counters().kernels, 1);
}

// Code from the disk has no names that GDB or perf could show.
TEST(KernelImages, FlagsForGdbAndPerfNeitherLoadNorStore) {
  TestFolder folder, dumps, empty;
  const std::vector<float> expected = RunSoftmax(*NewCompiler(folder.path()), 4);
  setenv("JITDUMPDIR", dumps.path().c_str(), 1);
  for (const char* flag : {"--jit_names=gdb", "--jit_names=perf", "--jit_names=gdb,perf"}) {
    for (const std::string& path : {folder.path(), empty.path()}) {
      auto compiler = NewCompiler(path, flag);
      EXPECT_EQ(RunSoftmax(*compiler, 4), expected) << flag;
      EXPECT_EQ(compiler->counters().loaded_kernels, 0) << flag;
      EXPECT_EQ(compiler->counters().kernels, 1) << flag;
      EXPECT_EQ(compiler->counters().disk.stores, 0) << flag;
    }
  }
}

TEST(KernelImages, ADamagedEntryIsCompiledAgain) {
  TestFolder folder;
  const std::vector<float> expected = RunSoftmax(*NewCompiler(folder.path()), 4);
  for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
    if (item.path().extension() != kEntrySuffix) continue;
    std::filesystem::resize_file(item.path(), item.file_size() / 2);
  }
  auto second = NewCompiler(folder.path());
  EXPECT_EQ(RunSoftmax(*second, 4), expected);
  EXPECT_EQ(second->counters().kernels, 1);
  EXPECT_EQ(second->counters().disk.damaged, 1);
  auto third = NewCompiler(folder.path());
  RunSoftmax(*third, 4);
  EXPECT_EQ(third->counters().kernels, 0);
}

// Kernels that are compiled with the back end have no image: an entry without one would be taken
// for a damaged one by every later process.
TEST(KernelImages, AKernelWithoutCodeOfItsOwnLeavesNoEntry) {
  TestFolder folder;
  for (int run = 0; run < 2; ++run) {
    auto compiler = NewCompiler(folder.path());
    auto graph = compiler::ParseGraph(
        "graph @sorted(%x: f32[3,9]) -> (f32[3,9]) {\n"
        "  %r: f32[3,9] = sort(%x) {descending = false, dimension = 1}\n"
        "  return %r\n}\n");
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(compiler->Compile(*std::move(graph), {}).ok());
    EXPECT_EQ(compiler->counters().kernels, 1);
    EXPECT_EQ(compiler->counters().disk.damaged, 0);
  }
  for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_NE(item.path().extension(), kEntrySuffix) << item.path();
  }
}

// An entry may be whole, and yet its payload none of the back end's.
TEST(KernelImages, APayloadThatIsNoImageIsCompiledAgain) {
  TestFolder folder;
  const std::vector<float> expected = RunSoftmax(*NewCompiler(folder.path()), 4);
  for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
    if (item.path().extension() != kEntrySuffix) continue;
    std::ifstream in(item.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    Entry entry;
    ASSERT_EQ(DecodeEntry(bytes, &entry), EntryFault::kNone);
    CacheKey key = TestKey("k");
    key.fingerprint = entry.header.key;
    std::ofstream(item.path(), std::ios::binary) << EncodeEntry(key, "no image", 1);
  }
  auto second = NewCompiler(folder.path());
  EXPECT_EQ(RunSoftmax(*second, 4), expected);
  EXPECT_EQ(second->counters().kernels, 1);
  EXPECT_EQ(second->counters().disk.damaged, 1);
}

}  // namespace
}  // namespace tektite::cache
