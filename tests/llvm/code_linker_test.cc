// Linking: what is refused, images, ownership, threads, forks, and what GDB and perf get to know.
#include "backends/cpu/codegen/code_linker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"

extern "C" jit_descriptor __jit_debug_descriptor;

namespace tektite::cpu {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Of tests/llvm/objects.
std::string ObjectOf(const std::string& source) {
  for (const absl::string_view path : absl::StrSplit(TEKTITE_TEST_OBJECTS, ':')) {
    if (absl::EndsWith(path, absl::StrCat("/", source, ".o"))) return ReadFile(std::string(path));
  }
  ADD_FAILURE() << "no object of " << source;
  return "";
}

std::shared_ptr<CodeLinker> NewLinker(const CodeLinker::Options& options = {}) {
  auto linker = CodeLinker::Create(options);
  EXPECT_TRUE(linker.ok()) << linker.status();
  return *std::move(linker);
}

std::vector<float> RunCopies(const LoadedCode& code) {
  float x[4] = {1, 2, 3, 4}, y[4] = {-1, -1, -1, -1}, scratch[8];
  void* buffers[] = {x, y};
  const int64_t sizes[] = {sizeof(x)};
  const auto function = reinterpret_cast<KernelFn>(reinterpret_cast<uintptr_t>(code.entry()));
  function(buffers, sizes, scratch, 0, 4);
  return {y, y + 4};
}
const std::vector<float> kCopies = {1001, 1200, 1003, 1400};

// Mappings of memory that is no file's and can be run; `writable` ones only, or all.
int CodeMappings(bool writable) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() == 5 && fields[1][2] == 'x' && (!writable || fields[1][1] == 'w')) ++count;
  }
  return count;
}

TEST(CodeLinker, WhatItLinksLoadsAgainWithoutIt) {
  const std::string object = ObjectOf("copies.c");
  auto linker = NewLinker();
  auto code = linker->Link("copies", object);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(RunCopies(*code), kCopies);
  const CodeImage image = code->Image();
  // The table's two addresses, and three functions'.
  EXPECT_EQ(image.fixups.size(), 5u);
  const std::string bytes = image.Serialize();
  auto loaded = LoadCode({bytes, bytes});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const LoadedCode& copy : *loaded) {
    EXPECT_EQ(RunCopies(copy), kCopies);
    EXPECT_EQ(copy.Image().Serialize(), bytes);
  }
  // Equal objects have equal images.
  for (int i = 0; i < 20; ++i) {
    auto again = (i % 2 == 0 ? linker : NewLinker())->Link("copies", object);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->Image().Serialize(), bytes);
  }
}

TEST(CodeLinker, RefusesWhatNoImageCanHold) {
  auto linker = NewLinker();
  const auto why = [&](const char* name, const std::string& object) {
    return linker->Link(name, object).status().ToString();
  };
  EXPECT_THAT(why("sine", ObjectOf("sine.c")),
              HasSubstr("kernel sine: the code calls sinf, which has no lowering"));
  EXPECT_THAT(why("variable", ObjectOf("variable.c")), HasSubstr("the code has variables (.data)"));
  EXPECT_THAT(why("aligned", ObjectOf("aligned.c")), HasSubstr("data aligned to 128 bytes"));
  const std::string object = ObjectOf("copies.c");
  EXPECT_THAT(why("another", object), HasSubstr("kernel another: the object does not define it"));
  EXPECT_THAT(why("copies", "not an object"), HasSubstr("kernel copies: "));
  EXPECT_THAT(why("copies", object.substr(0, object.size() / 2)), HasSubstr("kernel copies: "));
  // And goes on.
  auto code = linker->Link("copies", object);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(RunCopies(*code), kCopies);
}

TEST(CodeLinker, CodeGoesWithItsLastOwnerAndIsNeverWritable) {
  const std::string object = ObjectOf("copies.c");
  auto linker = NewLinker();
  const int before = CodeMappings(/*writable=*/false);
  std::vector<LoadedCode> codes;
  for (int i = 0; i < 10; ++i) {
    auto code = linker->Link("copies", object);
    ASSERT_TRUE(code.ok()) << code.status();
    codes.push_back(*std::move(code));
  }
  linker.reset();
  EXPECT_EQ(RunCopies(codes.back()), kCopies);
  EXPECT_GT(CodeMappings(/*writable=*/false), before);
  EXPECT_EQ(CodeMappings(/*writable=*/true), 0);
  codes.clear();
  EXPECT_EQ(CodeMappings(/*writable=*/false), before);
}

