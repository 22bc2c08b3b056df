// Colours of images: contrast, hue, saturation, and from one space to the other.
//
// Hue is an angle in sextants, of which each begins where another two of red, green and blue are
// the largest and the smallest:
//
//   sextant   0  1  2  3  4  5
//   largest   r  g  g  b  b  r
//   smallest  b  b  r  r  g  g
//
// Ties, NaN and rounding come out as they do in TensorFlow's kernels, which work in single
// precision and branch for each pixel; here every branch is a select.  They take f32 alone on a
// CPU.
#include <cmath>
#include <initializer_list>

#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

struct Color {
  Value red, green, blue;
};

// How much, and of what: a scalar and an image of at least rank 3.
absl::Status CheckAdjustment(const NodeImport& op) {
  if (op.InputRank(0) < 3) return op.Refuse("an image of rank ", op.InputRank(0));
  if (op.InputRank(1) != 0) return op.Refuse("an amount of rank ", op.InputRank(1));
  if (op.InputDType(0) != DType::kF32) return op.Refuse(ir::DTypeName(op.InputDType(0)), " pixels");
  return absl::OkStatus();
}

// The three numbers of each pixel, [..., 1] each.
absl::StatusOr<Color> RequireChannels(NodeImport& op) {
  if (op.InputRank(0) < 1) return op.Refuse("an image of rank 0");
  const int last = op.InputRank(0) - 1;
  const Dim& channels = op.InputDims(0)[last];
  FuncBuilder& b = op.b();
  const bool three = channels.is_constant() ? channels == Dim(3) : b.AssumeEqual(channels, Dim(3));
  if (!three) return op.Refuse(channels.ToString(), " channels");
  Value x = op.Input(0);
  if (!x) return Color();
  auto channel = [&](int64_t c) { return b.SliceDim(x, last, c, c + 1); };
  return Color{channel(0), channel(1), channel(2)};
}

absl::StatusOr<Color> RequireColors(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckAdjustment(op));
  return RequireChannels(op);
}

// The image of these colours.
Value Joined(FuncBuilder& b, const Color& c) {
  if (!c.red) return c.red;
  return b.Concatenate({c.red, c.green, c.blue}, c.red.shape().rank() - 1);
}

Value SelectLess(FuncBuilder& b, Value x, Value y, Value on_true, Value on_false) {
  return b.Select(b.Compare(x, y, "lt"), on_true, on_false);
}
Value Larger(FuncBuilder& b, Value x, Value y) { return SelectLess(b, x, y, y, x); }
Value Smaller(FuncBuilder& b, Value x, Value y) { return SelectLess(b, y, x, y, x); }

// A value for each range of x: the first whose end is larger than x; `rest` behind them, and for
// NaN.
struct Range {
  double end;
  Value value;
};
Value Piecewise(FuncBuilder& b, Value x, std::initializer_list<Range> ranges, Value rest) {
  for (const Range* r = ranges.end(); r-- != ranges.begin();) {
    rest = SelectLess(b, x, b.FullLike(x, r->end), r->value, rest);
  }
  return rest;
}

// A colour as its hue and the range of its three values; hue is 0 for greys.
struct HueAndRange {
  Value hue, least, most;
};

HueAndRange ToHue(FuncBuilder& b, const Color& c) {
  Value climbs = b.Compare(c.red, c.green, "lt");
  Value low = b.Select(climbs, c.red, c.green), high = b.Select(climbs, c.green, c.red);
  Value below = b.Compare(c.blue, low, "lt"), above = b.Compare(c.blue, high, "gt");
  HueAndRange result;
  result.most = b.Select(above, c.blue, high);
  result.least = b.Select(below, c.blue, low);
  Value middle = b.Select(below, low, b.Select(above, high, c.blue));
  Value part = b.Div(b.Sub(middle, result.least), b.Sub(result.most, result.least));
  auto by_blue = [&](double if_below, double if_above, double if_between) {
    return b.Select(below, b.FullLike(part, if_below),
                    b.Select(above, b.FullLike(part, if_above), b.FullLike(part, if_between)));
  };
  Value sextant = b.Select(climbs, by_blue(1, 3, 2), by_blue(0, 4, 5));
  // In odd sextants the middle value falls.
  Value odd = b.Compare(climbs, b.Binary(Op::kOr, below, above), "eq");
  Value turn = b.Add(sextant, b.Select(odd, b.Sub(b.FullLike(part, 1), part), part));
  Value grey = b.Compare(result.most, result.least, "eq");
  result.hue = b.Select(grey, b.FullLike(turn, 0), turn);
  return result;
}

