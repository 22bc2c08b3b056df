#include "backends/gpu/library_operands.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

namespace tektite::gpu {
namespace {

using ir::DType;

constexpr DType kOffered[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr int64_t kMostOperands = 4096;

}  // namespace

int LibraryOperands::NumberOf(const ir::Node& parameter) {
  return static_cast<int>(parameter.Int(ir::Attr::index));
}

bool LibraryOperands::IsOffered(DType dtype) {
  return std::find(std::begin(kOffered), std::end(kOffered), dtype) != std::end(kOffered);
}

std::vector<int64_t> LibraryOperands::RowMajor(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

void LibraryOperands::WriteOperands(ByteWriter* writer) const {
  for (int number : {lhs, rhs, operands, bias}) writer->I64(number);
}

bool LibraryOperands::ReadOperands(ByteReader* reader) {
  int64_t read[4];
  for (int64_t& number : read) number = reader->I64();
  const int64_t all = read[2];
  if (all < 1 || all > kMostOperands) return false;
  const auto is_one = [&](int64_t number) { return number >= 0 && number < all; };
  if (!is_one(read[0]) || !is_one(read[1]) || !(is_one(read[3]) || read[3] == kNone)) return false;
  lhs = static_cast<int>(read[0]);
  rhs = static_cast<int>(read[1]);
  operands = static_cast<int>(all);
  bias = static_cast<int>(read[3]);
  return true;
}

bool LibraryOperands::ReadType(ByteReader* reader, bool (*is_one)(DType), DType* dtype) {
  const int64_t number = reader->I64();
  if (number < 0 || number > UINT32_MAX) return false;
  const std::optional<DType> read = ir::DTypeFromNumber(static_cast<uint32_t>(number));
  if (!read.has_value() || !is_one(*read)) return false;
  *dtype = *read;
  return true;
}

}  // namespace tektite::gpu
