#include "backends/gpu/emit/contraction/byte_ways.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/contraction/few_rows_contraction.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

using target::Offer;

bool IsThin(const ContractionView& view) { return view.HasFewFeatures() && view.HasShortSums(); }

absl::Status FitsGrouped(const ContractionView& view) {
  if (!MultipliesBytes(view)) return Unimplemented("not a product of bytes");
  return IsThin(view) ? absl::OkStatus() : Unimplemented("not of groups of few features");
}

absl::Status FitsStreamed(const ContractionView& view) {
  const bool has_bytes =
      !MultipliesBytes(view) && ir::DTypeBytes(view.root().operand_shape(1).dtype()) == 1;
  if (!has_bytes) return Unimplemented("not floats times bytes");
  return IsOfFewRows(view) ? absl::OkStatus() : Unimplemented("not of few rows");
}

absl::Status FitsPairs(const ContractionView& view) {
  if (!MultipliesBytes(view)) return Unimplemented("not a product of bytes");
  return view.HasFewFeatures() ? Unimplemented("of groups of few features") : absl::OkStatus();
}

struct Way {
  const char* name;
  absl::Status (*fits)(const ContractionView& view);
};
constexpr Way kWays[] = {{target::kGrouped, FitsGrouped},
                         {target::kStreamed, FitsStreamed},
                         {target::kPairs, FitsPairs}};

}  // namespace

std::vector<Offer> OwnOffers(const ir::Node& fusion) {
  std::vector<Offer> offers;
  const ir::Graph& region = fusion.region();
  const absl::StatusOr<ContractionView> view =
      fusion.IsFusion(ir::FusionKind::kContraction)
          ? ContractionView::Create(region)
          : absl::StatusOr<ContractionView>(Unimplemented("no contraction"));
  if (view.ok() && CheckResults(region, view->root()).ok()) {
    for (const Way& way : kWays) {
      const absl::Status fits = way.fits(*view);
      if (!fits.ok()) {
        offers.push_back({way.name, fits});
        continue;
      }
      target::Schedule schedule;
      schedule.implementation = std::string(way.name);
      offers.push_back({way.name, std::move(schedule)});
      return offers;
    }
  }
  offers.push_back({target::kOwn, target::Schedule()});
  return offers;
}

}  // namespace tektite::gpu
