// The compiler around the code: ownership, objects, dumps, errors, threads.
#include "backends/cpu/codegen/kernel_compiler.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/fatal_error.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "tests/llvm/kernel_runner.h"

namespace tektite {
namespace {

using ir::DType;
using ::testing::HasSubstr;

void Fill(loop::Kernel* kernel, double value) {
  loop::Builder b(kernel);
  b.Store(b.Buffer(0), b.ChunkBegin(), b.Float(DType::kF32, value));
}

float Result(const cpu::CompiledFunction& f) {
  float y = 0;
  void* buffers[] = {&y};
  f.fn(buffers, nullptr, nullptr, 0, 1);
  return y;
}

TEST(KernelCompiler, FunctionsOfOneNameLiveSideBySideAndOutliveTheCompiler) {
  auto compiler = cpu::KernelCompiler::Create(testing::CompilerFor("native").target());
  ASSERT_TRUE(compiler.ok());
  loop::Kernel one("same", {{DType::kF32, "y", true}}), two("same", {{DType::kF32, "y", true}});
  Fill(&one, 1);
  Fill(&two, 2);
  auto f = (*compiler)->Compile(one);
  auto g = (*compiler)->Compile(two);
  ASSERT_TRUE(f.ok() && g.ok());
  EXPECT_EQ(Result(*f), 1);
  f->code.reset();
  compiler->reset();
  EXPECT_EQ(Result(*g), 2);
}

TEST(KernelCompiler, ImagesLoadAgain) {
  cpu::KernelCompiler& compiler = testing::CompilerFor("native");
  loop::Kernel kernel("kept", {{DType::kF32, "y", true}});
  Fill(&kernel, 3);
  auto one = compiler.Compile(kernel), two = compiler.Compile(kernel);
  ASSERT_TRUE(one.ok() && two.ok());
  const std::string image = one->code->Image().Serialize();
  EXPECT_EQ(image, two->code->Image().Serialize());
  auto loaded = cpu::KernelCompiler::Load({image});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(Result(loaded->front()), 3);
  EXPECT_EQ(loaded->front().code->Image().Serialize(), image);
  EXPECT_FALSE(cpu::KernelCompiler::Load({"not an image"}).ok());
  for (size_t size = 0; size < image.size(); ++size) {
    EXPECT_FALSE(cpu::KernelCompiler::Load({image.substr(0, size)}).ok()) << size;
  }
}

TEST(KernelCompiler, ImagesThatAreLoadedTogetherShareOneMapping) {
  cpu::KernelCompiler& compiler = testing::CompilerFor("native");
  std::vector<std::string> images;
  for (int i = 0; i < 40; ++i) {
    loop::Kernel kernel("fill", {{DType::kF32, "y", true}});
    Fill(&kernel, i);
    auto compiled = compiler.Compile(kernel);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    images.push_back(compiled->code->Image().Serialize());
  }
  std::vector<absl::string_view> views(images.begin(), images.end());
  auto loaded = cpu::KernelCompiler::Load(views);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->size(), images.size());
  const auto address = [&](size_t i) { return reinterpret_cast<uintptr_t>((*loaded)[i].fn); };
  for (size_t i = 1; i < images.size(); ++i) {
    EXPECT_LT(address(i) - address(i - 1), 4096u) << "a page would hold several";
    EXPECT_EQ(address(i) % 16, 0u);
  }
  // The last one keeps what all stand in.
  const cpu::CompiledFunction last = loaded->back();
  loaded->clear();
  EXPECT_EQ(Result(last), 39);
  // One that is bad spoils all.
  views[7] = "not an image";
  EXPECT_FALSE(cpu::KernelCompiler::Load(views).ok());
  EXPECT_TRUE(cpu::KernelCompiler::Load({})->empty());
}

// Places inside the code (tables of constants' addresses) and calls of memcpy are fixed up anew.
TEST(KernelCompiler, FixupsFollowTheCode) {
  cpu::CodeImage image;
  image.bytes.assign(64, '\x90');
  image.fixups = {{0, -1, 24}, {8, 1, 0}};
  image.bytes.replace(0, 16, std::string(16, '\0'));
  const std::string bytes = image.Serialize();
  auto loaded = cpu::LoadCode({bytes, bytes});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const cpu::LoadedCode& code : *loaded) {
    uint64_t words[2];
    std::memcpy(words, code.entry(), sizeof(words));
    EXPECT_EQ(words[0], reinterpret_cast<uint64_t>(code.entry()) + 24);
    EXPECT_EQ(words[1], reinterpret_cast<uint64_t>(cpu::CalledFunctions()[1].address));
    EXPECT_EQ(code.Image().Serialize(), bytes);
  }
}

