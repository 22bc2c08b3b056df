#include "backends/cpu/contraction/packing/panel_packing.h"

#include <functional>

#include "backends/cpu/emit/emitter.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using loop::Value;

// Visits k through all loops but the innermost: body(rhs offset, k so far in panel rows).
void OuterLoops(loop::Builder& b, const ContractionTiling& plan, size_t depth, Value offset,
                Value row, const std::function<void(Value, Value)>& body) {
  if (depth + 1 >= plan.k_loops.size()) return body(offset, row);
  const AddressLoop& loop = plan.k_loops[depth];
  b.For(b.Index(0), b.Index(loop.trips), 1, [&](Value i) {
    OuterLoops(b, plan, depth + 1, b.Add(offset, b.Mul(i, b.Index(loop.rhs_stride))),
               b.Add(b.Mul(row, b.Index(loop.trips)), i), body);
  });
}

// [lanes columns][k] -> [k][lanes columns], a square of lanes x lanes at a time.
void PackTransposed(loop::Builder& b, const ContractionTiling& plan, Value rhs, Value column,
                    Value to, Value offset, Value first_row, const Dim& trips) {
  const int lanes = plan.lanes;
  for (int v = 0; v < plan.vectors; ++v) {
    auto square = [&](Value k, Value mask) {
      std::vector<Value> rows;
      for (int j = 0; j < lanes; ++j) {
        // Columns beyond n repeat the last one; their results are never stored.
        Value n = b.Min(b.Add(column, b.Index(static_cast<int64_t>(v) * lanes + j)),
                        b.Index(plan.n - Dim(1)));
        Value at = b.Add(b.Add(offset, k), b.Mul(n, b.Index(plan.rhs_n_stride)));
        rows.push_back(b.Load(rhs, plan.dtype, at, lanes, mask));
      }
      rows = TransposeSquare(b, std::move(rows));
      for (int i = 0; i < lanes; ++i) {
        Value row = b.Add(b.Add(first_row, k), b.Index(i));
        b.Store(to,
                b.Add(b.Mul(row, b.Index(plan.panel())), b.Index(static_cast<int64_t>(v) * lanes)),
                rows[i]);
      }
    };
    // The ragged end writes some rows too many: the next ones overwrite them, or nothing reads
    // them.
    ForEachVector(b, trips, lanes, square);
  }
}

void FetchRow(loop::Builder& b, const ContractionTiling& plan, Value rhs, Value at) {
  if (!HasContiguousColumns(plan)) return;
  for (int v = 0; v < plan.vectors; ++v) {
    b.Prefetch(rhs, plan.dtype, b.Add(at, b.Index(int64_t{v} * plan.lanes)));
  }
}

// A panel's part of one k, whose columns begin at `from`.
void PackRow(loop::Builder& b, const ContractionTiling& plan, Value rhs, Value from, Value column,
             Value to, Value at) {
  for (int v = 0; v < plan.vectors; ++v) {
    Value n = b.Add(column, b.Index(static_cast<int64_t>(v) * plan.lanes));
    Value mask;
    if (Mod(plan.n, plan.panel()) != Dim(0)) {
      mask = b.MaskUpTo(b.Sub(b.Index(plan.n), n), plan.lanes);
    }
    Value x;
    if (HasContiguousColumns(plan)) {
      x = b.Load(rhs, plan.dtype, b.Add(from, n), plan.lanes, mask);
    } else {
      Value lane = b.Mul(b.Iota(ir::DType::kS64, plan.lanes),
                         b.Splat(b.Index(plan.rhs_n_stride), plan.lanes));
      Value first = b.Add(from, b.Mul(n, b.Index(plan.rhs_n_stride)));
      x = b.Gather(b.Offset(rhs, plan.dtype, first), plan.dtype, lane, mask);
    }
    b.Store(to, b.Add(at, b.Index(static_cast<int64_t>(v) * plan.lanes)), x);
  }
}

}  // namespace

bool HasContiguousColumns(const ContractionTiling& plan) {
  return plan.rhs_n_stride == Dim(1) || plan.n == Dim(1);
}

