// Windows that slide over images: strides, dilations and padding as TensorFlow spells them.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LAYERS_WINDOWS_H_
#define TEKTITE_CLUSTERING_IMPORTER_LAYERS_WINDOWS_H_

#include <string>
#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// Which dimension of an image tensor is what.
struct ImageFormat {
  bool channels_first = false;  // NCHW, else NHWC
  int spatial_dims = 2;         // 3: NCDHW, NDHWC
  int rank() const { return spatial_dims + 2; }
  int spatial(int i) const { return channels_first ? 2 + i : 1 + i; }
  int feature() const { return channels_first ? 1 : spatial_dims + 1; }
  std::string layout() const {
    const std::string digits = spatial_dims == 3 ? "012" : "01";
    return channels_first ? "bf" + digits : "b" + digits + "f";
  }
};
absl::StatusOr<ImageFormat> RequireImageFormat(const NodeImport& op, int spatial_dims = 2);

// One spatial dimension.
struct WindowDim {
  Dim input, output;  // sizes
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t low = 0, high = 0;  // padding
  // SAME padding with a stride depends on the size modulo the stride.  Where the size is not known,
  // low and high are the most there can be; where low is not always the same, the first window
  // starts `skipped` later (is_cut).
  Dim skipped = 0;
  bool is_cut = false;
  int64_t extent() const { return (size - 1) * dilation + 1; }
};

// The spatial dimensions of a window of the given sizes over an image of shape `image`.
// Attributes strides, dilations, padding and explicit_paddings are the node's.
absl::StatusOr<std::vector<WindowDim>> ResolveWindow(const NodeImport& op, const Dims& image,
                                                     const std::vector<int64_t>& sizes,
                                                     const ImageFormat& format);

// The same for ops that keep these lists, one entry per dimension of the image, somewhere else;
// without entries all are 1.
struct WindowSteps {
  std::vector<int64_t> strides, dilations;
};
absl::StatusOr<std::vector<WindowDim>> ResolveWindow(const NodeImport& op, const Dims& image,
                                                     const std::vector<int64_t>& sizes,
                                                     const ImageFormat& format,
                                                     const WindowSteps& steps);

// Every tap of the windows, row by row: the elements of `x` that tap (i, j, ...) of all windows
// reads, as an image of the windows' number.  Padding reads as `padding`.
std::vector<Value> Taps(FuncBuilder& b, Value x, Value padding, const ImageFormat& format,
                        std::vector<WindowDim> dims);

// The image as the windows want it: where padding depends on unknown sizes, padded with `value`
// here, and `dims` have no padding any more.  Costs a copy of the image.
Value PadImage(FuncBuilder& b, Value image, Value value, const ImageFormat& format,
               std::vector<WindowDim>* dims);
// For gradients, which want the padding itself.
absl::Status RequireKnownPadding(const NodeImport& op, const std::vector<WindowDim>& dims);

// One field of every dimension.
std::vector<int64_t> Fields(const std::vector<WindowDim>& dims, int64_t WindowDim::*field);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LAYERS_WINDOWS_H_
