// Fourier transforms along the last one, two or three dimensions.
#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/math/complex.h"

namespace tektite::importer {
namespace {

int DimensionsOf(absl::string_view op) {
  return absl::EndsWith(op, "3D") ? 3 : absl::EndsWith(op, "2D") ? 2 : 1;
}

// The first `length` elements of a dimension, which TensorFlow demands to be there.
absl::Status Crop(NodeImport& op, int dimension, const Dim& length, Value* x) {
  if (!*x) return absl::OkStatus();
  const Dim& size = x->shape().dim(dimension);
  if (size == length) return absl::OkStatus();
  if (size.is_constant() && length.is_constant() && size.value() < length.value()) {
    return op.Refuse("dimension ", dimension, " has ", size.value(), " elements, not ",
                     length.value());
  }
  op.b().AssumeAtMost(length, size);
  *x = op.b().SliceDim(*x, dimension, Dim(0), length);
  return absl::OkStatus();
}

absl::Status Transform(NodeImport& op, int dimension, bool inverse, Parts* x) {
  const std::vector<Value> parts =
      op.b().AddMulti(Op::kFft, {x->re, x->im},
                      {{ir::Attr::dimension, int64_t{dimension}}, {ir::Attr::inverse, inverse}});
  if (parts.size() != 2) return op.Return(Value());
  *x = {parts[0], parts[1]};
  return absl::OkStatus();
}

absl::Status ImportComplexTransform(NodeImport& op, int first, bool inverse) {
  Parts x{op.RealPart(0), op.ImaginaryPart(0)};
  for (int d = op.InputRank(0) - 1; d >= first; --d) {
    TEKTITE_RETURN_IF_ERROR(Transform(op, d, inverse, &x));
  }
  return op.ReturnComplex(x.re, x.im);
}

// Along the last dimension from real numbers to half a spectrum, along the others whole ones.
absl::Status ImportRealTransform(NodeImport& op, int first, const Dims& lengths) {
  const int last = op.InputRank(0) - 1;
  Value x = op.Input(0);
  for (int d = first; d <= last; ++d) {
    TEKTITE_RETURN_IF_ERROR(Crop(op, d, lengths[d - first], &x));
  }
  if (!x) return op.Return(x);
  const std::vector<Value> half =
      op.b().AddMulti(Op::kRealFft, {x}, {{ir::Attr::dimension, int64_t{last}}});
  if (half.size() != 2) return op.Return(Value());
  Parts parts{half[0], half[1]};
  for (int d = last - 1; d >= first; --d) {
    TEKTITE_RETURN_IF_ERROR(Transform(op, d, /*inverse=*/false, &parts));
  }
  return op.ReturnComplex(parts.re, parts.im);
}

absl::Status ImportInverseRealTransform(NodeImport& op, int first, const Dims& lengths) {
  const int last = op.InputRank(0) - 1;
  Parts x{op.RealPart(0), op.ImaginaryPart(0)};
  for (int d = first; d <= last; ++d) {
    const Dim& length = lengths[d - first];
    const Dim needed = d == last ? ir::FloorDiv(length, Dim(2)) + Dim(1) : length;
    TEKTITE_RETURN_IF_ERROR(Crop(op, d, needed, &x.re));
    TEKTITE_RETURN_IF_ERROR(Crop(op, d, needed, &x.im));
  }
  for (int d = first; d < last; ++d) {
    TEKTITE_RETURN_IF_ERROR(Transform(op, d, /*inverse=*/true, &x));
  }
  if (!x.re || !x.im) return op.Return(Value());
  return op.Return(op.b().AddOne(
      Op::kInverseRealFft, {x.re, x.im},
      {{ir::Attr::dimension, int64_t{last}}, {ir::Attr::shape, Dims{lengths.back()}}}));
}

}  // namespace

absl::Status ImportFourier(NodeImport& op) {
  const int dimensions = DimensionsOf(op.op()), first = op.InputRank(0) - dimensions;
  if (first < 0) return op.Refuse("rank ", op.InputRank(0));
  const bool inverse = op.op()[0] == 'I';
  if (op.num_inputs() == 1) return ImportComplexTransform(op, first, inverse);
  TEKTITE_ASSIGN_OR_RETURN(const Dims lengths, op.RequireContents(1));
  if (static_cast<int>(lengths.size()) != dimensions) return op.Refuse(lengths.size(), " lengths");
  for (const Dim& length : lengths) {
    if (length.is_constant() && length.value() < 1) return op.Refuse("length ", length.value());
  }
  return inverse ? ImportInverseRealTransform(op, first, lengths)
                 : ImportRealTransform(op, first, lengths);
}

}  // namespace tektite::importer
