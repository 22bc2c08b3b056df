// A kernel of this back end: from a fusion to an object, and from an object to a kernel that runs.
//
//   TEKTITE_ASSIGN_OR_RETURN(MadeObject made, MakeObject(fusion, options, emitter));
//   // Unless made.ready, made.object follows from the fusion and the target alone.
//   TEKTITE_ASSIGN_OR_RETURN(auto kernel, LinkObject(made.object, compiler));
//
// An object is an ELF file and its launch facts.  The JIT links it at once; a library that is made
// ahead of time holds it as it is.
#ifndef TEKTITE_BACKENDS_CPU_CPU_KERNEL_H_
#define TEKTITE_BACKENDS_CPU_CPU_KERNEL_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/codegen/kernel_compiler.h"
#include "jit/backend/backend.h"
#include "jit/backend/launch_facts.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

struct Object {
  std::string symbol;  // of its function
  std::string code;    // ELF
  backend::LaunchFacts facts;
};

// The object of a fusion, or a kernel that is compiled with this library; of weights' packing an
// object where `emits_packing`.
struct MadeObject {
  Object object;
  std::unique_ptr<loop::Kernel> kernel;  // which the object is made of
  std::shared_ptr<const backend::Kernel> ready;
};
absl::StatusOr<MadeObject> MakeObject(const ir::Node& fusion,
                                      const backend::CompileOptions& options,
                                      ObjectEmitter& emitter, bool emits_packing = false);

class CpuKernel : public backend::HostKernel {
 public:
  CpuKernel(CompiledFunction function, backend::LaunchFacts facts);
  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    return facts_.IsStatic() ? fixed_ : facts_.Configure(sizes.data());
  }
  bool CanRunInPlace(int operand, int result) const override {
    return facts_.CanRunInPlace(operand, result);
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override;
  std::string Image() const override;

 private:
  const CompiledFunction function_;
  const backend::LaunchFacts facts_;
  backend::LaunchConfig fixed_;  // without symbols
};

absl::StatusOr<std::shared_ptr<const CpuKernel>> LinkObject(const Object& object,
                                                            KernelCompiler& compiler);
// Of images that CpuKernel::Image returned.
absl::StatusOr<std::vector<std::shared_ptr<const backend::Kernel>>> LoadKernels(
    absl::Span<const absl::string_view> images);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CPU_KERNEL_H_
