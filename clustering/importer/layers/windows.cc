#include "clustering/importer/layers/windows.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace tektite::importer {
namespace {

constexpr int64_t kMost = 1 << 20;  // no window is larger, and products of two stay small

// The entries for the spatial dimensions of a list with one for each dimension; 1 where there is
// none.
absl::StatusOr<std::vector<int64_t>> Spatial(const NodeImport& op, absl::string_view attr,
                                             const std::vector<int64_t>& all,
                                             const ImageFormat& format) {
  if (all.empty()) return std::vector<int64_t>(format.spatial_dims, 1);
  if (static_cast<int>(all.size()) != format.rank()) {
    return op.Refuse(attr, " has ", all.size(), " elements, not ", format.rank());
  }
  for (int64_t v : all) {
    if (v < 1 || v > kMost) {
      return op.Refuse(attr, " must be positive, got [", absl::StrJoin(all, ","), "]");
    }
  }
  if (all[0] != 1 || all[format.feature()] != 1) {
    return op.Refuse(attr, " over batch or channels: [", absl::StrJoin(all, ","), "]");
  }
  const auto first = all.begin() + format.spatial(0);
  return std::vector<int64_t>(first, first + format.spatial_dims);
}

// From the start of the first window to the end of the last.
Dim Reach(const WindowDim& dim) {
  return (dim.output - Dim(1)) * Dim(dim.stride) + Dim(dim.extent());
}

// ceil(input / stride) results, the padding split evenly with the odd one behind.
void PadSame(WindowDim* dim) {
  dim->output = ir::CeilDiv(dim->input, Dim(dim->stride));
  int64_t pad = dim->extent() - 1;  // the most there can be
  if (dim->input.is_constant()) {
    int64_t reach = (dim->output.value() - 1) * dim->stride + dim->extent();
    pad = std::max<int64_t>(0, reach - dim->input.value());
  }
  dim->low = pad / 2;
  dim->high = pad - dim->low;
  // More padding behind than there is adds no window; in front, the first would be another.
  const int64_t least = std::max<int64_t>(0, dim->extent() - dim->stride);
  if (!dim->input.is_constant() && least / 2 != dim->low) {
    const Dim here = ir::Max(Reach(*dim) - dim->input, Dim(0));
    dim->skipped = Dim(dim->low) - ir::FloorDiv(here, Dim(2));
    dim->is_cut = true;
  }
}

absl::Status PadExplicitly(const NodeImport& op, const ImageFormat& format, int i, WindowDim* dim) {
  std::vector<int64_t> all = op.Ints("explicit_paddings");
  if (static_cast<int>(all.size()) != 2 * format.rank()) {
    return op.Refuse("explicit_paddings has ", all.size(), " elements, not ", 2 * format.rank());
  }
  dim->low = all[2 * format.spatial(i)];
  dim->high = all[2 * format.spatial(i) + 1];
  if (dim->low < 0 || dim->high < 0 || dim->low > kMost || dim->high > kMost) {
    return op.Refuse("explicit padding [", absl::StrJoin(all, ","), "]");
  }
  return absl::OkStatus();
}

absl::Status Pad(const NodeImport& op, const ImageFormat& format, int i, WindowDim* dim) {
  absl::string_view padding = op.attrs().String("padding");
  if (padding == "SAME") {
    PadSame(dim);
    return absl::OkStatus();
  }
  if (padding == "EXPLICIT") {
    TEKTITE_RETURN_IF_ERROR(PadExplicitly(op, format, i, dim));
  } else if (padding != "VALID") {
    return op.Refuse("padding ", padding);
  }
  Dim room = dim->input + Dim(dim->low + dim->high - dim->extent());
  if (room.is_constant() && room.value() < 0) {
    return op.Refuse("a window of ", dim->extent(), " over ", dim->input.ToString());
  }
  dim->output = ir::FloorDiv(room, Dim(dim->stride)) + Dim(1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageFormat> RequireImageFormat(const NodeImport& op, int spatial_dims) {
  const bool volume = spatial_dims == 3;
  const absl::string_view last = volume ? "NDHWC" : "NHWC", first = volume ? "NCDHW" : "NCHW";
  absl::string_view name = op.attrs().String("data_format", last);
  if (name != last && name != first) return op.Refuse("format ", name);
  return ImageFormat{name == first, spatial_dims};
}

absl::StatusOr<std::vector<WindowDim>> ResolveWindow(const NodeImport& op, const Dims& image,
                                                     const std::vector<int64_t>& sizes,
                                                     const ImageFormat& format) {
  return ResolveWindow(op, image, sizes, format, {op.Ints("strides"), op.Ints("dilations")});
}

absl::StatusOr<std::vector<WindowDim>> ResolveWindow(const NodeImport& op, const Dims& image,
                                                     const std::vector<int64_t>& sizes,
                                                     const ImageFormat& format,
                                                     const WindowSteps& steps) {
  if (static_cast<int>(image.size()) != format.rank()) {
    return op.Refuse("an image of rank ", image.size(), ", not ", format.rank());
  }
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                           Spatial(op, "strides", steps.strides, format));
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations,
                           Spatial(op, "dilations", steps.dilations, format));
  std::vector<WindowDim> dims(format.spatial_dims);
  for (int i = 0; i < format.spatial_dims; ++i) {
    if (sizes[i] < 1 || sizes[i] > kMost) return op.Refuse("a window of size ", sizes[i]);
    dims[i].input = image[format.spatial(i)];
    dims[i].size = sizes[i];
    dims[i].stride = strides[i];
    dims[i].dilation = dilations[i];
    TEKTITE_RETURN_IF_ERROR(Pad(op, format, i, &dims[i]));
  }
  return dims;
}

Value PadImage(FuncBuilder& b, Value image, Value value, const ImageFormat& format,
               std::vector<WindowDim>* dims) {
  if (!image) return image;
  // All dimensions at once, so that it is one copy.
  std::vector<int64_t> low(format.rank(), 0), high(format.rank(), 0);
  bool is_cut = false;
  for (int i = 0; i < format.spatial_dims; ++i) {
    const WindowDim& dim = (*dims)[i];
    if (!dim.is_cut) continue;
    is_cut = true;
    low[format.spatial(i)] = dim.low;
    high[format.spatial(i)] = dim.high;
  }
  if (!is_cut) return image;
  image = b.Pad(image, value, low, high);
  for (int i = 0; i < format.spatial_dims; ++i) {
    WindowDim& dim = (*dims)[i];
    if (!dim.is_cut) continue;
    image = b.SliceDim(image, format.spatial(i), dim.skipped, dim.skipped + Reach(dim));
    dim.low = dim.high = 0;
    dim.is_cut = false;
  }
  return image;
}

std::vector<Value> Taps(FuncBuilder& b, Value x, Value padding, const ImageFormat& format,
                        std::vector<WindowDim> dims) {
  x = PadImage(b, x, padding, format, &dims);
  if (!x) return {};
  std::vector<int64_t> low(format.rank(), 0), high(format.rank(), 0);
  bool is_padded = false;
  for (int i = 0; i < format.spatial_dims; ++i) {
    low[format.spatial(i)] = dims[i].low;
    high[format.spatial(i)] = dims[i].high;
    is_padded |= dims[i].low != 0 || dims[i].high != 0;
  }
  if (is_padded) x = b.Pad(x, padding, low, high);
  std::vector<Value> taps = {x};
  for (int i = 0; i < format.spatial_dims; ++i) {
    const WindowDim& dim = dims[i];
    const bool is_empty = dim.output == Dim(0);
    const Dim span = is_empty ? Dim(0) : (dim.output - Dim(1)) * Dim(dim.stride) + Dim(1);
    std::vector<Value> finer;
    for (Value tap : taps) {
      for (int64_t k = 0; k < dim.size; ++k) {
        const Dim start(k * dim.dilation);
        finer.push_back(b.SliceDim(tap, format.spatial(i), start, start + span, dim.stride));
      }
    }
    taps = std::move(finer);
  }
  return taps;
}

absl::Status RequireKnownPadding(const NodeImport& op, const std::vector<WindowDim>& dims) {
  for (const WindowDim& dim : dims) {
    if (!dim.is_cut) continue;
    return op.Refuse("SAME padding with stride ", dim.stride, " depends on size ",
                     dim.input.ToString());
  }
  return absl::OkStatus();
}

std::vector<int64_t> Fields(const std::vector<WindowDim>& dims, int64_t WindowDim::*field) {
  std::vector<int64_t> values;
  for (const WindowDim& d : dims) values.push_back(d.*field);
  return values;
}

}  // namespace tektite::importer
