// quantize_products: products of floats that are whole numbers times a step, which FakeQuant and
// QuantizeAndDequantize make, multiply bytes.
//
//   before  %x = mul(floor(..) of [0, 255], broadcast(%s))   %w = mul(floor(..), broadcast(%t))
//           %y = dot_general(%x, %w)
//   after   %y = mul(convert(dot_general(convert(floor(..)): u8, convert(floor(..)): s8)
//                            {dtype = s32}), broadcast(%s * %t))
//
// and convolutions alike.  Bytes of which 0 is not 0 are less their least number, which is put back
// as that times the sum of each column.  What else reads %x reads the bytes.  Sums of integers are
// exact, so that the result differs from that of floats by their roundings alone.
//
// A product is rewritten where the ranges of both operands are known at compile time, or follow
// from weights; what depends on those is checked (Magnitudes), with NaN and infinities, and the
// host computes the calls for which it does not hold.
//
// Limits: weights on the right, symmetric around 0; at most kMostTerms terms a sum;
// where there is padding, 0 must be the byte 0; not in loops and choices.
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
#include "jit/passes/quantization/byte_values.h"

namespace tektite::passes {
namespace {

// Sums of so many products of u8 and s8 are below 2^31.
constexpr int64_t kMostTerms = int64_t{1} << 16;

// A product's columns: the dimension of the right-hand side, and that of the result.
struct Columns {
  int rhs = -1, result = -1;
  std::vector<int64_t> summed;  // other dimensions of the right-hand side
  bool has_padding = false;
};

std::optional<Columns> ColumnsOf(const Node& product) {
  Columns columns;
  const int rank = product.operand_shape(1).rank();
  if (product.op() == Op::kDotGeneral) {
    const ops::DotDims dims = ops::GetDotDims(product);
    if (dims.rhs_free.size() != 1 || !dims.rhs_batch.empty()) return std::nullopt;
    columns.rhs = static_cast<int>(dims.rhs_free[0]);
    columns.result = product.shape().rank() - 1;
  } else {
    const auto dims = ops::GetConvDims(rank, product.attrs());
    if (!dims.ok() || dims->batch_groups != 1) return std::nullopt;
    columns.rhs = dims->kernel_output;
    columns.result = dims->output_feature;
    for (int i = 0; i < dims->spatial; ++i) {
      columns.has_padding |= dims->low[i] != 0 || dims->high[i] != 0 || dims->lhs_dilation[i] != 1;
    }
  }
  for (int d = 0; d < rank; ++d) {
    if (d != columns.rhs) columns.summed.push_back(d);
  }
  return columns;
}

class Quantizer {
 public:
  Quantizer(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), stable_(StableNodes(graph)), values_(graph, stable_) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (Node* node : graph_.NodeList()) {
      if (!IsProduct(*node) || stable_.contains(node) || node->attrs().Has(Attr::dtype)) continue;
      TEKTITE_ASSIGN_OR_RETURN(const bool quantized, Quantize(node));
      changed |= quantized;
    }
    if (changed) {
      values_.ReadBytesElsewhere();
      TEKTITE_RETURN_IF_ERROR(values_.magnitudes().AddTo(context_));
    }
    graph_.EraseDead();  // scalars of ranges that were asked for in vain, among others
    return changed;
  }

 private:
  absl::StatusOr<bool> Quantize(Node* product) {
    if (product->shape().dtype() != DType::kF32 || !stable_.contains(product->operand(1).node) ||
        TermsOf(*product).value_or(kMostTerms + 1) > kMostTerms) {
      return false;
    }
    const std::optional<Columns> columns = ColumnsOf(*product);
    if (!columns) return false;
    const std::optional<ByteForm> rows = values_.Rows(product->operand(0));
    if (!rows || (rows->zero && columns->has_padding)) return false;
    const std::optional<ByteForm> weights = values_.Weights(product->operand(1), columns->rhs);
    if (!weights) return false;
    const ProductTypes types = {rows->dtype, weights->dtype, DType::kS32};
    if (!MultipliesFaster(*product, types, stable_, context_)) return false;
    const Value lhs = values_.Make(product->operand(0), *rows);
    const Value rhs = values_.Make(product->operand(1), *weights);
    FuncBuilder b(&graph_, product);
    b.set_name(product->name());
    ir::Attributes attrs = product->attrs();
    attrs.Set(Attr::dtype, DType::kS32);
    Value sums = b.AddOne(product->op(), {lhs, rhs}, attrs);
    const ir::Dims& dims = product->shape().dims();
    const auto spread = [&](Value v) {
      return v.shape().rank() == 0 ? b.BroadcastTo(v, dims)
                                   : b.BroadcastInDim(v, dims, {columns->result});
    };
    if (rows->zero) {
      const Value of_columns = b.Reduce(b.Convert(rhs, DType::kS32), columns->summed, "add");
      const Value zero = b.Convert(ScalarRanges::InGraph(b, *rows->zero), DType::kS32);
      sums = b.Add(sums, spread(b.Mul(of_columns, b.BroadcastTo(zero, of_columns.shape().dims()))));
    }
    const Value step = b.Mul(rows->step, weights->step);
    values_.magnitudes().Of(step);  // is no NaN
    const Value result = b.Mul(b.Convert(sums, DType::kF32), spread(step));
    TEKTITE_RETURN_IF_ERROR(b.status());
    graph_.Replace(product, {result});
    ++context_.byte_products;
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  const absl::flat_hash_set<const Node*> stable_;
  ByteValues values_;
};

}  // namespace

absl::StatusOr<bool> QuantizeProducts(Graph& graph, PassContext& context) {
  if (!context.may_check || context.in_region) return false;
  const bool had_dead = graph.EraseDead();
  TEKTITE_ASSIGN_OR_RETURN(const bool quantized, Quantizer(graph, context).Run());
  return had_dead || quantized;
}

}  // namespace tektite::passes
