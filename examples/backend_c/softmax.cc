// Makes a graph in C++, compiles it with the back end in C, and runs it at two sizes.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "c_backend.h"
#include "jit/base/status.h"
#include "jit/compiler/compiler.h"
#include "jit/ops/builder.h"
#include "jit/reference/interpreter.h"
#include "jit/reference/reference_backend.h"

namespace {

using tektite::ir::Dim;
using tektite::ir::DType;
using tektite::ir::Shape;
using tektite::ir::Value;
namespace runtime = tektite::runtime;

// softmax of each row of x: f32[n,3]
absl::StatusOr<std::unique_ptr<tektite::ir::Graph>> Softmax() {
  tektite::ops::FuncBuilder b("softmax");
  Value x = b.Parameter(Shape(DType::kF32, {Dim::Symbol("n"), 3}), "x");
  Value e = b.Exp(b.Sub(x, b.ReduceKeep(x, {1}, "max")));
  b.Return({b.Div(e, b.ReduceKeep(e, {1}, "add"))});
  return b.Build();
}

// One result of f32, and no threads.
class Host : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    count = tektite::ir::Product(type.dims);
    const auto bytes = tektite::backend::AlignUp(count * int64_t{sizeof(float)});
    values.reset(static_cast<float*>(
        std::aligned_alloc(tektite::backend::kAlignment, static_cast<size_t>(bytes))));
    return values.get();
  }

  int64_t count = 0;
  std::unique_ptr<float, decltype(&std::free)> values{nullptr, &std::free};
};

absl::Status Run() {
  static constexpr tektite::compiler::BackendInfo kInterpreter[] = {
      {tektite::compiler::kReference, &tektite::reference::ReferenceBackend::Create}};
  tektite::compiler::CompilerOptions options;
  options.backends = {kInterpreter, &tektite::reference::Evaluate};
  options.own_backend = [] { return backend_c::CreateBackendC(); };
  TEKTITE_ASSIGN_OR_RETURN(auto compiler, tektite::compiler::Compiler::Create(std::move(options)));
  TEKTITE_ASSIGN_OR_RETURN(auto graph, Softmax());
  tektite::compiler::CompileJob job;
  job.cluster = "softmax";
  TEKTITE_ASSIGN_OR_RETURN(auto executable, compiler->Compile(std::move(graph), job));
  for (const int64_t rows : {1, 2}) {
    const std::vector<float> x = {1, 2, 3, 0, 0, 0};
    const int64_t dims[] = {rows, 3};
    Host host;
    TEKTITE_RETURN_IF_ERROR(executable->Run({{x.data(), /*version=*/0, dims}}, host));
    for (int64_t i = 0; i < host.count; ++i) {
      std::printf("%.4f%c", host.values.get()[i], i % 3 == 2 ? '\n' : ' ');
    }
  }
  std::printf("kernels in C: %ld\n", static_cast<long>(compiler->counters().kernels));
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
