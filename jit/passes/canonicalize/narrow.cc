// Rules that compute no more rows and pixels than are read.
//
// A slice stands below the products whose results it throws away: the classifier's token of a
// transformer's last layer, every second pixel before a convolution of stride 2.  It moves up
// through whatever treats its dimensions apart, and into the contractions.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/ops/ops.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

// Nodes above one slice, so that a graph of many slices stays cheap to look at.
constexpr size_t kMostNodes = 256;
// The operations that must be saved for each element that a slice has to copy in the end: a
// multiply-add takes 1/32 of the time an element takes to be read from the next cache and written.
constexpr double kOperationsPerCopy = 64;
// The assumed value of a symbol; a power of two, so that stages of strides halve it evenly.
constexpr int64_t kUnknownSize = 64;

// The part that is taken of one dimension.
struct Take {
  Dim start, limit, size;
  int64_t stride = 1;
  bool whole = true;

  static Take All(const Dim& d) { return {0, d, d, 1, true}; }
  bool operator==(const Take& other) const {
    return start == other.start && limit == other.limit && stride == other.stride;
  }
};
using Cut = std::vector<Take>;

Cut Everything(const Dims& dims) {
  Cut cut;
  for (const Dim& d : dims) cut.push_back(Take::All(d));
  return cut;
}

bool IsEverything(const Cut& cut) {
  return std::all_of(cut.begin(), cut.end(), [](const Take& take) { return take.whole; });
}

Dims Sizes(const Cut& cut) {
  Dims dims;
  for (const Take& take : cut) dims.push_back(take.size);
  return dims;
}

double Usual(const Dim& d) {
  if (d.is_constant()) return static_cast<double>(d.value());
  std::set<std::string> names;
  d.CollectSymbols(&names);
  ir::SymbolMap sizes;
  for (const std::string& name : names) sizes.emplace(name, kUnknownSize);
  return static_cast<double>(d.Substitute(sizes).value());
}

double Elements(const Dims& dims) {
  double n = 1;
  for (const Dim& d : dims) n *= Usual(d);
  return n;
}

Value Sliced(Value x, const Cut& cut, FuncBuilder& b) {
  Dims starts, limits;
  Ints strides;
  for (const Take& take : cut) {
    starts.push_back(take.start);
    limits.push_back(take.limit);
    strides.push_back(take.stride);
  }
  return b.Slice(x, starts, limits, strides);
}

Cut CutOf(const Node& slice) {
  Cut cut;
  const Dims &starts = slice.attrs().GetDims(Attr::starts),
             &limits = slice.attrs().GetDims(Attr::limits);
  const Ints strides = PerDimension(slice, Attr::strides, 1);
  for (int d = 0; d < slice.shape().rank(); ++d) {
    const bool whole =
        IsZero(starts[d]) && limits[d] == slice.operand_shape(0).dim(d) && strides[d] == 1;
    cut.push_back({starts[d], limits[d], slice.shape().dim(d), strides[d], whole});
  }
  return cut;
}

// The part of its input that a convolution of one tap reads, if strides let it skip some.
std::optional<Cut> SkippedBy(const Node& node) {
  if (node.op() != Op::kConvolution || node.attrs().Has(Attr::rhs_packed)) return std::nullopt;
  const std::optional<ops::ConvDims> d = ConvolutionDims(node);
  if (!d || !IsOfOneTap(node, *d) || AllAre(d->strides, 1)) return std::nullopt;
  Cut cut = Everything(node.operand_shape(0).dims());
  for (int i = 0; i < d->spatial; ++i) {
    Take& take = cut[d->input_spatial[i]];
    take.stride = d->strides[i];
    take.size = node.shape().dim(d->output_spatial[i]);
    take.whole = take.stride == 1;
  }
  return cut;
}

// The nodes above a slice that need not compute more than it takes.
class Work {
 public:
  // False where no contraction gets smaller, or slices of other values would cost what it saves.
  bool Find(Value x, Cut cut) {
    if (2 * Elements(Sizes(cut)) >= Elements(x.shape().dims())) return false;
    if (x.index != 0 || x.node->IsOutput() || !CanCompute(*x.node, cut)) return false;
    for (const ir::Use& use : x.node->uses()) {
      const Node& user = *use.user;
      const std::optional<Cut> read = user.op() == Op::kSlice ? CutOf(user) : SkippedBy(user);
      if (use.operand != 0 || !read || *read != cut) return false;
    }
    Add(x.node, std::move(cut));
    return !refused_ && Pays();
  }

  Value Rebuild(FuncBuilder& b) const {
    absl::flat_hash_map<const Node*, Value> made;
    for (auto it = inside_.rbegin(); it != inside_.rend(); ++it) {
      Node* const node = *it;
      const Cut& cut = cuts_.at(node);
      std::vector<Value> operands;
      for (int i = 0; i < node->num_operands(); ++i) {
        const Value operand = node->operand(i);
        const std::optional<Cut> part = PartOf(*node, cut, i);
        const auto smaller = made.find(operand.node);
        operands.push_back(!part                   ? operand
                           : smaller != made.end() ? smaller->second
                                                   : Sliced(operand, *part, b));
      }
      made[node] = Smaller(*node, cut, operands, b);
    }
    return made.at(inside_.front());
  }

