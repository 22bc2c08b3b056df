// factor_scales: a product of few rows with weights that groups of rows scale reads bytes, and
// scales the sums of the groups.
//
//   before  %w = mul(%q, gather(%s: f32[groups,n], %i: s32[k]))   %q of s8, less zero points or not
//           %y = dot_general(%x, %w)
//   after   %b = reshape(convert(%q): s8)                         [groups, k / groups, n]
//           %p = dot_general(reshape(%x), %b) {dtype = f32}       a batch for each group
//           %y = reduce(mul(%p, broadcast(%s)))                   over the groups
//
// This is what Keras's quantize("int4") makes, whose weights are bytes for one scale in 128 rows.
// Such a product waits for its weights, and bytes are a quarter of them.  %i is a variable there:
// that row r is of group r / (k / groups), and that the differences are bytes, is checked, once for
// a set of weights.
//
// Where the numbers of a group are known to lie within 16, as those of four bits do, less one zero
// point, the product says so (`nibbles`): a target may keep two in a byte.
//
// Limits: weights that do not stay in caches; groups of one size; not in loops and choices.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "jit/base/status.h"
#include "jit/ops/builder.h"
#include "jit/ops/ops.h"
#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/names.h"
#include "jit/passes/narrow_types.h"
#include "jit/passes/pass.h"
#include "jit/passes/quantization/magnitudes.h"

