// Rules of dot_general, first of all: a sum over a product never forms the product.
#include <algorithm>

#include "jit/ops/ops.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

using ops::DotDims;

// Packed operands, and sums in a type of their own, have left the plain form that rules know.
bool IsPlain(const Node* dot) {
  return dot && !dot->attrs().Has(Attr::rhs_packed) && !dot->attrs().Has(Attr::transpose_a) &&
         !dot->attrs().Has(Attr::dtype);
}

// Moves the dimension numbers of one operand through `permutation`: operand = transpose(x).
Ints Renumber(const Ints& dims, const Ints& permutation) {
  Ints renumbered;
  for (int64_t d : dims) renumbered.push_back(permutation[d]);
  return renumbered;
}

// dot_general's free dimensions are in ascending order, so the transposed ones must be too.
bool KeepsFreeOrder(const Ints& free, const Ints& permutation) {
  const Ints renumbered = Renumber(free, permutation);
  return std::is_sorted(renumbered.begin(), renumbered.end());
}

// If `value` is a reshape that keeps the dimensions `batch` and `contracting`, goes to its operand
// and renumbers them.
bool SkipFreeReshape(Value* value, Ints* batch, Ints* contracting) {
  Node* reshape = Producer(*value, Op::kReshape);
  if (!reshape) return false;
  // Dimensions of size 1 cost nothing where they are, and as free dimensions they clutter.
  if (IsDegenerateReshape(reshape->operand_shape(0).dims(), reshape->shape().dims())) return false;
  const Ints kept = KeptDimensions(reshape->operand_shape(0).dims(), reshape->shape().dims());
  for (const Ints* dims : {batch, contracting}) {
    for (int64_t d : *dims) {
      if (kept[d] < 0) return false;
    }
  }
  *batch = Renumber(*batch, kept);
  *contracting = Renumber(*contracting, kept);
  *value = reshape->operand(0);
  return true;
}

// `dims` with the dimensions `removed` of the operand gone; those were free ones.
Ints AfterRemoving(const Ints& dims, const Ints& removed) {
  Ints result;
  for (int64_t d : dims) result.push_back(IndexAfterRemoving(d, removed));
  return result;
}

// `x` with its dimensions in the order `order`, put at `places` of an array with dimensions `dims`.
Value Spread(FuncBuilder& b, Value x, const Ints& order, const Dims& dims, const Ints& places) {
  Value ordered = std::is_sorted(order.begin(), order.end()) ? x : b.Transpose(x, order);
  return b.BroadcastInDim(ordered, dims, places);
}

Ints Concat(const Ints& a, const Ints& b, const Ints& c) {
  Ints all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// Products of matching elements before they are summed: dimensions batch, lhs_free, rhs_free,
// contracting.
Value Products(FuncBuilder& b, Node* dot, const DotDims& d) {
  Value lhs = dot->operand(0), rhs = dot->operand(1);
  const Ints lhs_order = Concat(d.lhs_batch, d.lhs_free, d.lhs_contracting);
  const Ints rhs_order = Concat(d.rhs_batch, d.rhs_free, d.rhs_contracting);
  Dims dims = dot->shape().dims();
  for (int64_t c : d.lhs_contracting) dims.push_back(lhs.shape().dim(c));
  const int64_t batch = d.lhs_batch.size(), rank = dims.size(),
                rhs_begin = batch + d.lhs_free.size(), k_begin = rhs_begin + d.rhs_free.size();
  Ints lhs_places, rhs_places;
  for (int64_t i = 0; i < rank; ++i) {
    if (i < rhs_begin || i >= k_begin) lhs_places.push_back(i);
    if (i < batch || i >= rhs_begin) rhs_places.push_back(i);
  }
  Value left = Spread(b, lhs, lhs_order, dims, lhs_places);
  Value right = Spread(b, rhs, rhs_order, dims, rhs_places);
  return b.Binary(Op::kMul, left, right);
}

}  // namespace

