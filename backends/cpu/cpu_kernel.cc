#include "backends/cpu/cpu_kernel.h"

#include <vector>

#include "backends/cpu/implementation_list.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

backend::LaunchFacts FactsOf(const EmittedKernel& emitted) {
  backend::LaunchFacts facts;
  facts.sizes = emitted.kernel->sizes;
  facts.launch = ir::DimProgram(facts.sizes.symbols());
  facts.num_chunks = facts.launch.Add(emitted.num_chunks);
  facts.scratch_bytes = facts.launch.Add(emitted.kernel->scratch_bytes);
  facts.cost = facts.launch.Add(emitted.cost);
  facts.in_place = emitted.in_place;
  return facts;
}

}  // namespace

absl::StatusOr<MadeObject> MakeObject(const ir::Node& fusion,
                                      const backend::CompileOptions& options,
                                      ObjectEmitter& emitter, bool emits_packing) {
  TEKTITE_ASSIGN_OR_RETURN(MadeKernel kernel,
                           MakeKernel(fusion, emitter.target(), options.name, emits_packing));
  MadeObject made;
  made.ready = std::move(kernel.ready);
  if (made.ready != nullptr) return made;
  made.object.symbol = options.name;
  TEKTITE_ASSIGN_OR_RETURN(made.object.code, emitter.Emit(*kernel.code.kernel, options.dump_dir));
  made.object.facts = FactsOf(kernel.code);
  made.kernel = std::move(kernel.code.kernel);
  return made;
}

absl::StatusOr<std::shared_ptr<const CpuKernel>> LinkObject(const Object& object,
                                                            KernelCompiler& compiler) {
  TEKTITE_ASSIGN_OR_RETURN(CompiledFunction function, compiler.Link(object.symbol, object.code));
  return std::make_shared<const CpuKernel>(std::move(function), object.facts);
}

CpuKernel::CpuKernel(CompiledFunction function, backend::LaunchFacts facts)
    : function_(std::move(function)), facts_(std::move(facts)) {
  if (facts_.IsStatic()) fixed_ = facts_.Configure(nullptr);
}

void CpuKernel::Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const {
  backend::SizeTable table(facts_.sizes.table_size());
  // Plan has found that the sizes fit.
  static_cast<void>(facts_.sizes.Run(frame.sizes, table.data()));
  function_.fn(frame.buffers, table.data(), frame.scratch, begin, end);
}

// The facts, then the code.
std::string CpuKernel::Image() const {
  ByteWriter w;
  facts_.Write(&w);
  w.String(function_.code->Image().Serialize());
  return w.Take();
}

absl::StatusOr<std::vector<std::shared_ptr<const backend::Kernel>>> LoadKernels(
    absl::Span<const absl::string_view> images) {
  std::vector<backend::LaunchFacts> facts(images.size());
  std::vector<absl::string_view> codes(images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    ByteReader r(images[i]);
    const bool is_read = facts[i].Read(&r);
    if (is_read) codes[i] = r.String();
    if (!is_read || !r.AtEnd()) return InvalidArgument("not the image of a kernel");
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<CompiledFunction> functions, KernelCompiler::Load(codes));
  std::vector<std::shared_ptr<const backend::Kernel>> kernels;
  kernels.reserve(images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    kernels.push_back(std::make_shared<CpuKernel>(std::move(functions[i]), std::move(facts[i])));
  }
  return kernels;
}

}  // namespace tektite::cpu
