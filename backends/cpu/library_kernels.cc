#include "backends/cpu/library_kernels.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/library_kernel.h"
#include "backends/cpu/sized_at_launch.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Attr;
using ir::DType;
using ir::Node;
using ir::Op;

// ---- select_and_scatter ------------------------------------------------------

// The dimensions without a window, which come before and after the windowed ones, as one each:
// x[outer, middle..., inner], source[outer, places..., inner].
struct Pooling {
  int64_t outer = 1, inner = 1;
  std::vector<int64_t> sizes, places, window, strides, low;  // of the middle

  int64_t num_places() const { return ir::Product(places); }
  int64_t middle() const { return ir::Product(sizes); }
};

// Values of this many neighbours in the innermost dimension are compared side by side.
constexpr int64_t kBlock = 64;

template <typename T>
class SelectAndScatter : public LibraryKernel {
 public:
  SelectAndScatter(Buffers buffers, Pooling pooling)
      : LibraryKernel(std::move(buffers)), p_(std::move(pooling)) {
    blocks_ = CeilDiv(p_.inner, kBlock);
    plan_.num_chunks = p_.outer * blocks_;
    plan_.cost_ns = 0.5 * static_cast<double>(p_.outer * p_.inner * p_.num_places()) *
                    static_cast<double>(ir::Product(p_.window));
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t outer = chunk / blocks_, first = chunk % blocks_ * kBlock;
      const int64_t plane = outer * p_.middle() * p_.inner + first;
      RunBlock(Operand<T>(frame, 0) + plane,
               Operand<T>(frame, 1) + outer * p_.num_places() * p_.inner + first,
               Result<T>(frame, 0) + plane, std::min(kBlock, p_.inner - first));
    }
  }

 private:
  void RunBlock(const T* x, const T* source, T* result, int64_t width) const {
    for (int64_t i = 0; i < p_.middle(); ++i) std::fill_n(result + i * p_.inner, width, T(0));
    const size_t rank = p_.sizes.size();
    std::vector<int64_t> place(rank, 0);
    const int64_t num_places = p_.num_places();
    for (int64_t n = 0; n < num_places; ++n) {
      T best[kBlock];
      int64_t at[kBlock];
      std::fill_n(at, width, int64_t{-1});
      VisitWindow(place, 0, 0, [&](int64_t offset) { Select(x, offset, width, best, at); });
      for (int64_t i = 0; i < width; ++i) {
        if (at[i] >= 0) result[at[i] * p_.inner + i] += source[n * p_.inner + i];
      }
      for (size_t d = rank; d-- > 0;) {
        if (++place[d] < p_.places[d]) break;
        place[d] = 0;
      }
    }
  }

  // The first of equal values stays; NaN gives way to whatever comes later.
  void Select(const T* x, int64_t offset, int64_t width, T* best, int64_t* at) const {
    const T* const from = x + offset * p_.inner;
    for (int64_t i = 0; i < width; ++i) {
      const bool stays = at[i] >= 0 && best[i] >= from[i];
      best[i] = stays ? best[i] : from[i];
      at[i] = stays ? at[i] : offset;
    }
  }

  // The elements of the window at `place` that lie inside, by their offset in the middle.
  template <typename Visit>
  void VisitWindow(const std::vector<int64_t>& place, size_t d, int64_t offset,
                   Visit&& visit) const {
    if (d == p_.sizes.size()) return visit(offset);
    const int64_t start = place[d] * p_.strides[d] - p_.low[d];
    const int64_t stop = std::min(start + p_.window[d], p_.sizes[d]);
    for (int64_t i = std::max<int64_t>(start, 0); i < stop; ++i) {
      VisitWindow(place, d + 1, offset * p_.sizes[d] + i, visit);
    }
  }

  const Pooling p_;
  int64_t blocks_ = 1;
};

Pooling ResolvePooling(const Node& op) {
  const ir::Shape &x = op.operand_shape(0), &source = op.operand_shape(1);
  const ops::WindowDims w = ops::GetWindowDims(x.rank(), op.attrs());
  const auto is_plain = [&](int d) {
    return w.window[d] == 1 && w.strides[d] == 1 && w.low[d] == 0 && w.high[d] == 0;
  };
  int first = 0, last = x.rank();
  while (first < last && is_plain(first)) ++first;
  while (last > first && is_plain(last - 1)) --last;
  Pooling p;
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t size = x.dim(d).value();
    if (d < first) {
      p.outer *= size;
    } else if (d >= last) {
      p.inner *= size;
    } else {
      p.sizes.push_back(size);
      p.places.push_back(source.dim(d).value());
      p.window.push_back(w.window[d]);
      p.strides.push_back(w.strides[d]);
      p.low.push_back(w.low[d]);
    }
  }
  return p;
}

}  // namespace

absl::StatusOr<KernelPtr> MakeLibraryKernel(const Node& fusion) {
  const ir::Graph& region = fusion.region();
  const Node* op = nullptr;
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kParameter) continue;
    if (op != nullptr) return Unimplemented("no library kernel does several ops");
    op = node.get();
  }
  if (op == nullptr) return Unimplemented("no library kernel for a fusion without ops");
  const ir::OpFamily family = ir::GetOpInfo(op->op()).family;
  const bool selects = family == ir::OpFamily::selection, orders = family == ir::OpFamily::order;
  if (!selects && !orders && op->op() != Op::kSelectAndScatter) {
    return Unimplemented("no library kernel for ", op->Describe());
  }
  if (ir::HasSymbols(region)) return SizedAtLaunch(fusion, &MakeLibraryKernel);
  Buffers buffers;
  for (ir::Value v : op->operands()) {
    for (int i = 0; i < region.num_parameters(); ++i) {
      if (region.parameter(i) == v.node) buffers.operands.push_back(i);
    }
  }
  buffers.results.assign(op->num_results(), -1);
  for (size_t i = 0; i < region.outputs().size(); ++i) {
    const ir::Value output = region.outputs()[i];
    if (output.node != op || buffers.results[output.index] >= 0) {
      return Unimplemented("no library kernel for a copy of a result of ", op->Describe());
    }
    buffers.results[output.index] = region.num_parameters() + static_cast<int>(i);
  }
  if (selects) return MakeSelectionKernel(*op, std::move(buffers));
  if (orders) return MakeOrderKernel(*op, std::move(buffers));
  if (std::count(buffers.results.begin(), buffers.results.end(), -1) > 0) {
    return Unimplemented("no library kernel for some results of ", op->Describe());
  }
  const DType dtype = op->operand_shape(0).dtype();
  if (dtype == DType::kBool || dtype == DType::kF16 || dtype == DType::kBF16) {
    return Unimplemented("no library kernel for ", op->Describe(), " of ", ir::DTypeName(dtype));
  }
  KernelPtr kernel;
  ir::DispatchDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      kernel = std::make_shared<SelectAndScatter<T>>(buffers, ResolvePooling(*op));
    }
  });
  return kernel;
}

}  // namespace tektite::cpu
