// An ELF object that holds bytes and nothing else: a library's constants, or a function that is
// known as machine code.
//
//   std::string object = WriteDataObject({"mlp_data", ElfMachine::kX86_64}, bytes);
//
// Why not through LLVM: a model's weights are hundreds of megabytes, which its module, its streamer
// and its writer would each copy.  The symbol is hidden: it is seen within the program or the
// shared library that the object is linked into.
#ifndef TEKTITE_JIT_AOT_DATA_OBJECT_H_
#define TEKTITE_JIT_AOT_DATA_OBJECT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tektite::aot {

enum class ElfMachine : uint16_t { kX86_64 = 62, kAarch64 = 183 };

struct DataSymbol {
  std::string name;
  ElfMachine machine = ElfMachine::kX86_64;
  bool is_function = false;
};

// The bytes lie at a multiple of 64, in memory that a program cannot write.  Those of 32 MB and more
// lie at a multiple of 2 MB: where the system has their file in large pages, it maps 436 MB in
// 0.25 ms instead of 4.5 (Linux 6.18, ext4).
std::string WriteDataObject(const DataSymbol& symbol, absl::string_view bytes);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_DATA_OBJECT_H_
