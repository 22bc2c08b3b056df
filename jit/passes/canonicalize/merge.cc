// Rules that make one contraction of several which read the same weights.
#include <algorithm>

#include "jit/ops/ops.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

using ops::DotDims;

// With more rows than this a product uses each weight often enough by itself, and would only pay
// for the slices of its result. (Packing panels anew costs 2.0x at 8 rows and 1.0-1.3x at 32.)
constexpr int64_t kFewRows = 32;
// Rows whose number is unknown may be few or many. One product for all slices is right for few and
// spares many the copies of their slices, but its result goes through memory: more columns than
// this per element of k would cost many rows more than that.
constexpr int64_t kMostColumnsOfUnknownRows = 8;
constexpr int64_t kMost = int64_t{1} << 40;

// dot_general(slice(%x), %w), possibly with dimensions of size 1 dropped or added between the two.
struct SlicedDot {
  Node* slice = nullptr;
  DotDims dims;            // as if it read all of %x
  int64_t rows = 0;        // of the product
  bool known_rows = true;  // otherwise `rows` counts one for each size that is not known
};

int64_t ElementsOf(const Dims& dims, absl::Span<const int64_t> which) {
  int64_t n = 1;
  for (int64_t d : which) n = std::min(kMost, n * dims[d].value_or(1));
  return n;
}

bool IsPlainWithoutBatch(const Node& dot) {
  return dot.op() == Op::kDotGeneral && !dot.attrs().Has(Attr::rhs_packed) &&
         !dot.attrs().Has(Attr::transpose_a) && dot.Ints(Attr::lhs_batch).empty();
}

bool FindSlicedDot(const Node& dot, SlicedDot* found) {
  if (!IsPlainWithoutBatch(dot)) return false;
  Value lhs = dot.operand(0);
  if (Node* reshape = Producer(lhs, Op::kReshape)) {
    if (!IsDegenerateReshape(reshape->operand_shape(0).dims(), reshape->shape().dims())) {
      return false;
    }
    lhs = reshape->operand(0);
  }
  Node* slice = Producer(lhs, Op::kSlice);
  if (!slice || !AllAre(PerDimension(*slice, Attr::strides, 1), 1)) return false;
  const Dims &sliced = slice->shape().dims(), &whole = slice->operand_shape(0).dims();
  const Ints from = NonUnitDims(sliced), to = NonUnitDims(dot.operand_shape(0).dims());
  const DotDims dims = ops::GetDotDims(dot);
  found->dims.rhs_contracting = dims.rhs_contracting;
  for (int64_t c : dims.lhs_contracting) {
    const size_t place = std::find(to.begin(), to.end(), c) - to.begin();
    if (place >= from.size() || sliced[from[place]] != whole[from[place]]) return false;
    found->dims.lhs_contracting.push_back(from[place]);
  }
  const Ints free = Complement(static_cast<int>(sliced.size()), found->dims.lhs_contracting);
  for (int64_t d : free) {
    // Nothing is known of how much a slice takes of an unknown size.
    if (sliced[d] != whole[d] && !(sliced[d].is_constant() && whole[d].is_constant())) return false;
    found->known_rows &= sliced[d].is_constant();
  }
  found->slice = slice;
  found->rows = ElementsOf(sliced, free);
  return true;
}

// Rows of %x that dots of the form of `dot` read, itself included; all of them when a dot of the
// whole is there.
int64_t RowsRead(const Node& dot, const SlicedDot& form, int64_t all_rows) {
  int64_t rows = 0;
  auto count = [&](const Node& user) {
    SlicedDot other;
    if (user.op() == Op::kDotGeneral && user.operand(1) == dot.operand(1) &&
        FindSlicedDot(user, &other) && other.slice->operand(0) == form.slice->operand(0) &&
        other.dims.lhs_contracting == form.dims.lhs_contracting &&
        other.dims.rhs_contracting == form.dims.rhs_contracting) {
      rows = std::min(kMost, rows + other.rows);
    }
  };
  const Value x = form.slice->operand(0);
  for (const ir::Use& use : x.node->uses(x.index)) {
    const Node& user = *use.user;
    if (use.operand == 0 && IsPlainWithoutBatch(user) && user.operand(1) == dot.operand(1) &&
        user.Ints(Attr::lhs_contracting) == form.dims.lhs_contracting &&
        user.Ints(Attr::rhs_contracting) == form.dims.rhs_contracting) {
      return all_rows;
    }
    if (user.op() != Op::kSlice) continue;
    for (const ir::Use& next : user.uses()) {
      count(*next.user);
      if (next.user->op() != Op::kReshape) continue;
      for (const ir::Use& last : next.user->uses()) count(*last.user);
    }
  }
  return rows;
}

}  // namespace

// dot_general(slice(%x: f32[64,256]), starts=[t,0], limits=[t+1,256], %w)  for several t
//   ->  slice(dot_general(%x, %w)), starts=[t,0], limits=[t+1,n]
// where products of few rows each read half of %x or more: the steps of an unrolled recurrent layer
// read its input's weights once for all steps and not once for each. (eliminate_common makes the
// products one. LSTM(256) over 64 steps: half of all memory that is read.)  As many rows as there
// are examples, a number that may be unknown, go by the slices' share of the rest.  Sums of floats
// may be rounded in another order.
Value DotsOfSlices(Node* node, FuncBuilder& b) {
  SlicedDot form;
  if (!FindSlicedDot(*node, &form) || form.rows > kFewRows) return {};
  const Value x = form.slice->operand(0);
  const Ints free = Complement(x.shape().rank(), form.dims.lhs_contracting);
  const int64_t all_rows = ElementsOf(x.shape().dims(), free);
  if (all_rows >= kMost || all_rows == form.rows) return {};
  if (!form.known_rows) {
    const Dims& weights = node->operand_shape(1).dims();
    const int64_t columns = ElementsOf(weights, ops::GetDotDims(*node).rhs_free);
    const int64_t k = ElementsOf(weights, form.dims.rhs_contracting);
    if (columns > kMostColumnsOfUnknownRows * k) return {};
  }
  if (RowsRead(*node, form, all_rows) * 2 < std::max(all_rows, 4 * form.rows)) return {};
  Value dot = b.DotGeneral(x, node->operand(1), form.dims);
  if (!dot) return {};
  Dims starts(dot.shape().rank(), Dim(0)), limits = dot.shape().dims();
  for (size_t i = 0; i < free.size(); ++i) {
    starts[i] = form.slice->attrs().GetDims(Attr::starts)[free[i]];
    limits[i] = form.slice->attrs().GetDims(Attr::limits)[free[i]];
  }
  return b.Reshape(b.Slice(dot, starts, limits), node->shape().dims());
}

}  // namespace tektite::passes::rules
