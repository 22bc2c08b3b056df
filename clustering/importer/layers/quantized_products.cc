// Products of quantized types: sums of (x - zero of x) * (w - zero of w), of u8 and u8, in s32.
//
// Machines multiply u8 by s8, so weights are less 128, and what that and the zeros add up to is put
// back beside the product:
//
//   sum (x - p) * (w - q)
//       =  sum x * (w - 128)  +  (128 - q) * (sum x - K * p)  -  p * sum (w - 128)
//
// Padding is the byte p, which is the number 0.
#include <utility>

#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/quantized_ranges.h"
#include "clustering/importer/layers/quantized_windows.h"

namespace tektite::importer {
namespace {

constexpr int kMiddle = 128;

struct Operands {
  QuantizedRange x, w;
  Value x_zero, w_zero;  // s32 scalars
};

// Ranges of inputs 0 and 1, from input `first` on.
absl::StatusOr<Operands> RequireOperands(NodeImport& op, int first) {
  if (op.InputDType(0) != DType::kU8 || op.InputDType(1) != DType::kU8) {
    return op.Refuse("TensorFlow's kernel takes quint8 alone");
  }
  Operands o;
  TEKTITE_ASSIGN_OR_RETURN(o.x, RequireQuantizedRange(op, first, first + 1));
  TEKTITE_ASSIGN_OR_RETURN(o.w, RequireQuantizedRange(op, first + 2, first + 3));
  FuncBuilder& b = op.b();
  const auto zero = [&](const QuantizedRange& range) {
    const Value integer = QuantizedInteger(b, DType::kU8, 0, range);
    return integer ? b.Convert(integer, DType::kS32) : integer;
  };
  o.x_zero = zero(o.x);
  o.w_zero = zero(o.w);
  return o;
}

absl::Status ReturnProduct(NodeImport& op, const Operands& o, Value sums) {
  const QuantizedRange range = RangeOfProduct(op.b(), o.x, DType::kU8, o.w, DType::kU8);
  return op.Return({sums, range.low, range.high});
}

Value Wide(FuncBuilder& b, Value v) { return b.Convert(v, DType::kS32); }

// w - 128, as s8.
Value Centered(FuncBuilder& b, Value w) {
  const Value wide = Wide(b, w);
  return b.Convert(b.Sub(wide, b.FullLike(wide, kMiddle)), DType::kS8);
}

// The product of bytes with what belongs to zeros.  `rows`: sums of x, spread along dimensions
// `row_dims` of the result; `columns`: sums of w - 128, along its last dimension.
Value WithZeros(NodeImport& op, const Operands& o, Value product, Value rows,
                std::vector<int64_t> row_dims, Value columns, const Dim& terms) {
  if (!product || !rows || !columns) return Value();
  FuncBuilder& b = op.b();
  const Dims& dims = product.shape().dims();
  const Value middle = b.Sub(b.FullLike(o.w_zero, kMiddle), o.w_zero);
  const Value zeros = b.Mul(op.DimValue(terms, DType::kS32), o.x_zero);
  rows = b.Mul(b.Sub(rows, zeros), middle);
  columns = b.Mul(columns, o.x_zero);
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  return b.Sub(b.Add(product, b.BroadcastInDim(rows, dims, std::move(row_dims))),
               b.BroadcastInDim(columns, dims, {last}));
}

// Sums of all bytes under each window.
Value WindowSums(FuncBuilder& b, Value image, const std::vector<WindowDim>& window) {
  ops::WindowDims w;
  w.window = {1, window[0].size, window[1].size};
  w.strides = {1, window[0].stride, window[1].stride};
  w.low = w.high = {0, 0, 0};
  w.lhs_dilation = w.window_dilation = {1, 1, 1};
  return b.ReduceWindow(b.Reduce(Wide(b, image), {3}, "add"), "add", w);
}

}  // namespace

absl::Status ImportQuantizedMatMul(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.InputRank(0) != 2 || op.InputRank(1) != 2) return op.Refuse("not a matrix");
  TEKTITE_ASSIGN_OR_RETURN(const Operands o, RequireOperands(op, 2));
  const Value x = op.Input(0), w = op.Input(1);
  if (!x || !w || !o.x_zero || !o.w_zero) return op.Return({Value(), Value(), Value()});
  op.Check(b.Compare(o.x.low, o.x.high, "lt"));
  op.Check(b.Compare(o.w.low, o.w.high, "lt"));
  const bool transpose_x = op.attrs().Bool("transpose_a", false);
  const bool transpose_w = op.attrs().Bool("transpose_b", false);
  const Value centered = Centered(b, w);
  const Value product = b.MatMul(Wide(b, x), Wide(b, centered), transpose_x, transpose_w);
  const Value rows = b.Reduce(Wide(b, x), {transpose_x ? 0 : 1}, "add");
  const Value columns = b.Reduce(Wide(b, centered), {transpose_w ? 1 : 0}, "add");
  const Dim& terms = op.InputDims(0)[transpose_x ? 0 : 1];
  return ReturnProduct(op, o, WithZeros(op, o, product, rows, {0}, columns, terms));
}

absl::Status ImportQuantizedConv2D(NodeImport& op) {
  if (op.InputDType(1) == DType::kS8) return ImportQuantizedSignedConv2D(op);
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Operands o, RequireOperands(op, 2));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<WindowDim> window, RequireQuantizedWindow(op));
  Value x = op.Input(0);
  const Value w = op.Input(1);
  if (!x || !w || !o.x_zero || !o.w_zero) return op.Return({Value(), Value(), Value()});
  bool is_padded = false;
  for (const WindowDim& dim : window) is_padded |= dim.is_cut || dim.low != 0 || dim.high != 0;
  if (is_padded) {  // with a byte
    op.Check(b.Compare(o.x_zero, b.FullLike(o.x_zero, 0), "ge"));
    op.Check(b.Compare(o.x_zero, b.FullLike(o.x_zero, 255), "le"));
  }
  x = PaddedBytes(b, x, b.Convert(o.x_zero, DType::kU8), &window);
  const Value centered = Centered(b, w);
  FuncBuilder::ConvOptions options;
  options.strides = Fields(window, &WindowDim::stride);
  const Value product = b.Convolution(Wide(b, x), Wide(b, centered), options);
  if (!product) return op.Return({product, product, product});
  const Value columns = b.Reduce(Wide(b, centered), {0, 1, 2}, "add");
  const Dims& filter = op.InputDims(1);
  const Dim terms = filter[0] * filter[1] * filter[2];
  const Value rows = WindowSums(b, x, window);
  return ReturnProduct(op, o, WithZeros(op, o, product, rows, {0, 1, 2}, columns, terms));
}

// (x - zero of x) * (y - zero of y), of one shape, or with a scalar or a vector along the last
// dimension.
absl::Status ImportQuantizedMul(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Operands o, RequireOperands(op, 2));
  const Value x = op.Input(0), y = op.Input(1);
  if (!x || !y || !o.x_zero || !o.w_zero) return op.Return({Value(), Value(), Value()});
  const int rank = x.shape().rank(), other = y.shape().rank();
  if (rank != other && rank > 1 && other > 1) return op.Refuse("ranks");
  for (const QuantizedRange& range : {o.x, o.w}) op.Check(b.Compare(range.low, range.high, "lt"));
  return ReturnProduct(op, o, b.Mul(b.Sub(Wide(b, x), o.x_zero), b.Sub(Wide(b, y), o.w_zero)));
}

}  // namespace tektite::importer
