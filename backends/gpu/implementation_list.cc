#include "backends/gpu/implementation_list.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/gpu/cublaslt/matrix_product.h"
#include "backends/gpu/cudnn/attention_call.h"
#include "backends/gpu/cudnn/convolution_call.h"
#include "backends/gpu/emit/attention/warpgroup_attention.h"
#include "backends/gpu/emit/contraction/byte_ways.h"
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ir/op.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {
namespace {

using ir::DType;
using ir::FusionKind;
using ir::Node;
using ir::Op;
using target::Schedule;

// Floating-point operations from which on a library is faster, of classes that were measured.
constexpr double kProductOfF32 = 3e8;
constexpr double kProductOfHalves = 2.5e9, kProductBeforeMath = 2e9;
constexpr double kConvolutionOfHalves = 4e9;
constexpr double kAttention = 1e9;
// Shorter sums move memory most of the time, and a library's epilogue moves more.
constexpr int64_t kShortestSumOfF32 = 128;
// Of a product of halves whose epilogue costs our kernel next to nothing: its sum must be long, and
// leave a part of the card without one of our tiles of 128 x 256.
constexpr int64_t kLongSum = 2048, kTileRows = 128, kTileColumns = 256;
constexpr double kPartOfCard = 0.75;
// Products of fewer rows or columns have kernels of their own, which read the weights once.
constexpr int64_t kFewest = 64;

struct Target {
  const EmitOptions& options;
  const Libraries& libraries;
};

enum class Epilogue : uint8_t { kNone, kCheap, kMath };

Epilogue EpilogueOf(const Node& fusion) {
  const ir::Graph& region = fusion.region();
  bool has_math = false;
  for (const auto& node : region.nodes()) {
    switch (node->op()) {
      case Op::kErf:
      case Op::kErfc:
      case Op::kExp:
      case Op::kExpm1:
      case Op::kLog:
      case Op::kLog1p:
      case Op::kPow:
      case Op::kTanh:
        has_math = true;
        break;
      default:
        break;
    }
  }
  if (has_math) return Epilogue::kMath;
  const bool alone =
      region.outputs().size() == 1 && region.outputs()[0].node == ops::FindContraction(region);
  return alone ? Epilogue::kNone : Epilogue::kCheap;
}

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// A schedule that a rule asks for, or one that a measurement may ask for.
struct Way {
  Schedule schedule;
  absl::Status rule;  // why our own kernel comes first; OK: the library does
};

absl::Status FasterBelow(double operations, double least) {
  if (operations >= least) return absl::OkStatus();
  return Unimplemented(operations / 1e9, " GFLOP, and our own kernel is faster below ",
                       least / 1e9);
}

absl::Status RuleForProduct(const Node& fusion, const MatrixProduct& product,
                            const Target& target) {
  const double operations = 2.0 * static_cast<double>(product.batch) *
                            static_cast<double>(product.m) * static_cast<double>(product.n) *
                            static_cast<double>(product.k);
  if (product.m < kFewest || product.n < kFewest) {
    return Unimplemented("fewer than ", kFewest, " rows or columns");
  }
  // No class of them has figures: a measurement alone may prefer the library.
  if (product.dtype == DType::kS8) return Unimplemented("products of bytes were not compared");
  if (product.dtype == DType::kF32) {
    // In TF32 our own tiles have matrix instructions, and were not compared.
    if (target.options.tf32) return Unimplemented("TF32");
    if (product.k < kShortestSumOfF32) {
      return Unimplemented("sums of ", product.k, " terms, fewer than ", kShortestSumOfF32);
    }
    return FasterBelow(operations, kProductOfF32);
  }
  switch (EpilogueOf(fusion)) {
    case Epilogue::kNone:
      return FasterBelow(operations, kProductOfHalves);
    case Epilogue::kMath:
      return FasterBelow(operations, kProductBeforeMath);
    case Epilogue::kCheap:
      break;
  }
  const int64_t tiles =
      product.batch * CeilDiv(product.m, kTileRows) * CeilDiv(product.n, kTileColumns);
  if (product.k < kLongSum ||
      static_cast<double>(tiles) >=
          kPartOfCard * static_cast<double>(target.options.multiprocessors)) {
    return Unimplemented("our own kernel has the epilogue for nothing");
  }
  return FasterBelow(operations, kProductOfHalves);
}

absl::StatusOr<Way> FitsCublasLt(const Node& fusion, const Target& target) {
  if (target.libraries.products == nullptr) return Unimplemented("there is no cuBLASLt");
  TEKTITE_ASSIGN_OR_RETURN(const MatrixProduct product, MatrixProduct::OfContraction(fusion));
  const absl::StatusOr<MatrixProduct> whole = MatrixProduct::Of(fusion);
  const bool has_bias = whole.ok() && whole->bias != MatrixProduct::kNone;
  Way way;
  way.schedule.implementation = has_bias ? kCublasLtWithBias : kCublasLt;
  way.schedule.stands_alone = !has_bias;
  way.rule = RuleForProduct(fusion, product, target);
  return way;
}

absl::StatusOr<Way> FitsCudnn(const Node& fusion, const Target& target) {
  if (target.libraries.cudnn == nullptr) return Unimplemented("there is no cuDNN");
  TEKTITE_ASSIGN_OR_RETURN(const ConvolutionCall call,
                           ConvolutionCall::OfContraction(fusion, target.options.tf32));
  Way way;
  way.schedule.implementation = kCudnn;
  way.schedule.stands_alone = way.schedule.features_first = true;
  if (!IsHalf(call.dtype)) {
    way.rule = Unimplemented(
        "f32: our own kernels are as fast for large images and up to twenty "
        "times as fast for small ones");
    return way;
  }
  double operations = 2;
  for (int64_t size : call.Result()) operations *= static_cast<double>(size);
  const std::vector<int64_t> filter = call.Filter();
  for (size_t i = 1; i < filter.size(); ++i) operations *= static_cast<double>(filter[i]);
  way.rule = FasterBelow(operations, kConvolutionOfHalves);
  return way;
}

absl::StatusOr<Way> FitsCudnnAttention(const Node& fusion, const Target& target) {
  if (target.libraries.cudnn == nullptr) return Unimplemented("there is no cuDNN");
  TEKTITE_ASSIGN_OR_RETURN(const AttentionCall call, AttentionCall::Of(fusion));
  Way way;
  way.schedule.implementation = kCudnnAttention;
  const double scores = static_cast<double>(call.batch) * static_cast<double>(call.heads) *
                        static_cast<double>(call.rows) * static_cast<double>(call.keys);
  way.rule = FasterBelow(2 * scores * static_cast<double>(call.width + call.columns), kAttention);
  return way;
}

struct Implementation {
  FusionKind kind;
  absl::string_view name;
  absl::StatusOr<Way> (*fits)(const Node&, const Target&);
};
// In order of preference within a kind.  Our own kernels come behind.  (g++ 12 refuses constexpr
// here under UBSan.)
const Implementation kLibraries[] = {
    {FusionKind::kContraction, kCublasLt, FitsCublasLt},
    {FusionKind::kContraction, kCudnn, FitsCudnn},
    {FusionKind::kAttention, kCudnnAttention, FitsCudnnAttention},
};

}  // namespace

std::vector<target::Offer> SchedulesFor(const Node& fusion, const target::Facts& facts,
                                        const EmitOptions& options, const Libraries& libraries) {
  std::vector<target::Offer> offers, others;
  for (const Implementation& row : kLibraries) {
    if (row.kind != fusion.fusion_kind()) continue;
    absl::StatusOr<Way> way = row.fits(fusion, Target{options, libraries});
    if (!way.ok()) {
      offers.push_back({row.name, way.status()});
    } else if (way->rule.ok()) {
      offers.push_back({row.name, std::move(way->schedule)});
    } else {
      offers.push_back({row.name, way->rule});
      others.push_back({row.name, std::move(way->schedule)});
    }
  }
  for (target::Offer& own : OwnOffers(fusion)) offers.push_back(std::move(own));
  const bool is_attention = fusion.IsFusion(FusionKind::kAttention);
  const bool has_ways = is_attention || fusion.IsFusion(FusionKind::kContraction);
  if (!facts.alternatives || !has_ways) return offers;
  for (const char* name :
       is_attention ? OtherAttentionWays(fusion, options) : OtherWays(fusion, options)) {
    Schedule schedule;
    schedule.implementation = name;
    offers.push_back({name, std::move(schedule)});
  }
  for (target::Offer& other : others) offers.push_back(std::move(other));
  return offers;
}

}  // namespace tektite::gpu