// reduce(dot_general(%a: f32[m,k], %b: f32[k,n])), dimensions=[0,1], reducer=add
//   ->  dot_general(reduce(%a), dimensions=[0], reduce(%b), dimensions=[1])
// sum_ij sum_k a[i,k] b[k,j] = sum_k (sum_i a[i,k]) (sum_j b[k,j]): m*k + k*n additions and k
// products, where the product took m*k*n and m*n memory.  A reduced free dimension is summed
// before, a reduced batch dimension becomes a contracting one.  Sums of floats are rounded in
// another order; 16-bit floats are left alone, since the sums would be rounded to 16 bits.
Value SumOfDot(Node* node, FuncBuilder& b) {
  Node* dot = OnlyProducer(node->operand(0), Op::kDotGeneral);
  const DType dtype = node->shape().dtype();
  if (!IsPlain(dot) || node->num_operands() != 1 || node->num_regions() != 0 ||
      node->String(Attr::reducer) != "add" || dtype == DType::kF16 || dtype == DType::kBF16) {
    return {};
  }
  const DotDims d = ops::GetDotDims(*dot);
  const int64_t batch = d.lhs_batch.size(), lhs_free = d.lhs_free.size();
  DotDims summed;
  Ints lhs_reduced, rhs_reduced, batch_reduced;
  for (int64_t r : node->Ints(Attr::dimensions)) {
    if (r < batch) {
      batch_reduced.push_back(r);
    } else if (r < batch + lhs_free) {
      lhs_reduced.push_back(d.lhs_free[r - batch]);
    } else {
      rhs_reduced.push_back(d.rhs_free[r - batch - lhs_free]);
    }
  }
  Ints lhs_batch, rhs_batch, lhs_contracting = d.lhs_contracting,
                             rhs_contracting = d.rhs_contracting;
  for (int64_t i = 0; i < batch; ++i) {
    const bool reduced = Contains(batch_reduced, i);
    (reduced ? lhs_contracting : lhs_batch).push_back(d.lhs_batch[i]);
    (reduced ? rhs_contracting : rhs_batch).push_back(d.rhs_batch[i]);
  }
  summed.lhs_batch = AfterRemoving(lhs_batch, lhs_reduced);
  summed.rhs_batch = AfterRemoving(rhs_batch, rhs_reduced);
  summed.lhs_contracting = AfterRemoving(lhs_contracting, lhs_reduced);
  summed.rhs_contracting = AfterRemoving(rhs_contracting, rhs_reduced);
  Value lhs = dot->operand(0), rhs = dot->operand(1);
  if (!lhs_reduced.empty()) lhs = b.Reduce(lhs, lhs_reduced, "add");
  if (!rhs_reduced.empty()) rhs = b.Reduce(rhs, rhs_reduced, "add");
  return b.DotGeneral(lhs, rhs, summed);
}

// dot_general(transpose(%x), %y), lhs_contracting=[0]  ->  dot_general(%x, %y), lhs_contracting=[1]
// on either side, where the free dimensions keep their order.
Value DotOfTranspose(Node* node, FuncBuilder& b) {
  if (!IsPlain(node)) return {};
  DotDims d = ops::GetDotDims(*node);
  Value lhs = node->operand(0), rhs = node->operand(1);
  bool changed = false;
  if (Node* t = Producer(lhs, Op::kTranspose)) {
    const Ints& permutation = t->Ints(Attr::permutation);
    if (KeepsFreeOrder(d.lhs_free, permutation)) {
      d.lhs_batch = Renumber(d.lhs_batch, permutation);
      d.lhs_contracting = Renumber(d.lhs_contracting, permutation);
      lhs = t->operand(0);
      changed = true;
    }
  }
  if (Node* t = Producer(rhs, Op::kTranspose)) {
    const Ints& permutation = t->Ints(Attr::permutation);
    if (KeepsFreeOrder(d.rhs_free, permutation)) {
      d.rhs_batch = Renumber(d.rhs_batch, permutation);
      d.rhs_contracting = Renumber(d.rhs_contracting, permutation);
      rhs = t->operand(0);
      changed = true;
    }
  }
  return changed ? b.DotGeneral(lhs, rhs, d) : Value();
}

