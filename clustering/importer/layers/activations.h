// Activation functions by TensorFlow's name, for the ops themselves and for fused ones.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LAYERS_ACTIVATIONS_H_
#define TEKTITE_CLUSTERING_IMPORTER_LAYERS_ACTIVATIONS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// f(x) for floats x; nullopt for a name that is no activation.  `alpha` is LeakyRelu's slope.
std::optional<Value> Activate(FuncBuilder& b, absl::string_view name, Value x, double alpha = 0.2);

// Scale and scale times alpha of SELU (Klambauer et al. 2017).
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LAYERS_ACTIVATIONS_H_