TEST(CodeLinker, ThreadsLinkAndRemoveAtOnce) {
  const std::string object = ObjectOf("copies.c"), bad = ObjectOf("sine.c");
  auto linker = NewLinker();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<LoadedCode> codes;
      for (int i = 0; i < 50; ++i) {
        auto code = linker->Link("copies", object);
        if (!code.ok() || RunCopies(*code) != kCopies) {
          ++wrong;
          continue;
        }
        codes.push_back(*std::move(code));
        if (i % 3 == 0) codes.clear();
        if (i % 5 == 0 && linker->Link("sine", bad).ok()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CodeLinker, AChildRunsWhatItInheritsAndLinksWithALinkerOfItsOwn) {
  const std::string object = ObjectOf("copies.c");
  auto linker = NewLinker();
  auto code = linker->Link("copies", object);
  ASSERT_TRUE(code.ok()) << code.status();
  const pid_t child = fork();
  if (child == 0) {
    bool good = !linker->is_of_this_process() && RunCopies(*code) == kCopies;
    const void* const inherited = code->entry();
    code = NewLinker()->Link("copies", object);
    linker.reset();
    good = good && code.ok() && RunCopies(*code) == kCopies && code->entry() != inherited;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(RunCopies(*code), kCopies);
}

TEST(CodeLinker, GdbListsKernelsWithTheFlagOnly) {
  const auto entries = [] {
    int count = 0;
    for (auto* e = __jit_debug_descriptor.first_entry; e != nullptr; e = e->next_entry) ++count;
    return count;
  };
  const int before = entries();
  const std::string object = ObjectOf("copies.c");
  auto plain = NewLinker()->Link("copies", object);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(entries(), before);
  CodeLinker::Options options;
  options.gdb = true;
  const auto target = DetectTarget("native");
  ASSERT_TRUE(target.ok()) << target.status();
  ASSERT_TRUE(KernelCompiler::Create(*target, options).ok());
  auto code = NewLinker(options)->Link("copies", object);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(RunCopies(*code), kCopies);
  ASSERT_EQ(entries(), before + 1);
  const auto* const entry = __jit_debug_descriptor.first_entry;
  EXPECT_THAT(std::string(entry->symfile_addr, entry->symfile_size), HasSubstr("copies"));
  // Code that GDB knows of must not go.
  const void* const function = code->entry();
  code = plain;
  EXPECT_EQ(std::string(entry->symfile_addr, 4), "\177ELF");
  EXPECT_NE(*static_cast<const char*>(function), 0);
}

// Runs the test above under GDB.
TEST(CodeLinker, GdbStopsInAKernelByItsName) {
  if (std::system("gdb --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no gdb";
  const std::string command = absl::StrCat(
      "gdb -batch -ex 'set breakpoint pending on' -ex 'break copies_body' -ex run -ex backtrace "
      "--args ",
      std::filesystem::read_symlink("/proc/self/exe").string(),
      " --gtest_filter=CodeLinker.GdbListsKernelsWithTheFlagOnly 2>&1");
  FILE* const gdb = popen(command.c_str(), "r");
  ASSERT_NE(gdb, nullptr);
  std::string output;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof(buffer), gdb))
    output.append(buffer, size);
  pclose(gdb);
  EXPECT_THAT(output, HasSubstr(" copies_body ()"));  // "in" is missing where lines are known
}

TEST(CodeLinker, PerfReadsKernelsNames) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("tektite_jitdump_", getpid());
  setenv("JITDUMPDIR", folder.c_str(), 1);
  CodeLinker::Options options;
  options.perf = true;
  auto code = NewLinker(options)->Link("copies", ObjectOf("copies.c"));
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(RunCopies(*code), kCopies);
  std::string dump;
  const std::string name = absl::StrCat("jit-", getpid(), ".dump");
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().filename() == name) dump = ReadFile(file.path().string());
  }
  EXPECT_THAT(dump, HasSubstr("DTiJ"));
  EXPECT_THAT(dump, HasSubstr("copies.0"));
  EXPECT_THAT(dump, HasSubstr("copies_body"));
  std::filesystem::remove_all(folder);
}

// ORC's plugin would fail every link.
TEST(CodeLinker, PerfWithoutAPlaceToWriteToLinksAllTheSame) {
  setenv("JITDUMPDIR", "/dev/null", 1);
  CodeLinker::Options options;
  options.perf = true;
  auto code = NewLinker(options)->Link("copies", ObjectOf("copies.c"));
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(RunCopies(*code), kCopies);
}

}  // namespace
}  // namespace tektite::cpu