// Into [0, 6).  Rounding can leave what is just below a whole turn outside of it, on either side.
Value WithinTurn(FuncBuilder& b, Value hue) {
  Value six = b.FullLike(hue, 6), zero = b.FullLike(hue, 0);
  Value turns = b.Unary(Op::kFloor, b.Mul(hue, b.FullLike(hue, 1.0 / 6)));
  hue = b.Sub(hue, b.Mul(turns, six));
  hue = SelectLess(b, hue, zero, b.Add(hue, six), hue);
  return b.Select(b.Compare(hue, six, "ge"), b.Sub(hue, six), hue);
}

Color FromHue(FuncBuilder& b, const HueAndRange& h) {
  // How far the middle value is from the least: as far as hue is from the nearest even sextant.
  Value half = b.Mul(h.hue, b.FullLike(h.hue, 0.5));
  Value even = b.Mul(b.Unary(Op::kRoundEven, half), b.FullLike(half, 2));
  Value part = b.Abs(b.Sub(h.hue, even));
  Value middle = b.Add(h.least, b.Mul(part, b.Sub(h.most, h.least)));
  Color c;
  c.red = Piecewise(b, h.hue, {{1, h.most}, {2, middle}, {4, h.least}, {5, middle}}, h.most);
  c.green = Piecewise(b, h.hue, {{1, middle}, {3, h.most}, {4, middle}}, h.least);
  c.blue = Piecewise(b, h.hue, {{2, h.least}, {3, middle}, {5, h.most}}, middle);
  return c;
}

// Hue in [0, 1], saturation in [0, 1] for colours that are nowhere negative, and the largest value.
struct Hsv {
  Value hue, saturation, value;
};

// x + third / 3, rounded once as in double precision: thirds are no floats, so that what their
// rounding and that of the sum lose is added behind.
Value AddThird(FuncBuilder& b, Value x, Value third, Value rest_of_third) {
  Value sum = b.Add(third, x);
  Value lost = b.Sub(x, b.Sub(sum, third));
  return b.Add(sum, b.Add(lost, rest_of_third));
}

Hsv ToHsv(FuncBuilder& b, const Color& c) {
  Hsv result;
  Value most = Larger(b, c.red, Larger(b, c.green, c.blue));
  Value range = b.Sub(most, Smaller(b, c.red, Smaller(b, c.green, c.blue)));
  Value zero = b.FullLike(range, 0), one = b.FullLike(range, 1);
  result.value = most;
  result.saturation = SelectLess(b, zero, most, b.Div(range, most), zero);
  Value red = b.Compare(c.red, most, "eq"), green = b.Compare(c.green, most, "eq");
  auto by_largest = [&](Value if_red, Value if_green, Value if_blue) {
    return b.Select(red, if_red, b.Select(green, if_green, if_blue));
  };
  Value difference =
      by_largest(b.Sub(c.green, c.blue), b.Sub(c.blue, c.red), b.Sub(c.red, c.green));
  Value scaled = b.Mul(b.Div(one, b.Mul(b.FullLike(range, 6), range)), difference);
  auto thirds = [&](bool rest) {
    auto part = [&](double third) {
      const double rounded = static_cast<float>(third);
      return b.FullLike(range, rest ? third - rounded : rounded);
    };
    return by_largest(zero, part(1.0 / 3), part(2.0 / 3));
  };
  Value hue = AddThird(b, scaled, thirds(false), thirds(true));
  hue = b.Select(b.Compare(range, zero, "le"), zero, hue);
  result.hue = SelectLess(b, hue, zero, b.Add(hue, one), hue);
  return result;
}

// A hue just below 0 rounds to 1, a whole turn, which is no sextant: such a colour comes out grey
// in TensorFlow, and so it does here.
Color FromHsv(FuncBuilder& b, const Hsv& h) {
  Value zero = b.FullLike(h.hue, 0), one = b.FullLike(h.hue, 1), two = b.FullLike(h.hue, 2);
  Value range = b.Mul(h.saturation, h.value), least = b.Sub(h.value, range);
  Value hue = b.Mul(h.hue, b.FullLike(h.hue, 6));
  Value pairs = b.Unary(Op::kFloor, b.Mul(hue, b.FullLike(hue, 0.5)));
  Value in_pair = b.Sub(hue, b.Mul(pairs, two));
  Value middle = b.Mul(range, b.Sub(one, b.Abs(b.Sub(in_pair, one))));
  Value red =
      Piecewise(b, hue, {{1, range}, {2, middle}, {4, zero}, {5, middle}, {6, range}}, zero);
  Value green = Piecewise(b, hue, {{1, middle}, {3, range}, {4, middle}}, zero);
  Value blue = Piecewise(b, hue, {{2, zero}, {3, middle}, {5, range}, {6, middle}}, zero);
  return {b.Add(red, least), b.Add(green, least), b.Add(blue, least)};
}

}  // namespace