TEST(KernelCompiler, DumpsUnderTheKernelsName) {
  const std::string dir = ::testing::TempDir() + "tektite_dump";
  std::filesystem::create_directories(dir);
  loop::Kernel kernel("k7_fill", {{DType::kF32, "y", true}});
  Fill(&kernel, 3);
  cpu::CompileOptions options;
  options.dump_dir = dir;
  ASSERT_TRUE(testing::CompilerFor("native").Compile(kernel, options).ok());
  auto read = [&](const std::string& suffix) {
    std::ifstream file(dir + "/k7_fill" + suffix);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(read(".loop"), kernel.ToString());
  EXPECT_THAT(read(".ll"), HasSubstr("define void @k7_fill("));
  EXPECT_THAT(read(".s"), HasSubstr("k7_fill:"));
  std::filesystem::remove_all(dir);
}

TEST(KernelCompiler, ErrorsAreStatuses) {
  cpu::KernelCompiler& compiler = testing::CompilerFor("native");
  loop::Kernel bad("bad", {{DType::kF32, "y", true}});
  loop::Builder b(&bad);
  b.Store(b.Buffer(0), b.Index(0), b.Add(b.Float(DType::kF32, 1), b.Index(1)));
  EXPECT_THAT(compiler.Compile(bad).status().ToString(), HasSubstr("kernel bad"));

  loop::Kernel none("none", {{DType::kBool, "y", true}});
  loop::Builder c(&none);
  c.Store(c.Buffer(0), c.Index(0),
          c.Binary(ir::Op::kShiftLeft, c.Load(c.Buffer(0), DType::kBool, c.Index(1)),
                   c.Load(c.Buffer(0), DType::kBool, c.Index(2))));
  EXPECT_TRUE(absl::IsUnimplemented(compiler.Compile(none).status()));
}

TEST(KernelCompiler, FatalErrorsOfLlvmComeBack) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "what LLVM holds when it gives up is never freed";
#endif
  for (int i = 0; i < 3; ++i) {
    const absl::Status status =
        loop::CatchFatalErrors([] { llvm::report_fatal_error("Cannot select: x"); });
    EXPECT_THAT(status.ToString(), HasSubstr("Cannot select: x"));
  }
  EXPECT_TRUE(loop::CatchFatalErrors([] {}).ok());
}

// LLVM printed the first and called exit, and aborted at the second.
TEST(KernelCompiler, DiagnosticsAndFailedAllocationsOfLlvmComeBack) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "what LLVM holds when it gives up is never freed";
#endif
  const absl::Status error = loop::CatchFatalErrors([] {
    llvm::LLVMContext context;
    loop::CatchDiagnostics(&context);
    context.diagnose(llvm::DiagnosticInfoGeneric("a warning that is dropped", llvm::DS_Warning));
    context.emitError("ran out of registers");
  });
  EXPECT_THAT(error.ToString(), HasSubstr("ran out of registers"));
  const absl::Status memory =
      loop::CatchFatalErrors([] { llvm::report_bad_alloc_error("Allocation failed"); });
  EXPECT_THAT(memory.ToString(), HasSubstr("Allocation failed"));
}

TEST(KernelCompiler, CompilesOnManyThreads) {
  cpu::KernelCompiler& compiler = testing::CompilerFor("native");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        loop::Kernel kernel("k", {{DType::kF32, "y", true}});
        Fill(&kernel, t * 100 + i);
        auto f = compiler.Compile(kernel);
        if (!f.ok() || Result(*f) != t * 100 + i) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CpuFeatures, TargetsDiffer) {
  const auto avx2 = cpu::DetectTarget("avx2");
  ASSERT_TRUE(avx2.ok());
  EXPECT_EQ(avx2->vector_bytes, 32);
  EXPECT_EQ(avx2->vector_registers, 16);
  EXPECT_GT(avx2->l1_bytes, 0);
  EXPECT_THAT(cpu::DetectTarget("sse9").status().ToString(), HasSubstr("--cpu=sse9"));
}

}  // namespace
}  // namespace tektite
