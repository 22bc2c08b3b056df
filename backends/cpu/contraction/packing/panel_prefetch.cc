#include "backends/cpu/contraction/packing/panel_prefetch.h"

#include "backends/cpu/contraction/packing/panel_packing.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {

using ir::Dim;
using loop::Value;

namespace {

int64_t TilesOf(const ContractionTiling& plan) {
  return CeilDiv(plan.block_rows.value(), plan.rows);
}

}  // namespace

bool FetchesPanels(const ContractionTiling& plan, const target::TargetInfo& target) {
  if (plan.rhs != RhsMode::kPackInKernel || plan.is_convolution || plan.is_filter_gradient ||
      plan.k_loops.empty() || (plan.k_loops.size() > 1 && !plan.packed_rows) ||
      !plan.k.is_constant() || !plan.n.is_constant() || !plan.m.is_constant() ||
      !plan.block_rows.is_constant()) {
    return false;
  }
  const bool is_contiguous = HasContiguousColumns(plan) || plan.k_loops.back().rhs_stride == Dim(1);
  const int64_t bytes = plan.k.value() * plan.n.value() * ir::DTypeBytes(plan.dtype);
  return is_contiguous && bytes > target.l2_bytes / 2 && TilesOf(plan) >= 4;
}

PanelPrefetch::PanelPrefetch(loop::Builder& b, const ContractionTiling& plan, Value rhs,
                             Value column)
    : b_(&b), plan_(&plan) {
  const AddressLoop& inner = plan.k_loops.back();
  const int64_t bytes = ir::DTypeBytes(plan.dtype);
  if (HasContiguousColumns(plan)) {
    rows_ = inner.trips.value();
    lines_ = CeilDiv(plan.panel() * bytes, kLineBytes);
    row_stride_ = inner.rhs_stride;
  } else {
    rows_ = plan.panel();
    lines_ = CeilDiv(inner.trips.value() * bytes, kLineBytes);
    row_stride_ = plan.rhs_n_stride;
  }
  first_ = b.Offset(rhs, plan.dtype, b.Mul(column, b.Index(plan.rhs_n_stride)));
}

void PanelPrefetch::Emit(Value tile, Value k, int64_t steps) const {
  if (b_ == nullptr) return;
  loop::Builder& b = *b_;
  const int64_t tiles = TilesOf(*plan_), trips = plan_->k_loops.back().trips.value();
  const int64_t of_steps = CeilDiv(rows_ * lines_ * steps, trips * tiles);
  const Value first = b.Add(b.Mul(tile, b.Index(CeilDiv(rows_ * lines_, tiles))),
                            b.Mul(b.Div(k, b.Index(steps)), b.Index(of_steps)));
  for (int64_t i = 0; i < of_steps; ++i) {
    const Value line = b.Add(first, b.Index(i));
    const Value row = b.Div(line, b.Index(lines_)), in_row = b.Rem(line, b.Index(lines_));
    b.Prefetch(first_, plan_->dtype,
               b.Add(b.Mul(row, b.Index(row_stride_)),
                     b.Mul(in_row, b.Index(kLineBytes / ir::DTypeBytes(plan_->dtype)))));
  }
}

}  // namespace tektite::cpu
