// A fusion's region as a C function, op by op: each value in an array, each op a nest of loops.
//
//   TEKTITE_ASSIGN_OR_RETURN(PrintedKernel printed, PrintC(fusion.region()));
//   printed.text   // void kernel(void* const* buffers, const int64_t* s, char* scratch) { ... }
//
// Sizes that are not known are entries of the table `s`, which Kernel::Plan fills by `sizes`: so
// one function serves every shape.
//
// Limits: f32, f64, integers and bool; Unimplemented names the first op that there is no C for.
#ifndef TEKTITE_EXAMPLES_BACKEND_C_C_PRINTER_H_
#define TEKTITE_EXAMPLES_BACKEND_C_C_PRINTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "jit/ir/dim_program.h"
#include "jit/ir/graph.h"

namespace backend_c {

struct PrintedKernel {
  std::string text;
  tektite::ir::DimProgram sizes;  // fills the table `s`
  int scratch_bytes = 0;          // and these are places in it
  int work = 0;                   // elements that are computed
};

absl::StatusOr<PrintedKernel> PrintC(const tektite::ir::Graph& region);

}  // namespace backend_c

#endif  // TEKTITE_EXAMPLES_BACKEND_C_C_PRINTER_H_
