#include "clustering/importer/tensor_info.h"

#include <utility>

namespace tektite::importer {
namespace {

bool AllConstant(const Dims& dims) {
  for (const Dim& d : dims) {
    if (!d.is_constant()) return false;
  }
  return true;
}

Literal IntegerLiteral(DType dtype, std::vector<int64_t> sizes, const Dims& contents) {
  Literal literal = Literal::Allocate(dtype, std::move(sizes));
  for (size_t i = 0; i < contents.size(); ++i) {
    if (dtype == DType::kBool) {
      literal.mutable_data<bool>()[i] = contents[i].value() != 0;
    } else if (dtype == DType::kS32) {
      literal.mutable_data<int32_t>()[i] = static_cast<int32_t>(contents[i].value());
    } else {
      literal.mutable_data<int64_t>()[i] = contents[i].value();
    }
  }
  return literal;
}

}  // namespace

std::optional<Dims> ContentsOf(const Literal& literal) {
  DType dtype = literal.dtype();
  if (dtype != DType::kS32 && dtype != DType::kS64 && dtype != DType::kBool) return std::nullopt;
  if (literal.num_elements() > kMaxContents) return std::nullopt;
  std::vector<int64_t> ints = literal.AsInts();
  return Dims(ints.begin(), ints.end());
}

Value Materialize(FuncBuilder& b, const TensorInfo& info) {
  if (info.literal) return b.Constant(*info.literal);
  const Dims& contents = *info.contents;
  DType dtype = info.shape.dtype();
  if (AllConstant(contents)) return b.Constant(IntegerLiteral(dtype, info.shape.sizes(), contents));
  Value values = b.SizeValue(contents);
  return b.Reshape(b.Convert(values, dtype), info.shape.dims());
}

TensorInfo InfoOfList(TensorList list) {
  TensorInfo info;
  info.shape = Shape(list.dtype, Dims());
  info.unusable = "is a list of tensors";
  info.list = std::move(list);
  return info;
}

}  // namespace tektite::importer
