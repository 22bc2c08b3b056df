#include "backends/gpu/emit/phases.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emit/names.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

constexpr int64_t kThreads = 256;

}  // namespace

int Phases::AddScratch(ir::DType dtype, Dim elements) {
  arrays_.push_back({dtype, std::move(elements)});
  return static_cast<int>(arrays_.size()) - 1;
}

void Phases::Add(absl::FunctionRef<void(loop::Builder&)> body) {
  const std::string name =
      kernels_.empty() ? name_ : absl::StrCat(name_, "_phase", kernels_.size() + 1);
  kernels_.push_back(loop::MakeKernel(fusion_, name));
  loop::Builder b(kernels_.back().get());
  scratch_.clear();
  for (const Array& a : arrays_) scratch_.push_back(b.AllocateScratch(a.dtype, a.elements));
  body(b);
}

Value Phases::Result(loop::Builder& b, const Node& root, int result) const {
  const ir::Graph& g = region();
  for (size_t o = 0; o < g.outputs().size(); ++o) {
    if (g.outputs()[o].node == &root && g.outputs()[o].index == result) {
      return b.Buffer(loop::OutputBuffer(g, o));
    }
  }
  return {};
}

Value Phases::Read(loop::Builder& b, ir::Value value, const loop::Indices& at) {
  loop::ElementEmitter e(&b, 1);
  loop::BindParameters(e, region());
  const Value v = e.Emit(value, at);
  Note(e.status());
  return v;
}

absl::StatusOr<EmittedKernel> Phases::Take() {
  TEKTITE_RETURN_IF_ERROR(status_);
  EmittedKernel result;
  result.kernel = std::move(kernels_[0]);
  for (size_t i = 1; i < kernels_.size(); ++i) result.then.push_back(std::move(kernels_[i]));
  return result;
}

absl::StatusOr<const Node*> RootOp(const ir::Graph& region) {
  if (region.outputs().empty()) return Unimplemented("a fusion without results");
  const Node* root = region.outputs()[0].node;
  std::vector<bool> seen(static_cast<size_t>(root->num_results()));
  for (ir::Value v : region.outputs()) {
    if (v.node != root || seen[static_cast<size_t>(v.index)]) {
      return Unimplemented("results of several ops, or one twice");
    }
    seen[static_cast<size_t>(v.index)] = true;
  }
  return root;
}

void ForEachThread(loop::Builder& b, const Dim& count, absl::FunctionRef<void(Value)> body) {
  b.kernel()->launch.threads = static_cast<int>(kThreads);
  b.kernel()->launch.blocks = CeilDiv(count, kThreads);
  const Value at = b.Add(b.Mul(b.BlockIndex(), b.Index(kThreads)), b.ThreadIndex());
  b.If(b.Compare("lt", at, b.Index(count)), [&] { body(at); });
}

}  // namespace tektite::gpu
