// From PTX to machine code of a card (a cubin): whoever can do it on this machine.
//
//   const Assembler* assembler = Assembler::OfThisMachine();       // null: there is none
//   TEKTITE_ASSIGN_OR_RETURN(Cubin cubin, assembler->Assemble(ptx, "sm_90a"));
//   cubin.resources.spilled_bytes();                               // 0, one hopes
//
// In order of preference: NVIDIA's PTX compiler library (libtektite_ptx.so, which scripts/setup
// makes from a package; it needs no driver and no process), then ptxas: in PATH, in a
// package of NVIDIA's beside Tektite's, of the CUDA toolkit.  With neither, the driver assembles
// PTX when it loads it.
#ifndef TEKTITE_BACKENDS_GPU_CODEGEN_ASSEMBLER_H_
#define TEKTITE_BACKENDS_GPU_CODEGEN_ASSEMBLER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tektite::gpu {

// What a kernel takes of a multiprocessor, by the assembler's own account.
struct Resources {
  int registers = 0;           // of a thread
  int64_t shared_bytes = 0;    // of a block, known before the launch
  int64_t constant_bytes = 0;  // in all constant banks
  int64_t stack_bytes = 0;     // of a thread, in the card's memory
  int64_t spill_store_bytes = 0, spill_load_bytes = 0;
  std::string warning;  // the first one: "... wgmma.mma_async instructions are serialized ..."
  int64_t spilled_bytes() const { return spill_store_bytes + spill_load_bytes; }
};

struct Cubin {
  std::string bytes;
  Resources resources;
};

class Assembler {
 public:
  virtual ~Assembler() = default;
  // For people and cache keys: "PTX compiler 9.0".
  virtual const std::string& version() const = 0;
  // PTX with one kernel.  InvalidArgument with the first line of the log for text that does not
  // assemble.  Thread-safe.
  virtual absl::StatusOr<Cubin> Assemble(absl::string_view ptx,
                                         absl::string_view architecture) const = 0;

  // The one to use, found at the first call.  Null where there is none; `why_not` then says what
  // was looked for.
  static const Assembler* OfThisMachine(std::string* why_not = nullptr);
};

// Unimplemented with the reason where it is not there.  `path`: of the library or the program;
// empty: where it usually is.
absl::StatusOr<std::unique_ptr<Assembler>> OpenPtxLibrary(const std::string& path = "");
absl::StatusOr<std::unique_ptr<Assembler>> FindPtxas(const std::string& path = "");
// Where the build keeps the library; empty where it has none, and in a wheel
// (packaging/no_build_paths.cc).
const char* PtxLibraryOfBuild();

// ---- for assemblers ----
// From a log with --verbose; Internal where it does not tell registers.
absl::StatusOr<Resources> ParseResources(absl::string_view log);
// InvalidArgument from the log of a failed assembly.
absl::Status AssemblyError(absl::string_view log, absl::string_view architecture);
// Besides the architecture's: resources in the log, and no fusion of products with sums.
inline constexpr const char* kAssemblyOptions[] = {"--verbose", "--fmad=false"};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CODEGEN_ASSEMBLER_H_
