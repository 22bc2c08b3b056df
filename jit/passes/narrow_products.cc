// narrow_products: products take their operands in the narrowest type that the machine multiplies
// faster.
//
//   before  dot_general(convert(%x: s8), convert(%w: s8))         of s32, or of f32 with a short k;
//                                                                 %x of u8, too, of s32
//   after   dot_general(%x, %w) {dtype = s32}                     which are the same numbers
//
//   after   convert(dot_general(convert(%x), convert(%w)))        of f32, where bytes gain nothing,
//           or a sum of several, each so short that it rounds nothing
//
//   before  dot_general(%x: f32, %w: f32)                         with --f32_products=bf16
//   after   dot_general(convert(%x), convert(%w)) {dtype = f32}   rounded to bf16, by permission
//
//   before  dot_general(%x: f32, convert(%w: s8))                 of few rows, %w from memory;
//                                                                 %x of f16 or bf16, too
//   after   dot_general(%x, %w) {dtype = f32}                     the same numbers, of fewer bytes
//
// and convolutions alike.  The convert joins the kernel that computes %x, which writes both types
// where something else reads %x; that of weights runs once.  The back end is asked about each
// product: what it would not compute by its instructions for narrow types stays as it is.
//
// f32 as two bf16 (--f32_products=bf16x3) is a matter of schedules and layouts, not of types.
//
// Limits: runs behind the rules of canonicalize, which do not know products with a type of their
// own.  Attention keeps its products.  Types are narrowed through reshapes and transposes alone.
#include <algorithm>
#include <array>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/base/status.h"
#include "jit/ops/attention.h"
#include "jit/ops/builder.h"
#include "jit/ops/ops.h"
#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/names.h"
#include "jit/passes/narrow_types.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// Every number that is rounded takes part in as many products as there are columns.
constexpr int64_t kFewestColumns = 32;

// Sums of so many products of two s8 are exact in f32: 2^14 each, 2^24 together.
constexpr int64_t kMostExact = 1024;
constexpr int64_t kMostParts = 16;

// The constant with elements of s8; none where some are not.
std::optional<Literal> InBytes(const Literal& from) {
  Literal to = Literal::Allocate(DType::kS8, from.sizes());
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    const double v = from.AsDouble(i);
    if (!(v >= -128 && v <= 127)) return std::nullopt;
    const auto byte = static_cast<int8_t>(v);
    if (byte != v) return std::nullopt;
    to.mutable_data<int8_t>()[i] = byte;
  }
  return to;
}

bool RoundsOperands(const Flags& flags) {
  return flags.f32_products == "bf16" || flags.f32_products == "bf16_stored";
}

class Narrower {
 public:
  Narrower(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), stable_(StableNodes(graph)) {
    for (Node* node : graph.NodeList()) {
      if (node->op() != Op::kDotGeneral || !context.target.Attends(node->shape().dtype())) continue;
      const auto attention = ops::FindAttention(node);
      if (!attention) continue;
      attends_.insert(attention->scores);
      attends_.insert(attention->context);
    }
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (Node* node : graph_.NodeList()) {
      if (!IsProduct(*node) || stable_.contains(node) || attends_.contains(node)) continue;
      if (node->attrs().Has(Attr::dtype)) continue;
      TEKTITE_ASSIGN_OR_RETURN(const bool narrowed, Narrow(node));
      changed |= narrowed;
    }
    return changed;
  }

 private:
  absl::StatusOr<bool> Narrow(Node* product) {
    const DType dtype = product->shape().dtype();
    const bool is_exact =
        dtype == DType::kS32 ||
        (dtype == DType::kF32 && TermsOf(*product).value_or(kMostExact + 1) <= kMostExact);
    const bool has_unsigned = dtype == DType::kS32 && HoldsUnsignedBytes(product->operand(0));
    if (is_exact && (has_unsigned || HoldsBytes(product->operand(0))) &&
        HoldsBytes(product->operand(1))) {
      const DType rows = has_unsigned ? DType::kU8 : DType::kS8;
      if (MultipliesFaster(*product, {rows, DType::kS8, DType::kS32}, stable_, context_)) {
        return Replace(product, {rows, DType::kS8}, DType::kS32);
      }
      if (dtype == DType::kS32 && context_.target.multiplies_f32_faster) {
        return ReplaceByFloats(product, has_unsigned ? kMostExact / 2 : kMostExact);
      }
    }
    if (dtype == DType::kF32 && RoundsOperands(context_.flags) && IsWide(*product) &&
        IsFaster(*product, DType::kBF16, DType::kF32)) {
      return Replace(product, {DType::kBF16, DType::kBF16}, DType::kF32);
    }
    const bool is_summed_in_f32 =
        dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
    if (is_summed_in_f32 && product->op() == Op::kDotGeneral && HoldsBytes(product->operand(1)) &&
        MultipliesFaster(*product, {dtype, DType::kS8, DType::kF32}, stable_, context_)) {
      return Replace(product, {dtype, DType::kS8}, DType::kF32);
    }
    return false;
  }

