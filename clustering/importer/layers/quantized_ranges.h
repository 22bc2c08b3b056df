// The two floats that TensorFlow passes beside a tensor of a quantized type: what its least and its
// greatest integer mean.
//
//   const Value zero = QuantizedInteger(b, DType::kU8, 0, range);     // the s64 integer that 0 is
//   const QuantizedRange product = RangeOfProduct(b, a, b);           // of s32, for u8 times u8
//
// The tensor IR holds the integers as u8, s8 and s32, and each function here rounds where
// TensorFlow's function for the same thing does.
//
// Limits: scalars; a range for each channel is that of QuantizeV2 and Dequantize alone.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LAYERS_QUANTIZED_RANGES_H_
#define TEKTITE_CLUSTERING_IMPORTER_LAYERS_QUANTIZED_RANGES_H_

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The least and the greatest number of an integer type.
struct IntegerLimits {
  double least = 0, greatest = 0;
};
IntegerLimits IntegerLimitsOf(DType dtype);

struct QuantizedRange {
  Value low, high;  // f32
};

// q, and `number` where x is NaN.
Value UnlessNan(FuncBuilder& b, Value x, Value q, double number);

// Inputs i and j, which must be scalars of f32.
absl::StatusOr<QuantizedRange> RequireQuantizedRange(NodeImport& op, int i, int j);

// The s64 integer of type `dtype` that a number is, whether or not the type has room for it.
Value QuantizedInteger(FuncBuilder& b, DType dtype, double number, const QuantizedRange& range);
// The same of numbers of f64.
Value QuantizedIntegers(FuncBuilder& b, DType dtype, Value numbers, const QuantizedRange& range);
// The integer of one number, limited to the type's numbers, as one of it.
Value QuantizedNumber(FuncBuilder& b, DType dtype, double number, const QuantizedRange& range);

// The f32 numbers that integers of type `dtype` are: as TensorFlow's kernels for one number compute
// them, in f64, and as those for tensors do, in f32.
Value NumbersInF64(FuncBuilder& b, Value x, const QuantizedRange& range);
Value NumbersInF32(FuncBuilder& b, Value x, const QuantizedRange& range);
// And back, limited to the type's numbers.
Value IntegersInF32(FuncBuilder& b, Value x, DType dtype, const QuantizedRange& range);

// Of s32 sums of products of integers with these ranges, of these types.
QuantizedRange RangeOfProduct(FuncBuilder& b, const QuantizedRange& x, DType x_type,
                              const QuantizedRange& y, DType y_type);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LAYERS_QUANTIZED_RANGES_H_
