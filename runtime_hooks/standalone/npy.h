// Arrays in NumPy's .npy format.
//
//   Array x = ReadNpy("x.npy");           // throws Failure with the file's name
//   WriteNpy("y.npy", y);
//
// Versions 1 to 3 of the format, little-endian, C or Fortran order (turned into C order on
// reading). Element types: bool, i1-i8, u1-u8, f2, f4, f8; bfloat16 is written as <V2, as NumPy
// itself does with ml_dtypes, and read as such.
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_NPY_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_NPY_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tektite::standalone {

struct Array {
  int32_t dtype = 1;  // a number of tensorflow.DataType
  std::vector<int64_t> dims;
  std::shared_ptr<void> data;  // 64-byte aligned
  int64_t bytes = 0;
};

// Uninitialized.  Throws Failure when dtype is not one of those above or there is no memory.
Array MakeArray(int32_t dtype, std::vector<int64_t> dims);
Array ReadNpy(const std::string& path);
void WriteNpy(const std::string& path, const Array& array);
// "f32[2,3]"
std::string Describe(const Array& array);

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_NPY_H_