namespace tektite::passes {
namespace {

// weights = numbers * scales[groups]
struct ScaledGroups {
  Value numbers;             // f32 [k, n], whole numbers
  Value scales;              // f32 [groups, n]
  Value groups;              // s32 or s64 [k]
  bool has_nibbles = false;  // in a column of a group `numbers` lie within 16
};

// Whole numbers by the way they were made: bytes, or the difference of two.
bool AreIntegers(Value v) {
  while (IsMoved(*v.node)) v = v.node->operand(0);
  const Node& node = *v.node;
  if (node.op() == Op::kSub) return AreIntegers(node.operand(0)) && AreIntegers(node.operand(1));
  return node.op() == Op::kConvert && node.operand(0).dtype() == DType::kS8;
}

// Of the ops between numbers and the bytes that they are made of; Keras has 17.
constexpr int kMostRangeOps = 64;

struct Range {
  int64_t low = 0, high = 0;
  bool IsWithin(int64_t least, int64_t most) const { return low >= least && high <= most; }
};

std::optional<int64_t> AsInteger(Value v) {
  while (v.node->op() == Op::kBroadcastInDim || IsMoved(*v.node)) v = v.node->operand(0);
  if (v.node->op() != Op::kConstant) return std::nullopt;
  const ir::Literal& literal = v.node->attrs().GetLiteral(Attr::value);
  if (literal.num_elements() != 1) return std::nullopt;
  return static_cast<int64_t>(literal.AsDouble(0));
}

// Where numbers lie that bit operations make of bytes: signed numbers of four bits are
// ((x & 15) ^ 8) - 8.  `steps`: how many ops may still be looked at, whatever the graph.
std::optional<Range> RangeOf(Value v, int* steps) {
  if (--*steps < 0) return std::nullopt;
  const Node& node = *v.node;
  const bool is_widened = node.op() == Op::kConvert && ir::IsFloat(v.dtype());
  if (IsMoved(node) || is_widened || node.op() == Op::kSlice) {
    return RangeOf(node.operand(0), steps);
  }
  if (node.op() == Op::kConcatenate) {
    std::optional<Range> all = RangeOf(node.operand(0), steps);
    for (int i = 1; i < node.num_operands() && all; ++i) {
      const std::optional<Range> part = RangeOf(node.operand(i), steps);
      all = part ? std::make_optional(
                       Range{std::min(all->low, part->low), std::max(all->high, part->high)})
                 : std::nullopt;
    }
    return all;
  }
  if (node.num_operands() != 2 || v.dtype() != DType::kS8) return std::nullopt;
  const std::optional<int64_t> constant = AsInteger(node.operand(1));
  if (!constant) return std::nullopt;
  if (node.op() == Op::kAnd && *constant >= 0) return Range{0, *constant};
  const std::optional<Range> x = RangeOf(node.operand(0), steps);
  if (!x) return std::nullopt;
  if (node.op() == Op::kXor && x->IsWithin(0, 15) && *constant >= 0 && *constant <= 15) {
    return Range{0, 15};
  }
  if (node.op() == Op::kSub && x->IsWithin(-64, 63) && *constant >= -64 && *constant <= 63) {
    return Range{x->low - *constant, x->high - *constant};
  }
  return std::nullopt;
}

// Rows of a matrix that an index for each row of the result names.
bool TakesRows(const Node& gather) {
  return gather.op() == Op::kGather && gather.operand_shape(0).rank() == 2 &&
         gather.operand_shape(1).rank() == 1 && gather.shape().rank() == 2 &&
         gather.Ints(Attr::offset_dims) == std::vector<int64_t>{1} &&
         gather.Ints(Attr::collapsed_slice_dims) == std::vector<int64_t>{0} &&
         gather.Ints(Attr::start_index_map) == std::vector<int64_t>{0} &&
         gather.Int(Attr::index_vector_dim) == 1 &&
         gather.shape().dim(1) == gather.operand_shape(0).dim(1);
}

bool AreNibbles(const ScaledGroups& weights) {
  Value numbers = weights.numbers;
  if (numbers.node->op() == Op::kSub) {  // one zero point for a column of a group
    Value zeros = numbers.node->operand(1);
    while (zeros.node->op() == Op::kConvert) zeros = zeros.node->operand(0);
    if (!TakesRows(*zeros.node) || zeros.node->operand(1) != weights.groups) return false;
    numbers = numbers.node->operand(0);
  }
  int steps = kMostRangeOps;
  const std::optional<Range> range = RangeOf(numbers, &steps);
  return range && range->high - range->low <= 15;
}

std::optional<ScaledGroups> FindScaledGroups(Value weights) {
  const Node& product = *weights.node;
  if (product.op() != Op::kMul || weights.dtype() != DType::kF32 || !weights.shape().is_static()) {
    return std::nullopt;
  }
  for (int i = 0; i < 2; ++i) {
    const Node& gather = *product.operand(i).node;
    if (!TakesRows(gather) || !AreIntegers(product.operand(1 - i))) continue;
    const int64_t rows = weights.shape().dim(0).value();
    const int64_t groups = gather.operand_shape(0).dim(0).value_or(0);
    if (groups < 2 || rows == 0 || rows % groups != 0) return std::nullopt;
    ScaledGroups found{product.operand(1 - i), gather.operand(0), gather.operand(1)};
    found.has_nibbles = AreNibbles(found);
    return found;
  }
  return std::nullopt;
}

class ScaleFactoring {
 public:
  ScaleFactoring(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), stable_(StableNodes(graph)), checks_(graph, stable_) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (Node* node : graph_.NodeList()) {
      if (node->op() != Op::kDotGeneral || stable_.contains(node)) continue;
      if (node->attrs().Has(Attr::dtype) || !stable_.contains(node->operand(1).node)) continue;
      TEKTITE_ASSIGN_OR_RETURN(const bool factored, Factor(node));
      changed |= factored;
    }
    if (changed) TEKTITE_RETURN_IF_ERROR(checks_.AddTo(context_));
    return changed;
  }

