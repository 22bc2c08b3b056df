// What the calls of NVIDIA's libraries have in common: the fusion's operands that they read, and
// the types that they take.
//
//   struct MatrixProduct : LibraryOperands { ... };
//   product.lhs = LibraryOperands::NumberOf(*root->operand(0).node);
//   product.WriteOperands(&w);
#ifndef TEKTITE_BACKENDS_GPU_LIBRARY_OPERANDS_H_
#define TEKTITE_BACKENDS_GPU_LIBRARY_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "jit/base/bytes.h"
#include "jit/ir/graph.h"

namespace tektite::gpu {

// Numbers of the fusion's operands, in the order of the tensor IR's.  The result is the buffer
// behind the last of `operands`.
struct LibraryOperands {
  int lhs = 0, rhs = 1, operands = 2;
  int bias = kNone;  // f32, one for each feature
  static constexpr int kNone = -1;
  // A size, or a stride, is below 2^31.
  static constexpr int64_t kMostSize = (int64_t{1} << 31) - 1;

  // Of a parameter of the fusion's region.
  static int NumberOf(const ir::Node& parameter);
  // f32, f16 or bf16.
  static bool IsOffered(ir::DType dtype);
  // The distances between neighbours in a row-major array.
  static std::vector<int64_t> RowMajor(const std::vector<int64_t>& sizes);

  void WriteOperands(ByteWriter* writer) const;
  // False for numbers that no fusion has.
  bool ReadOperands(ByteReader* reader);
  // False for a type that is not one of them.
  static bool ReadType(ByteReader* reader, bool (*is_one)(ir::DType), ir::DType* dtype);
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_LIBRARY_OPERANDS_H_