 private:
  // Users before producers: a node joins when every use of it asks for the same part.
  void Add(Node* node, Cut cut) {
    std::vector<Node*> ready = {node};
    cuts_[node] = std::move(cut);
    while (!ready.empty() && !refused_) {
      Node* const next = ready.back();
      ready.pop_back();
      inside_.push_back(next);
      refused_ |= inside_.size() > kMostNodes;
      for (int i = 0; i < next->num_operands(); ++i) {
        const std::optional<Cut> part = PartOf(*next, cuts_.at(next), i);
        if (!part) continue;
        const Value operand = next->operand(i);
        const auto [known, is_new] = cuts_.try_emplace(operand.node, *part);
        refused_ |= operand.index != 0 || known->second != *part;
        if (++asked_[operand.node] == operand.node->uses().size() && !operand.node->IsOutput() &&
            CanCompute(*operand.node, *part)) {
          ready.push_back(operand.node);
        }
      }
    }
  }

  static bool CanCompute(const Node& node, const Cut& cut) {
    if (node.num_results() != 1 || node.num_regions() != 0) return false;
    if (ir::IsElementwise(node.op())) return true;
    const auto whole = [&](int64_t d) { return cut[d].whole; };
    switch (node.op()) {
      case Op::kTranspose:
        return true;
      case Op::kReduce:
        return node.num_operands() == 1;
      case Op::kBroadcastInDim: {
        const Ints& dimensions = node.Ints(Attr::dimensions);
        for (size_t i = 0; i < dimensions.size(); ++i) {
          if (IsOne(node.operand_shape(0).dim(static_cast<int>(i))) && !whole(dimensions[i])) {
            return false;
          }
        }
        return true;
      }
      case Op::kReshape: {
        const Ints kept = KeptDimensions(node.operand_shape(0).dims(), node.shape().dims());
        for (size_t d = 0; d < kept.size(); ++d) {
          if (kept[d] < 0 && !whole(static_cast<int64_t>(d))) return false;
        }
        return true;
      }
      case Op::kDotGeneral: {
        if (node.attrs().Has(Attr::rhs_packed) || node.attrs().Has(Attr::transpose_a)) return false;
        const ops::DotDims dims = ops::GetDotDims(node);
        const size_t first = dims.lhs_batch.size(), end = first + dims.lhs_free.size();
        for (size_t d = 0; d < cut.size(); ++d) {
          if ((d < first || d >= end) && !cut[d].whole) return false;
        }
        return true;
      }
      case Op::kConvolution: {
        if (node.attrs().Has(Attr::rhs_packed)) return false;
        const std::optional<ops::ConvDims> dims = ConvolutionDims(node);
        if (!dims || !whole(dims->output_batch) || !whole(dims->output_feature)) return false;
        // Strides take every n-th of all places, from the first one on.
        return std::all_of(
            dims->output_spatial.begin(), dims->output_spatial.end(), [&](int64_t d) {
              return whole(d) || (IsZero(cut[d].start) && cut[d].limit == node.shape().dim(d));
            });
      }
      default:
        return false;
    }
  }

  // The part of operand i that `cut` of the node's result needs; nullopt for all of it.
  static std::optional<Cut> PartOf(const Node& node, const Cut& cut, int i) {
    const Shape& shape = node.operand_shape(i);
    Cut part = Everything(shape.dims());
    switch (node.op()) {
      case Op::kConvolution:
        return std::nullopt;
      case Op::kTranspose: {
        const Ints& permutation = node.Ints(Attr::permutation);
        for (size_t d = 0; d < cut.size(); ++d) part[permutation[d]] = cut[d];
        break;
      }
      case Op::kReduce: {
        const Ints kept = Complement(shape.rank(), node.Ints(Attr::dimensions));
        for (size_t d = 0; d < cut.size(); ++d) part[kept[d]] = cut[d];
        break;
      }
      case Op::kBroadcastInDim: {
        const Ints& dimensions = node.Ints(Attr::dimensions);
        for (size_t d = 0; d < dimensions.size(); ++d) {
          if (!cut[dimensions[d]].whole) part[d] = cut[dimensions[d]];
        }
        break;
      }
      case Op::kReshape: {
        const Ints kept = KeptDimensions(shape.dims(), node.shape().dims());
        for (size_t d = 0; d < cut.size(); ++d) {
          if (!cut[d].whole) part[kept[d]] = cut[d];
        }
        break;
      }
      case Op::kDotGeneral: {
        if (i != 0) return std::nullopt;
        const ops::DotDims dims = ops::GetDotDims(node);
        for (size_t d = 0; d < dims.lhs_free.size(); ++d) {
          part[dims.lhs_free[d]] = cut[dims.lhs_batch.size() + d];
        }
        break;
      }
      default:
        if (shape.rank() != node.shape().rank()) return std::nullopt;  // clamp's scalars
        part = cut;
    }
    if (IsEverything(part)) return std::nullopt;
    return part;
  }

