#include "backends/cpu/library/library_kernels.h"

#include <utility>

#include "backends/cpu/library/library_kernel.h"
#include "backends/cpu/library/sized_at_launch.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"

namespace tektite::cpu {

using ir::Node;
using ir::Op;

namespace {

bool HasKernels(ir::OpFamily family) {
  return family == ir::OpFamily::matrix || family == ir::OpFamily::order ||
         family == ir::OpFamily::selection || family == ir::OpFamily::spectrum;
}

// The region's only op; null for any other region.
const Node* OnlyOp(const ir::Graph& region) {
  const Node* op = nullptr;
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kParameter) continue;
    if (op != nullptr) return nullptr;
    op = node.get();
  }
  return op;
}

// Where its operands and results are among the fusion's.
absl::StatusOr<Buffers> BuffersOf(const ir::Graph& region, const Node& op) {
  Buffers buffers;
  for (ir::Value v : op.operands()) {
    for (int i = 0; i < region.num_parameters(); ++i) {
      if (region.parameter(i) == v.node) buffers.operands.push_back(i);
    }
  }
  buffers.results.assign(op.num_results(), -1);
  for (size_t i = 0; i < region.outputs().size(); ++i) {
    const ir::Value output = region.outputs()[i];
    if (output.node != &op || buffers.results[output.index] >= 0) {
      return Unimplemented("no library kernel for a copy of a result of ", op.Describe());
    }
    buffers.results[output.index] = region.num_parameters() + static_cast<int>(i);
  }
  return buffers;
}

}  // namespace

absl::Status CheckWeightPanels(const Node& fusion) {
  if (fusion.Bool(ir::Attr::deferred)) return absl::OkStatus();
  return Unimplemented("not weights that are packed later");
}

absl::Status CheckLibraryKernel(const Node& fusion) {
  const Node* op = OnlyOp(fusion.region());
  if (op == nullptr) return Unimplemented("a library kernel does one op");
  if (HasKernels(ir::GetOpInfo(op->op()).family)) return absl::OkStatus();
  return Unimplemented("no library kernel for ", op->Describe());
}

std::vector<LongestLine> LongestLinesOf(const Node& fusion) {
  const Node& op = *OnlyOp(fusion.region());
  const ir::Shape& x = op.operand_shape(0);
  switch (ir::GetOpInfo(op.op()).family) {
    case ir::OpFamily::order: {
      const auto last = static_cast<int64_t>(x.rank()) - 1;
      const int64_t d = op.op() == Op::kSort ? op.Int(ir::Attr::dimension) : last;
      return {{x.dim(static_cast<int>(d)), kMostOrdered - 1}};
    }
    case ir::OpFamily::spectrum: {
      const auto d = static_cast<int>(op.Int(ir::Attr::dimension));
      return {{x.dim(d), kMostTransformed}, {op.shape().dim(d), kMostTransformed}};
    }
    default:
      return {};
  }
}

absl::StatusOr<std::vector<ir::Dim>> LibraryWords(const Node& fusion) {
  TEKTITE_RETURN_IF_ERROR(CheckLibraryKernel(fusion));
  const ir::Graph& region = fusion.region();
  const Node& op = *OnlyOp(region);
  TEKTITE_ASSIGN_OR_RETURN(const Buffers buffers, BuffersOf(region, op));
  std::vector<ir::Dim> words;
  for (const std::vector<int>* places : {&buffers.operands, &buffers.results}) {
    words.emplace_back(static_cast<int64_t>(places->size()));
    words.insert(words.end(), places->begin(), places->end());
  }
  words.emplace_back(static_cast<int64_t>(op.op()));
  for (ir::Attr attr : SizedOp::kAttrs) {
    words.emplace_back(attr == ir::Attr::dtype
                           ? static_cast<int64_t>(op.attrs().GetDType(attr))
                           : op.Int(attr) + static_cast<int64_t>(op.Bool(attr)));
  }
  const auto add = [&](const ir::Shape& shape) {
    words.emplace_back(static_cast<int64_t>(shape.dtype()));
    words.emplace_back(static_cast<int64_t>(shape.rank()));
    words.insert(words.end(), shape.dims().begin(), shape.dims().end());
  };
  words.emplace_back(static_cast<int64_t>(op.num_operands()));
  for (ir::Value v : op.operands()) add(v.shape());
  words.emplace_back(static_cast<int64_t>(op.num_results()));
  for (const ir::Shape& shape : op.shapes()) add(shape);
  return words;
}

absl::StatusOr<KernelPtr> MakeLibraryKernel(const Node& fusion) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<ir::Dim> words, LibraryWords(fusion));
  if (ir::HasSymbols(fusion.region())) return SizedAtLaunch(fusion, &MakeLibraryKernel);
  for (const LongestLine& line : LongestLinesOf(fusion)) {
    if (line.length.value() > line.most) {
      return Unimplemented("no library kernel for lines as long as those of ",
                           OnlyOp(fusion.region())->Describe());
    }
  }
  std::vector<int64_t> values;
  for (const ir::Dim& word : words) values.push_back(word.value());
  return KernelOfWords(values.data());
}

}  // namespace tektite::cpu