  // s32 products of bytes as products of f32, each of few enough terms to be exact.  Not of
  // convolutions: Winograd's algorithm has fractions on its way.
  absl::StatusOr<bool> ReplaceByFloats(Node* product, int64_t most_exact) {
    if (product->op() != Op::kDotGeneral) return false;
    const ops::DotDims dims = ops::GetDotDims(*product);
    const int64_t terms = TermsOf(*product).value_or(0);
    const int64_t parts = dims.lhs_contracting.size() == 1 ? kMostParts : 1;
    if (terms < 1 || terms > parts * most_exact) return false;
    FuncBuilder b(&graph_, product);
    b.set_name(product->name());
    const Value lhs = In(b, DType::kF32, product->operand(0));
    const Value rhs = In(b, DType::kF32, product->operand(1));
    Value sum;
    for (int64_t begin = 0; begin < terms; begin += most_exact) {
      const int64_t end = std::min(begin + most_exact, terms);
      const auto part = [&](Value v, const std::vector<int64_t>& k) {
        return end - begin == terms ? v : b.SliceDim(v, static_cast<int>(k[0]), begin, end);
      };
      const Value floats = b.AddOne(
          product->op(), {part(lhs, dims.lhs_contracting), part(rhs, dims.rhs_contracting)},
          product->attrs());
      TEKTITE_RETURN_IF_ERROR(b.status());
      const Value integers = b.Convert(floats, DType::kS32);
      sum = sum ? b.Add(sum, integers) : integers;
    }
    TEKTITE_RETURN_IF_ERROR(b.status());
    graph_.Replace(product, {sum});
    return true;
  }

  absl::StatusOr<bool> Replace(Node* product, std::array<DType, 2> types, DType sums) {
    FuncBuilder b(&graph_, product);
    b.set_name(product->name());
    std::vector<Value> operands;
    for (int i = 0; i < 2; ++i) {
      const Value v = product->operand(i);
      operands.push_back(v.dtype() == types[i] ? v : In(b, types[i], v));
    }
    ir::Attributes attrs = product->attrs();
    attrs.Set(Attr::dtype, sums);
    const Value narrowed = b.AddOne(product->op(), operands, attrs);
    const Value result = narrowed ? b.Convert(narrowed, product->shape().dtype()) : narrowed;
    TEKTITE_RETURN_IF_ERROR(b.status());
    graph_.Replace(product, {result});
    ++(types[1] == DType::kS8 ? context_.byte_products : context_.bf16_products);
    return true;
  }

  // Whether each element is one of s8, as far as that shows.
  static bool HoldsBytes(Value v) {
    while (IsMoved(*v.node)) v = v.node->operand(0);
    if (v.node->op() == Op::kConvert) return v.node->operand(0).dtype() == DType::kS8;
    return v.node->op() == Op::kConstant &&
           InBytes(v.node->attrs().GetLiteral(Attr::value)).has_value();
  }

  static bool HoldsUnsignedBytes(Value v) {
    while (IsMoved(*v.node)) v = v.node->operand(0);
    return v.node->op() == Op::kConvert && v.node->operand(0).dtype() == DType::kU8;
  }

  // `v` in the narrow type: made once, before the first product that reads it.
  Value In(FuncBuilder& b, DType narrow, Value v) {
    const auto [it, is_first] = narrowed_.try_emplace({v, narrow}, Value());
    if (!is_first) return it->second;
    Value made;
    if (IsMoved(*v.node)) {
      const Value from = In(b, narrow, v.node->operand(0));
      made = v.node->op() == Op::kReshape ? b.Reshape(from, v.shape().dims())
                                          : b.Transpose(from, v.node->Ints(Attr::permutation));
    } else if (v.node->op() == Op::kConvert && ir::DTypeBytes(v.node->operand(0).dtype()) == 1) {
      made = b.Convert(v.node->operand(0), narrow);
    } else if (v.node->op() == Op::kConstant && narrow == DType::kS8) {
      made = b.Constant(*InBytes(v.node->attrs().GetLiteral(Attr::value)));
    } else {
      made = b.Convert(v, narrow);
    }
    return narrowed_[{v, narrow}] = made;
  }

  static bool IsWide(const Node& product) {
    if (product.op() == Op::kConvolution) {
      return product.shape().dims().back().value_or(kFewestColumns) >= kFewestColumns;
    }
    ir::Dim columns(1);
    for (int64_t d : ops::GetDotDims(product).rhs_free) {
      columns = columns * product.operand_shape(1).dim(static_cast<int>(d));
    }
    return columns.value_or(kFewestColumns) >= kFewestColumns;
  }

  bool IsFaster(const Node& product, DType narrow, DType sums) const {
    return MultipliesFaster(product, {narrow, narrow, sums}, stable_, context_);
  }

  Graph& graph_;
  PassContext& context_;
  const absl::flat_hash_set<const Node*> stable_;
  absl::flat_hash_set<const Node*> attends_;
  absl::flat_hash_map<std::pair<Value, DType>, Value> narrowed_;
};

}  // namespace

absl::StatusOr<bool> NarrowProducts(Graph& graph, PassContext& context) {
  return Narrower(graph, context).Run();
}

}  // namespace tektite::passes
