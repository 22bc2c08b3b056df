#include "clustering/importer/layers/quantized_windows.h"

namespace tektite::importer {

absl::StatusOr<std::vector<WindowDim>> RequireQuantizedWindow(NodeImport& op) {
  const Dims &image = op.InputDims(0), &filter = op.InputDims(1);
  if (image.size() != 4 || filter.size() != 4) {
    return op.Refuse("image and filter of rank 4, please");
  }
  for (const Dim& d : filter) {
    if (!d.is_constant() || d.value() < 1) return op.Refuse("filter size ", d.ToString());
  }
  if (!op.b().AssumeEqual(image[3], filter[2])) return op.Refuse("channels");
  for (const int64_t d : op.Ints("dilations")) {
    if (d != 1) return op.Refuse("dilations");
  }
  return ResolveWindow(op, image, {filter[0].value(), filter[1].value()}, ImageFormat());
}

Value PaddedBytes(FuncBuilder& b, Value image, Value zero, std::vector<WindowDim>* window) {
  const ImageFormat format;
  image = PadImage(b, image, zero, format, window);
  std::vector<int64_t> low(4, 0), high(4, 0);
  bool any = false;
  for (int i = 0; i < 2; ++i) {
    low[format.spatial(i)] = (*window)[i].low;
    high[format.spatial(i)] = (*window)[i].high;
    any |= (*window)[i].low != 0 || (*window)[i].high != 0;
  }
  return any ? b.Pad(image, zero, low, high) : image;
}

}  // namespace tektite::importer