 private:
  absl::StatusOr<bool> Factor(Node* product) {
    // A kernel's dimensions may be several of k, and several of n behind them.
    Value weights = product->operand(1);
    if (weights.node->op() == Op::kReshape) weights = weights.node->operand(0);
    const std::optional<ScaledGroups> found = FindScaledGroups(weights);
    if (!found || !IsMatrix(*product, weights.shape().dim(0))) return false;
    if (!MultipliesFaster(*product, {DType::kF32, DType::kS8, DType::kF32}, stable_, context_)) {
      return false;
    }
    FuncBuilder b(&graph_, product);
    b.set_name(product->name());
    const Dim rows = weights.shape().dim(0), columns = weights.shape().dim(1);
    const Dim groups = found->scales.shape().dim(0), rows_of_group = FloorDiv(rows, groups);
    const Value bytes = b.Convert(found->numbers, DType::kS8);
    Check(b, *found, bytes, rows_of_group);

    const ops::DotDims dims = ops::GetDotDims(*product);
    Dims free;
    for (const int64_t d : dims.lhs_free)
      free.push_back(product->operand_shape(0).dim(static_cast<int>(d)));
    const Dim m = ir::Product(free);
    const Value x = b.Reshape(product->operand(0), {m, groups, rows_of_group});
    ir::Attributes attrs;
    attrs.Set(Attr::dtype, DType::kF32);
    if (found->has_nibbles) attrs.Set(Attr::nibbles, true);
    attrs.Set(Attr::lhs_batch, std::vector<int64_t>{1});
    attrs.Set(Attr::rhs_batch, std::vector<int64_t>{0});
    attrs.Set(Attr::lhs_contracting, std::vector<int64_t>{2});
    attrs.Set(Attr::rhs_contracting, std::vector<int64_t>{1});
    const Value sums =
        b.AddOne(Op::kDotGeneral, {x, b.Reshape(bytes, {groups, rows_of_group, columns})}, attrs);
    TEKTITE_RETURN_IF_ERROR(b.status());
    const Value scales = b.BroadcastInDim(found->scales, sums.shape().dims(), {0, 2});
    const Value result =
        b.Reshape(b.Reduce(b.Mul(sums, scales), {0}, "add"), product->shape().dims());
    TEKTITE_RETURN_IF_ERROR(b.status());
    graph_.Replace(product, {result});
    ++context_.byte_products;
    return true;
  }

  // Whether the product is [m, k] x [k, n] with k behind all of m on the left, in its own order.
  static bool IsMatrix(const Node& product, const Dim& k) {
    const ops::DotDims dims = ops::GetDotDims(product);
    if (!dims.lhs_batch.empty() || dims.lhs_contracting.size() != dims.rhs_contracting.size()) {
      return false;
    }
    Dim terms(1);
    for (size_t i = 0; i < dims.rhs_contracting.size(); ++i) {
      if (dims.rhs_contracting[i] != static_cast<int64_t>(i) ||
          dims.lhs_contracting[i] != static_cast<int64_t>(dims.lhs_free.size() + i)) {
        return false;
      }
      terms = terms * product.operand_shape(1).dim(static_cast<int>(i));
    }
    return terms == k;
  }

  // Computed from weights alone.
  void Check(FuncBuilder& b, const ScaledGroups& found, Value bytes, const Dim& rows_of_group) {
    checks_.Check(b, b.Compare(b.Convert(bytes, DType::kF32), found.numbers, "eq"));
    const Value groups = found.groups;
    const Value row = b.Iota(groups.dtype(), groups.shape().dims(), 0);
    const Value group = b.Div(row, b.FullLike(row, static_cast<double>(rows_of_group.value())));
    checks_.Check(b, b.Compare(groups, group, "eq"));
    checks_.Of(found.scales);  // are numbers
  }

  Graph& graph_;
  PassContext& context_;
  const absl::flat_hash_set<const Node*> stable_;
  Magnitudes checks_;
};

}  // namespace

absl::StatusOr<bool> FactorScales(Graph& graph, PassContext& context) {
  if (!context.may_check || context.in_region) return false;
  return ScaleFactoring(graph, context).Run();
}

}  // namespace tektite::passes
