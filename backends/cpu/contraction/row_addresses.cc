#include "backends/cpu/contraction/row_addresses.h"

#include <optional>

#include "backends/cpu/emit/elements.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using loop::Value;

Dim ImageRowStride(const ConvolutionGeometry& g) {
  return g.padded_width() * Dim(g.stride_h * g.channels);
}

Value PixelOffset(loop::Builder& b, const ConvolutionGeometry& g, Value y, Value x) {
  return b.Add(b.Mul(y, b.Index(ImageRowStride(g))), b.Mul(x, b.Index(g.stride_w * g.channels)));
}

// Elements between neighbouring rows of a tile, where that is one number known here.
std::optional<int64_t> RowStride(const ContractionTiling& plan) {
  const ConvolutionGeometry& g = plan.conv;
  Dim stride;
  if (!plan.is_convolution) {
    const bool crosses =
        plan.m_loops.size() > 1 && Mod(plan.m_loops.back().trips, plan.rows) != Dim(0);
    if (crosses) return std::nullopt;
    stride = plan.m_loops.empty() ? Dim(0) : plan.m_loops.back().lhs_stride;
  } else if (g.out_width == Dim(1)) {
    stride = ImageRowStride(g);
  } else if (Mod(g.out_width, plan.rows) == Dim(0)) {
    stride = g.stride_w * g.channels;
  } else {
    return std::nullopt;
  }
  if (!stride.is_constant()) return std::nullopt;
  return stride.value();
}

Value RowOffset(loop::Builder& b, const ContractionTiling& plan, Value row) {
  if (plan.is_convolution) {
    Value width = b.Index(plan.conv.out_width);
    return PixelOffset(b, plan.conv, b.Div(row, width), b.Rem(row, width));
  }
  ir::Dims sizes;
  for (const AddressLoop& loop : plan.m_loops) sizes.push_back(loop.trips);
  std::vector<Value> index = Delinearize(b, row, sizes);
  Value offset = b.Index(0);
  for (size_t i = 0; i < index.size(); ++i) {
    offset = b.Add(offset, b.Mul(index[i], b.Index(plan.m_loops[i].lhs_stride)));
  }
  return offset;
}

// Pixels one after the other: a division by an unknown width for the first alone.
std::vector<RowAddress> Pixels(loop::Builder& b, const ContractionTiling& plan, Value lhs,
                               const RowTile& tile) {
  std::vector<RowAddress> addresses;
  Value width = b.Index(plan.conv.out_width);
  Value y = b.Div(tile.first, width), x = b.Sub(tile.first, b.Mul(y, width));
  Value offset = PixelOffset(b, plan.conv, y, x);
  for (int r = 0; r < tile.rows; ++r) {
    if (r > 0) {
      x = b.Add(x, b.Index(1));
      Value wrapped = b.Compare("ge", x, width);
      y = b.Add(y, b.Select(wrapped, b.Index(1), b.Index(0)));
      x = b.Select(wrapped, b.Index(0), x);
      Value next = PixelOffset(b, plan.conv, y, x);
      offset =
          r < tile.sure ? next : b.Select(b.Compare("lt", b.Index(r), tile.left), next, offset);
    }
    addresses.push_back({b.Offset(lhs, plan.lhs_dtype, offset), 0});
  }
  return addresses;
}

}  // namespace

std::vector<RowAddress> RowAddresses(loop::Builder& b, const ContractionTiling& plan, Value lhs,
                                     Value block_begin, const RowTile& tile) {
  std::vector<RowAddress> addresses;
  auto in_batch = [&](Value m) { return plan.is_convolution ? m : b.Add(block_begin, m); };
  const std::optional<int64_t> stride = RowStride(plan);
  if (stride.has_value() && tile.sure == tile.rows) {
    Value pointer = b.Offset(lhs, plan.lhs_dtype, RowOffset(b, plan, in_batch(tile.first)));
    for (int r = 0; r < tile.rows; ++r) addresses.push_back({pointer, r * *stride});
    return addresses;
  }
  if (plan.is_convolution && !plan.conv.out_width.is_constant()) return Pixels(b, plan, lhs, tile);
  for (int r = 0; r < tile.rows; ++r) {
    Value row = b.Index(r);
    if (r >= tile.sure) row = b.Min(row, b.Sub(tile.left, b.Index(1)));
    Value offset = RowOffset(b, plan, in_batch(b.Add(tile.first, row)));
    addresses.push_back({b.Offset(lhs, plan.lhs_dtype, offset), 0});
  }
  return addresses;
}

}  // namespace tektite::cpu
