// Windows of quantized images: what convolutions of bytes need beside those of floats.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::vector<WindowDim> window, RequireQuantizedWindow(op));
//   x = PaddedBytes(b, x, zero, &window);       // then a convolution without padding
//
// Limits: NHWC, no dilations, no list of explicit paddings.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LAYERS_QUANTIZED_WINDOWS_H_
#define TEKTITE_CLUSTERING_IMPORTER_LAYERS_QUANTIZED_WINDOWS_H_

#include <vector>

#include "clustering/importer/layers/windows.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// Of the image that is input 0 and the filter that is input 1, whose channels must agree.
absl::StatusOr<std::vector<WindowDim>> RequireQuantizedWindow(NodeImport& op);

// The image with the byte `zero` around, as far as windows reach.
Value PaddedBytes(FuncBuilder& b, Value image, Value zero, std::vector<WindowDim>* window);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LAYERS_QUANTIZED_WINDOWS_H_