  static Value Smaller(const Node& node, const Cut& cut, absl::Span<const Value> operands,
                       FuncBuilder& b) {
    Attributes attrs = node.attrs();
    switch (node.op()) {
      case Op::kBroadcastInDim:
        return b.BroadcastInDim(operands[0], Sizes(cut), node.Ints(Attr::dimensions));
      case Op::kReshape:
        return b.Reshape(operands[0], Sizes(cut));
      case Op::kConvolution: {
        // The padding stays: places that no stride reaches are not computed.
        const ops::ConvDims dims = *ConvolutionDims(node);
        Ints strides = dims.strides;
        for (int i = 0; i < dims.spatial; ++i) strides[i] *= cut[dims.output_spatial[i]].stride;
        attrs.Set(Attr::strides, strides);
        return b.AddOne(node.op(), operands, attrs);
      }
      default:
        return b.AddOne(node.op(), operands, attrs);
    }
  }

  // Multiplications and additions for one element of a contraction's result.
  static double OperationsOf(const Node& node) {
    const Shape& rhs = node.operand_shape(1);
    if (node.op() == Op::kDotGeneral) {
      return 2 * Elements(Select(rhs.dims(), ops::GetDotDims(node).rhs_contracting));
    }
    const ops::ConvDims dims = *ConvolutionDims(node);
    return 2 * Elements(rhs.dims()) / Usual(rhs.dim(dims.kernel_output));
  }

  // Other rows of the same value meet the same weights: DotsOfSlices made one product of them, or
  // is about to.
  bool IsOneOfSeveral(const Node& dot, const Cut& cut) const {
    const std::optional<Cut> part = PartOf(dot, cut, 0);
    const Value lhs = dot.operand(0);
    if (!part) return false;
    const std::vector<ir::Use>& uses = lhs.node->uses(lhs.index);
    return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
      const Node& user = *use.user;
      if (&user == &dot) return false;
      return user.op() == Op::kSlice ? CutOf(user) != *part
                                     : user.op() == Op::kDotGeneral && use.operand == 0 &&
                                           user.operand(1) == dot.operand(1);
    });
  }

  bool Pays() const {
    double saved = 0, copied = 0;
    for (const Node* node : inside_) {
      const Cut& cut = cuts_.at(node);
      if (node->op() == Op::kDotGeneral && IsOneOfSeveral(*node, cut)) return false;
      if (node->op() == Op::kDotGeneral || node->op() == Op::kConvolution) {
        saved += OperationsOf(*node) * (Elements(node->shape().dims()) - Elements(Sizes(cut)));
      }
      for (int i = 0; i < node->num_operands(); ++i) {
        const std::optional<Cut> part = PartOf(*node, cut, i);
        const Node* producer = node->operand(i).node;
        const bool copies = part && producer->op() != Op::kBroadcastInDim &&
                            std::find(inside_.begin(), inside_.end(), producer) == inside_.end();
        if (copies) copied += Elements(Sizes(*part));
      }
    }
    return saved > kOperationsPerCopy * copied;
  }

  std::vector<Node*> inside_;  // users first
  absl::flat_hash_map<const Node*, Cut> cuts_;
  absl::flat_hash_map<const Node*, size_t> asked_;
  bool refused_ = false;
};

}  // namespace

// slice(relu(dot_general(%x: f32[197,192], %w: f32[192,768]))), starts=[0,0], limits=[1,768]
//   ->  relu(dot_general(slice(%x), %w))
// slice(convolution(%x, %w), strides=[1,2,2,1])
//   ->  convolution(%x, %w), strides=[2,2]
// through elementwise ops, reductions, broadcasts, transposes and reshapes, where nothing reads the
// rest, less than half is taken and the contractions save more than slices of other operands cost.
// A contraction of fewer rows may add floats in another order.
Value SliceOfContractions(Node* node, FuncBuilder& b) {
  Work work;
  if (!work.Find(node->operand(0), CutOf(*node))) return {};
  return work.Rebuild(b);
}

// convolution(%x, %w: f32[1,1,256,512]), strides=[2,2]
//   ->  convolution(slice(%x, strides=[1,2,2,1]), %w), strides=[1,1]
// where SliceOfContractions finds what computes %x: the last block of each stage of a residual
// network computes a quarter of its pixels.
Value ConvolutionThatSkips(Node* node, FuncBuilder& b) {
  const std::optional<Cut> cut = SkippedBy(*node);
  if (!cut || !Work().Find(node->operand(0), *cut)) return {};
  Attributes attrs = node->attrs();
  attrs.Set(Attr::strides, Ints(ConvolutionDims(*node)->spatial, 1));
  return b.AddOne(Op::kConvolution, {Sliced(node->operand(0), *cut, b), node->operand(1)}, attrs);
}

}  // namespace tektite::passes::rules
