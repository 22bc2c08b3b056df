// What a C or C++ compiler reads of a library: names, types and sizes.
//
//   WriteHeader(library, {"tektite 0.1.0", "x86-64-v4"})    // the text of NAME.h
//
// The functions, their arguments and their errors are described in the header itself.
#ifndef TEKTITE_JIT_AOT_HEADER_H_
#define TEKTITE_JIT_AOT_HEADER_H_

#include <string>

#include "jit/aot/library.h"

namespace tektite::aot {

struct Origin {
  std::string made_by;  // "tektite 0.1.0"
  std::string cpu;      // for people
};

std::string WriteHeader(const Library& library, const Origin& origin);

// The C type of an element: "float"; f16 and bf16 are "uint16_t", their bits.
std::string CType(ir::DType dtype);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_HEADER_H_