// Differences from the image's mean, for each channel, become `factor` times as large.
absl::Status ImportAdjustContrast(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckAdjustment(op));
  FuncBuilder& b = op.b();
  const int rank = op.InputRank(0);
  Value x = op.Input(0), factor = op.Input(1);
  if (!x || !factor) return op.Return(Value());
  Value sum = b.ReduceKeep(x, {rank - 3, rank - 2}, "add");
  Value pixels = op.DimValue(op.InputDims(0)[rank - 3] * op.InputDims(0)[rank - 2], DType::kF32);
  Value mean = b.Mul(sum, b.Div(b.Scalar(DType::kF32, 1), pixels));
  return op.Return(b.Add(mean, b.Mul(factor, b.Sub(x, mean))));
}

absl::Status ImportAdjustHue(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Color c, RequireColors(op));
  FuncBuilder& b = op.b();
  Value delta = op.Input(1);
  if (!c.red || !delta) return op.Return(Value());
  HueAndRange h = ToHue(b, c);
  h.hue = WithinTurn(b, b.Add(h.hue, b.Mul(delta, b.Scalar(DType::kF32, 6))));
  return op.Return(Joined(b, FromHue(b, h)));
}

absl::Status ImportAdjustSaturation(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Color c, RequireColors(op));
  FuncBuilder& b = op.b();
  Value scale = op.Input(1);
  if (!c.red || !scale) return op.Return(Value());
  Hsv h = ToHsv(b, c);
  Value zero = b.FullLike(h.saturation, 0), one = b.FullLike(h.saturation, 1);
  h.saturation = Smaller(b, one, Larger(b, zero, b.Mul(h.saturation, scale)));
  return op.Return(Joined(b, FromHsv(b, h)));
}

// Hue, saturation and value in the places of red, green and blue.  As TensorFlow's kernel, which
// differs from AdjustSaturation's in its rounding.
absl::Status ImportRgbToHsv(NodeImport& op) {
  if (ir::DTypeBytes(op.InputDType(0)) < 4) return op.Refuse("16-bit floats");
  TEKTITE_ASSIGN_OR_RETURN(const Color c, RequireChannels(op));
  FuncBuilder& b = op.b();
  if (!c.red) return op.Return(Value());
  const auto number = [&](double value) { return b.FullLike(c.red, value); };
  Value most = Larger(b, c.blue, Larger(b, c.green, Larger(b, c.red, number(-HUGE_VAL))));
  Value least = Smaller(b, c.blue, Smaller(b, c.green, Smaller(b, c.red, number(HUGE_VAL))));
  Value range = b.Sub(most, least), zero = number(0);
  Value saturation = SelectLess(b, zero, most, b.Div(range, most), zero);
  Value unit = b.Mul(b.Div(number(1), range), b.Div(number(1), number(6)));
  const auto sextant = [&](Value x, Value y) { return b.Mul(unit, b.Sub(x, y)); };
  Value of_green = b.Add(sextant(c.blue, c.red), b.Div(number(2), number(6)));
  Value of_blue = b.Add(sextant(c.red, c.green), b.Div(number(4), number(6)));
  Value hue = b.Select(b.Compare(c.red, most, "eq"), sextant(c.green, c.blue),
                       b.Select(b.Compare(c.green, most, "eq"), of_green, of_blue));
  hue = SelectLess(b, zero, range, hue, zero);
  hue = SelectLess(b, hue, zero, b.Add(hue, number(1)), hue);
  return op.Return(Joined(b, {hue, saturation, most}));
}

// Each colour climbs and falls between 0 and 1 with hue, as far as saturation and value let it.
absl::Status ImportHsvToRgb(NodeImport& op) {
  if (ir::DTypeBytes(op.InputDType(0)) < 4) return op.Refuse("16-bit floats");
  TEKTITE_ASSIGN_OR_RETURN(const Color c, RequireChannels(op));
  FuncBuilder& b = op.b();
  if (!c.red) return op.Return(Value());
  Value hue = c.red, saturation = c.green, value = c.blue;
  const auto number = [&](double x) { return b.FullLike(hue, x); };
  Value turns = b.Mul(hue, number(6)), grey = b.Sub(number(1), saturation);
  const auto from = [&](double sextant) { return b.Abs(b.Sub(turns, number(sextant))); };
  const auto color = [&](Value height) {
    height = SelectLess(b, height, number(0), number(0), height);
    height = SelectLess(b, number(1), height, number(1), height);
    return b.Mul(b.Add(grey, b.Mul(saturation, height)), value);
  };
  return op.Return(Joined(b, {color(b.Sub(from(3), number(1))), color(b.Sub(number(2), from(2))),
                              color(b.Sub(number(2), from(4)))}));
}

}  // namespace tektite::importer
