#include "backends/gpu/emit/contraction/operand_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "jit/llvm/alignment.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

Value LinearIndex(loop::Builder& b, const ir::Shape& shape, const loop::Indices& at) {
  // Elements of a chunk of 16 bytes, or of more.
  const int64_t chunk = kVectorBytes / std::min(ir::DTypeBytes(shape.dtype()), 2);
  const ir::Dims strides = ir::RowMajorStrides(shape.dims());
  Value linear = b.Index(0);
  for (size_t i = 0; i < at.size(); ++i) {
    if (shape.dim(static_cast<int>(i)) == Dim(1)) continue;
    const Dim& stride = strides[i];
    const bool split = !stride.is_constant() && Mod(stride, chunk) == Dim(0);
    Value term = b.Mul(at[i].base, b.Index(split ? FloorDiv(stride, chunk) : stride));
    if (split) term = b.Mul(term, b.Index(chunk));
    linear = b.Add(linear, term);
  }
  return linear;
}

Value OperandReader::Read(ir::Value operand, const ContractionView::Element& element, int lanes) {
  const auto read = [&] {
    loop::ElementEmitter e(&b_, lanes);
    loop::BindParameters(e, region_);
    const Value v = lanes > 1 ? e.EmitVector(operand, element.at) : e.Emit(operand, element.at);
    if (status_.ok()) status_ = e.status();
    return v;
  };
  if (!element.inside) return read();
  return b_.IfElse(
      element.inside, [&] { return Values{read()}; },
      [&] { return Values{b_.Splat(b_.Constant(operand.dtype(), 0), lanes)}; })[0];
}

void OperandReader::Copy(ir::Value operand, const ContractionView::Element& element, Value shared,
                         Value to) {
  const Value from = LinearIndex(b_, operand.shape(), element.at);
  const Value buffer = b_.Buffer(static_cast<int>(operand.node->Int(ir::Attr::index)));
  if (loop::KnownAlignment(buffer, operand.dtype(), from) >= loop::kMatrixRowBytes) {
    return b_.CopyAsync(shared, to, buffer, from, operand.dtype(), element.inside);
  }
  const auto lanes = static_cast<int>(kVectorBytes / ir::DTypeBytes(operand.dtype()));
  b_.Store(shared, to, Read(operand, element, lanes));
}

}  // namespace tektite::gpu
