#include "backends/gpu/cublaslt/matrix_product.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emit/contraction/matrix_layout.h"
#include "jit/base/bytes.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {
namespace {

using ir::Attr;
using ir::DType;
using ir::Node;
using ir::Op;

// Sizes of bytes that are words.
constexpr int64_t kBytesOfWord = 4;

bool IsProductType(DType dtype) { return MatrixProduct::IsOffered(dtype) || dtype == DType::kS8; }

// What cuBLASLt's documentation says of products of s8 in the usual order of elements.
absl::Status CheckBytes(const Node& dot, const MatrixProduct& product) {
  if (product.lhs_transposed || !product.rhs_transposed) {
    return Unimplemented(dot.Describe(), ": of bytes that are not stored along what is summed");
  }
  if (product.k % kBytesOfWord != 0 || product.n % kBytesOfWord != 0) {
    return Unimplemented(dot.Describe(), ": rows of bytes that are no whole words");
  }
  return absl::OkStatus();
}

absl::StatusOr<MatrixProduct> OfDot(const Node& dot) {
  const ir::Shape &lhs = dot.operand_shape(0), &rhs = dot.operand_shape(1);
  MatrixProduct product;
  product.dtype = lhs.dtype();
  if (!IsProductType(product.dtype) || rhs.dtype() != product.dtype ||
      dot.shape().dtype() != product.result()) {
    return Unimplemented(dot.Describe(), ": not of f32, f16 or bf16 throughout, nor of s8 in s32");
  }
  const ops::ContractionAxes axes = ops::GetDotAxes(dot);
  bool rhs_summed_first = false;
  if (axes.k.empty() ||
      !IsRowOfMatrices(axes, &ops::ContractionAxis::lhs, lhs.rank(), &product.lhs_transposed) ||
      !IsRowOfMatrices(axes, &ops::ContractionAxis::rhs, rhs.rank(), &rhs_summed_first)) {
    return Unimplemented(dot.Describe(), ": operands are no matrices in a row");
  }
  // A matrix of one row or column is stored in both ways; what is summed comes last in lhs.
  if (product.lhs_transposed && axes.m.empty()) product.lhs_transposed = false;
  product.rhs_transposed = !rhs_summed_first;
  product.batch = SizeOf(axes.batch).value();
  product.m = SizeOf(axes.m).value();
  product.n = SizeOf(axes.n).value();
  product.k = SizeOf(axes.k).value();
  for (int64_t size : {product.batch, product.m, product.n, product.k}) {
    if (size < 1 || size > LibraryOperands::kMostSize)
      return Unimplemented(dot.Describe(), ": a size of ", size);
  }
  if (product.dtype == DType::kS8) TEKTITE_RETURN_IF_ERROR(CheckBytes(dot, product));
  return product;
}

// `node` is `y`, or `y` with its rows counted in one dimension, as passes/collapse_dims.cc leaves
// it.
bool IsResult(const Node& node, const Node& y) {
  if (&node == &y) return true;
  return node.op() == Op::kReshape && node.operand(0).node == &y && node.shape().rank() > 0 &&
         node.shape().sizes().back() == y.shape().sizes().back();
}

// The parameter of f32, one element for each column, that `node` adds to every row of the product
// `y` of f32; null: it does anything else.
const Node* RowBias(const Node& node, const Node& y) {
  if (node.op() != Op::kAdd || y.shape().dtype() != DType::kF32) return nullptr;
  for (int side = 0; side < 2; ++side) {
    const Node* const spread = node.operand(1 - side).node;
    if (!IsResult(*node.operand(side).node, y) || spread->op() != Op::kBroadcastInDim) continue;
    const Node* const bias = spread->operand(0).node;
    if (bias->op() == Op::kParameter && bias->shape().rank() == 1 &&
        bias->shape().dtype() == DType::kF32 &&
        spread->Ints(Attr::dimensions) == std::vector<int64_t>{node.shape().rank() - 1} &&
        bias->shape().sizes()[0] == y.shape().sizes().back()) {
      return bias;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<MatrixProduct> MatrixProduct::OfContraction(const Node& fusion) {
  const ir::Graph& region = fusion.region();
  const Node* const root = ops::FindContraction(region);
  if (root == nullptr || root->op() != Op::kDotGeneral || ir::HasSymbols(region)) {
    return Unimplemented("no product of static sizes");
  }
  for (const ir::Value& operand : root->operands()) {
    if (operand.node->op() != Op::kParameter) {
      return Unimplemented(root->Describe(), ": computes its operands");
    }
  }
  return OfDot(*root);
}

absl::StatusOr<MatrixProduct> MatrixProduct::Of(const Node& fusion) {
  TEKTITE_ASSIGN_OR_RETURN(MatrixProduct product, OfContraction(fusion));
  const ir::Graph& region = fusion.region();
  const Node* const root = ops::FindContraction(region);
  product.lhs = MatrixProduct::NumberOf(*root->operand(0).node);
  product.rhs = MatrixProduct::NumberOf(*root->operand(1).node);
  product.operands = fusion.num_operands();
  if (region.outputs().size() != 1) return Unimplemented(root->Describe(), ": several results");
  const Node* const last = region.outputs()[0].node;
  if (last == root) return product;
  const bool has_rows = ops::GetDotAxes(*root).n.size() == 1;
  const Node* const bias = has_rows ? RowBias(*last, *root) : nullptr;
  if (bias == nullptr) return Unimplemented(root->Describe(), ": does not stand alone");
  product.bias = MatrixProduct::NumberOf(*bias);
  return product;
}

std::string MatrixProduct::ToString() const {
  const auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? absl::StrCat("[", columns, ",", rows, "]^T")
                      : absl::StrCat("[", rows, ",", columns, "]");
  };
  return absl::StrCat(ir::DTypeName(dtype), " ", batch == 1 ? "" : absl::StrCat(batch, " x "),
                      matrix(m, k, lhs_transposed), " x ", matrix(k, n, rhs_transposed),
                      bias == kNone ? "" : " + bias");
}

std::string MatrixProduct::Write() const {
  ByteWriter w;
  w.I64(static_cast<int64_t>(dtype));
  for (int64_t value : {batch, m, n, k}) w.I64(value);
  w.I64(lhs_transposed ? 1 : 0);
  w.I64(rhs_transposed ? 1 : 0);
  WriteOperands(&w);
  return w.Take();
}

absl::StatusOr<MatrixProduct> MatrixProduct::Read(absl::string_view bytes) {
  ByteReader r(bytes);
  MatrixProduct product;
  bool fits = ReadType(&r, IsProductType, &product.dtype);
  for (int64_t* size : {&product.batch, &product.m, &product.n, &product.k}) {
    *size = r.I64();
    fits = fits && *size >= 1 && *size <= kMostSize;
  }
  product.lhs_transposed = r.I64() != 0;
  product.rhs_transposed = r.I64() != 0;
  fits = product.ReadOperands(&r) && fits;
  if (!fits || !r.AtEnd()) return InvalidArgument("not a product of matrices");
  return product;
}

}  // namespace tektite::gpu