// dot_general(reshape(%x: f32[2,3,4]), shape=[6,4], %w)  ->  reshape(dot_general(%x, %w))
// on either side, where the reshape keeps batch and contracting dimensions and so only regroups
// free ones: the reshapes round a dense layer meet below it and cancel.
Value DotOfReshape(Node* node, FuncBuilder& b) {
  if (!IsPlain(node)) return {};
  DotDims d = ops::GetDotDims(*node);
  Value lhs = node->operand(0), rhs = node->operand(1);
  const bool left = SkipFreeReshape(&lhs, &d.lhs_batch, &d.lhs_contracting);
  const bool right = SkipFreeReshape(&rhs, &d.rhs_batch, &d.rhs_contracting);
  if (!left && !right) return {};
  Value dot = b.DotGeneral(lhs, rhs, d);
  return dot ? b.Reshape(dot, node->shape().dims()) : Value();
}

// transpose(dot_general(%x, %y)), permutation=[1,0]  ->  dot_general(%y, %x)
// where the transpose swaps the sides' free dimensions and nothing else, and the dot has no other
// use.
Value TransposeOfDot(Node* node, FuncBuilder& b) {
  Node* dot = OnlyProducer(node->operand(0), Op::kDotGeneral);
  if (!IsPlain(dot)) return {};
  const DotDims d = ops::GetDotDims(*dot);
  const int64_t batch = d.lhs_batch.size(), lhs = d.lhs_free.size(), rhs = d.rhs_free.size();
  Ints swapped = Range(batch);
  for (int64_t i = 0; i < rhs; ++i) swapped.push_back(batch + lhs + i);
  for (int64_t i = 0; i < lhs; ++i) swapped.push_back(batch + i);
  if (node->Ints(Attr::permutation) != swapped) return {};
  DotDims mirrored;
  mirrored.lhs_batch = d.rhs_batch;
  mirrored.rhs_batch = d.lhs_batch;
  mirrored.lhs_contracting = d.rhs_contracting;
  mirrored.rhs_contracting = d.lhs_contracting;
  return b.DotGeneral(dot->operand(1), dot->operand(0), mirrored);
}

// dot_general(%x: f32[4,0], %y: f32[0,5])  ->  0
Value DotOverNothing(Node* node, FuncBuilder& b) {
  const DotDims d = ops::GetDotDims(*node);
  const Dims contracting = Select(node->operand_shape(0).dims(), d.lhs_contracting);
  const bool nothing = std::any_of(contracting.begin(), contracting.end(), IsZero);
  return IsPlain(node) && nothing ? ZeroLike(b, node->result()) : Value();
}

// dot_general(%x: f32[4,1], %y: f32[1,5])  ->  mul(broadcast_in_dim(reshape(%x)), ...)
// One product per element and no sum: an elementwise op, which fuses with everything.
Value DotOverOneElement(Node* node, FuncBuilder& b) {
  if (!IsPlain(node)) return {};
  const DotDims d = ops::GetDotDims(*node);
  const Dims contracting = Select(node->operand_shape(0).dims(), d.lhs_contracting);
  if (!std::all_of(contracting.begin(), contracting.end(), IsOne)) return {};
  return b.Reshape(Products(b, node, d), node->shape().dims());
}

// dot_general(%x: f32[k], %y: f32[k])  ->  reduce(mul(%x, %y)), dimensions=[0], reducer=add
// With no free dimension each element is read once: a reduction, which fuses with the producer of
// %x.  Not for types narrower than the sum should be kept in.
Value DotOfVectors(Node* node, FuncBuilder& b) {
  if (!IsPlain(node)) return {};
  const DotDims d = ops::GetDotDims(*node);
  if (!d.lhs_free.empty() || !d.rhs_free.empty() || d.lhs_contracting.empty() ||
      ir::DTypeBytes(node->shape().dtype()) < 4) {
    return {};
  }
  Ints dimensions;
  for (size_t i = 0; i < d.lhs_contracting.size(); ++i) {
    dimensions.push_back(d.lhs_batch.size() + i);
  }
  return b.Reduce(Products(b, node, d), dimensions, "add");
}

}  // namespace tektite::passes::rules
