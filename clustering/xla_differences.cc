#include "clustering/xla_differences.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "clustering/graph_def/data_type.h"

namespace tektite::clustering {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

const Names& Ops() {
  static const auto& names = *new Names({
      "BesselI0e",
      "BesselI1e",
      "Betainc",
      "Bucketize",
      "ComplexAbs",
      "Erfinv",
      "HSVToRGB",
      "Igamma",
      "Igammac",
      "IgammaGradA",
      "InTopKV2",
      "Ndtri",
      "Polygamma",
      "RGBToHSV",
      "RandomGammaGrad",
      "Zeta",
  });
  return names;
}

// Of complex numbers.
const Names& ComplexOps() {
  static const auto& names = *new Names({
      "Div",
      "DivNoNan",
      "Exp",
      "Inv",
      "Log",
      "RealDiv",
      "Reciprocal",
      "Sqrt",
  });
  return names;
}

}  // namespace

bool DiffersInXla(const graph_def::NodeDef& node) {
  if (Ops().contains(node.op)) return true;
  return ComplexOps().contains(node.op) && graph_def::PartType(node.attrs.Type("T")).has_value();
}

}  // namespace tektite::clustering
