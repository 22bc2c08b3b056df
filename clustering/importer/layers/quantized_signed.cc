// Convolutions of quint8 with filters of qint8, of which TensorFlow has no kernel but oneDNN's:
// sums of x * w in s32.
//
// On both sides the number 0 is the byte 0, so that padding is 0 and no zeros are put back.  A step
// is the range over 255 of the image, and over 254 of the filter, which never is -128.
//
// oneDNN adds products up in pairs of s16 on CPUs without AVX512-VNNI, and limits each pair to
// [-32768, 32767]; on all CPUs it then multiplies the sums, as f32, by a quotient of steps that is
// 1 but for its rounding.  The sums here are exact (docs/numbers.md).  Ranges of which that
// quotient is nothing, or NaN, are left to it by a check.
//
// Limits: one range of the filter.  Of a range for each channel oneDNN multiplies a channel's sums
// by its range over the largest one, and says the range of sums that are not multiplied.
#include <utility>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/quantized_ranges.h"
#include "clustering/importer/layers/quantized_windows.h"

namespace tektite::importer {
namespace {

constexpr double kImageSteps = 255, kFilterSteps = 254;
// What a unit of the sums may mean.
constexpr double kLeastStep = 1e-30, kGreatestStep = 1e25;

// What a sum means where it is the least s32, and the greatest.
QuantizedRange RangeOfSums(NodeImport& op, const QuantizedRange& x, const QuantizedRange& w) {
  FuncBuilder& b = op.b();
  const auto step = [&](const QuantizedRange& range, double steps) {
    const Value size = b.Sub(range.high, range.low);
    return b.Div(size, b.FullLike(size, steps));
  };
  const Value both = b.Mul(step(x, kImageSteps), step(w, kFilterSteps));
  op.Check(b.Compare(x.low, x.high, "lt"));
  op.Check(b.Compare(both, b.FullLike(both, kLeastStep), "gt"));
  op.Check(b.Compare(both, b.FullLike(both, kGreatestStep), "lt"));
  const IntegerLimits limits = IntegerLimitsOf(DType::kS32);
  return {b.Mul(both, b.FullLike(both, limits.least)),
          b.Mul(both, b.FullLike(both, limits.greatest))};
}

}  // namespace

absl::Status ImportQuantizedSignedConv2D(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.attrs().Bool("_tektite_without_onednn", false)) {
    return op.Refuse("TensorFlow has no kernel for it without oneDNN");
  }
  if (op.InputDType(0) != DType::kU8 || op.InputDType(1) != DType::kS8) {
    return op.Refuse("TensorFlow's kernel takes an image of quint8 and a filter of qint8");
  }
  if (!op.Ints("padding_list").empty()) return op.Refuse("a list of paddings");
  TEKTITE_ASSIGN_OR_RETURN(std::vector<WindowDim> window, RequireQuantizedWindow(op));
  const bool is_depthwise = absl::StrContains(op.op(), "Depthwise");
  const Dims& filter = op.InputDims(1);
  const int64_t channels = is_depthwise ? filter[2].value() * filter[3].value() : filter[3].value();
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange x_range, RequireQuantizedRange(op, 2, 3));
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange w_range, RequireQuantizedRange(op, 4, 5));
  Value x = op.Input(0), w = op.Input(1);
  if (!x || !w || !x_range.low || !x_range.high || !w_range.low || !w_range.high) {
    return op.Return({Value(), Value(), Value()});
  }
  x = PaddedBytes(b, x, b.Scalar(DType::kU8, 0), &window);
  FuncBuilder::ConvOptions options;
  options.strides = Fields(window, &WindowDim::stride);
  if (is_depthwise) {
    options.feature_groups = filter[2].value();
    w = b.Reshape(w, {filter[0], filter[1], Dim(1), Dim(channels)});
  }
  Value sums = b.Convolution(b.Convert(x, DType::kS32), b.Convert(w, DType::kS32), options);
  if (absl::EndsWith(op.op(), "Relu") && sums) sums = b.Max(sums, b.FullLike(sums, 0));
  const QuantizedRange range = RangeOfSums(op, x_range, w_range);
  return op.Return({sums, range.low, range.high});
}

}  // namespace tektite::importer
