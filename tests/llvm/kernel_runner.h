// Compiles loop IR kernels for the tests and the vector math bench, and runs them on arrays.
#ifndef TEKTITE_TESTS_LLVM_KERNEL_RUNNER_H_
#define TEKTITE_TESTS_LLVM_KERNEL_RUNNER_H_

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/codegen/cpu_features.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::testing {

// "native" or "avx2"; one compiler a target, kept.
inline cpu::KernelCompiler& CompilerFor(const std::string& flag) {
  static auto* compilers =
      new std::vector<std::pair<std::string, std::unique_ptr<cpu::KernelCompiler>>>();
  for (auto& [name, compiler] : *compilers) {
    if (name == flag) return *compiler;
  }
  auto target = cpu::DetectTarget(flag);
  auto compiler = target.ok() ? cpu::KernelCompiler::Create(*target) : target.status();
  if (!compiler.ok()) {
    std::fprintf(stderr, "%s\n", compiler.status().ToString().c_str());
    std::abort();
  }
  compilers->emplace_back(flag, std::move(*compiler));
  return *compilers->back().second;
}

// A kernel over `dtypes`' buffers (the last is written): for each element index of [begin, end) by
// `lanes`, store(body(loads)).  The buffers hold a multiple of `lanes` elements.
inline absl::StatusOr<cpu::CompiledFunction> CompileElementwise(
    cpu::KernelCompiler& compiler, const std::string& name, std::vector<loop::DType> dtypes,
    int lanes,
    const std::function<loop::Value(loop::Builder&, const std::vector<loop::Value>&)>& body,
    const std::string& dump_dir = "") {
  std::vector<loop::BufferInfo> buffers;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    buffers.push_back({dtypes[i], "b" + std::to_string(i), i + 1 == dtypes.size(), false});
  }
  loop::Kernel kernel(name, buffers);
  loop::Builder b(&kernel);
  b.For(b.ChunkBegin(), b.ChunkEnd(), lanes, [&](loop::Value i) {
    std::vector<loop::Value> loads;
    for (size_t k = 0; k + 1 < dtypes.size(); ++k) {
      loads.push_back(b.Load(b.Buffer(static_cast<int>(k)), dtypes[k], i, lanes));
    }
    b.Store(b.Buffer(static_cast<int>(dtypes.size()) - 1), i, body(b, loads));
  });
  cpu::CompileOptions options;
  options.dump_dir = dump_dir;
  return compiler.Compile(kernel, options);
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_LLVM_KERNEL_RUNNER_H_