std::vector<Value> TransposeSquare(loop::Builder& b, std::vector<Value> rows) {
  // Recursive doubling: at each step, rows i and i + half exchange blocks of `half` lanes.
  const int lanes = static_cast<int>(rows.size());
  for (int half = lanes / 2; half >= 1; half /= 2) {
    std::vector<int> low(lanes), high(lanes);
    for (int i = 0; i < lanes; ++i) {
      const bool upper = (i / half) % 2 == 1;
      low[i] = upper ? lanes + i - half : i;
      high[i] = upper ? lanes + i : i + half;
    }
    std::vector<Value> next(lanes);
    for (int i = 0; i < lanes; ++i) {
      if ((i / half) % 2 == 1) continue;
      next[i] = b.Shuffle(rows[i], rows[i + half], low);
      next[i + half] = b.Shuffle(rows[i], rows[i + half], high);
    }
    rows = std::move(next);
  }
  return rows;
}

void PackPanel(loop::Builder& b, const ContractionTiling& plan, Value rhs, Value column, Value to) {
  const AddressLoop inner = plan.k_loops.empty() ? AddressLoop{} : plan.k_loops.back();
  const Dim& trips = inner.trips;
  if (plan.k == Dim(0)) return;
  const bool contiguous_k = inner.rhs_stride == Dim(1) && trips != Dim(1);
  OuterLoops(b, plan, 0, b.Index(0), b.Index(0), [&](Value offset, Value outer_row) {
    Value first_row = b.Mul(outer_row, b.Index(trips));
    if (!HasContiguousColumns(plan) && contiguous_k) {
      return PackTransposed(b, plan, rhs, column, to, offset, first_row, trips);
    }
    b.For(b.Index(0), b.Index(trips), 1, [&](Value k) {
      Value from = b.Add(offset, b.Mul(k, b.Index(inner.rhs_stride)));
      FetchRow(b, plan, rhs,
               b.Add(b.Add(from, column), b.Index(Dim(kRowsAhead) * inner.rhs_stride)));
      PackRow(b, plan, rhs, from, column, to, b.Mul(b.Add(first_row, k), b.Index(plan.panel())));
    });
  });
}

void PackPanels(loop::Builder& b, const ContractionTiling& plan, Value rhs, Value first_panel,
                Value last_panel, Value to) {
  const AddressLoop& inner = plan.k_loops.back();
  const Dim elements = inner.trips * Dim(plan.panel());
  b.For(b.Index(0), b.Index(inner.trips), 1, [&](Value k) {
    Value from = b.Mul(k, b.Index(inner.rhs_stride));
    b.For(first_panel, last_panel, 1, [&](Value panel) {
      Value at = b.Add(b.Mul(b.Sub(panel, first_panel), b.Index(elements)),
                       b.Mul(k, b.Index(plan.panel())));
      PackRow(b, plan, rhs, from, b.Mul(panel, b.Index(plan.panel())), to, at);
    });
  });
}

void CopyPadded(loop::Builder& b, const ContractionTiling& plan, Value in_row, Value from,
                Value to) {
  const ConvolutionGeometry& g = plan.conv;
  const Dim rows = g.input_rows(plan.image_rows), channels(g.channels);
  const Dim padded_row = g.padded_width() * channels, row = g.width * channels;
  const int64_t bytes = ir::DTypeBytes(plan.dtype);
  b.For(b.Index(0), b.Index(rows), 1, [&](Value r) {
    Value source = b.Sub(b.Add(in_row, r), b.Index(g.pad_top));
    Value to_row = b.Offset(to, plan.dtype, b.Mul(r, b.Index(padded_row)));
    Value inside =
        b.And(b.Compare("ge", source, b.Index(0)), b.Compare("lt", source, b.Index(g.height)));
    b.If(
        inside,
        [&] {
          if (g.pad_left > 0) b.Zero(to_row, b.Index(g.pad_left * g.channels * bytes));
          b.Copy(b.Offset(to_row, plan.dtype, b.Index(g.pad_left * g.channels)),
                 b.Offset(from, plan.dtype, b.Mul(source, b.Index(row))),
                 b.Index(row * Dim(bytes)));
          if (g.pad_right > 0) {
            b.Zero(b.Offset(to_row, plan.dtype, b.Index((Dim(g.pad_left) + g.width) * channels)),
                   b.Index(g.pad_right * g.channels * bytes));
          }
        },
        [&] { b.Zero(to_row, b.Index(padded_row * Dim(bytes))); });
  });
}

}  // namespace tektite::cpu
